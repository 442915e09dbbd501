"""What a reader explores on the page: topics' words, their map, and documents.

Everything is bounded in number, since all of it lies in the page.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from preprocessing.texts import read_texts
from tcnlm.data.dataset import Dataset, Split
from tcnlm.measures.proportions import DocumentTopics, infer_documents

CANDIDATES = 20  # words of a topic at each of these weights of their own probability
WEIGHTS = (1.0, 0.6, 0.3, 0.0)
DOCUMENTS, TYPICAL = 40, 3  # on the page; of each topic, while there is room
EXCERPT = 150  # words of a document
LEAST = 0.01  # proportion that is told
SMALLEST = 1e-12
WIDTH, HEIGHT, MARGIN = 560, 420, 46  # of the map
LARGEST = 34  # radius
CELL, LABEL = 13, 120  # of the heat map
MAPPED = 40  # topics of the heat map
GOLDEN = 137.5  # degrees between the colours of two topics


def explore(model: Any, dataset: Dataset, split: Split) -> dict[str, Any]:
    """Return what the page shows of a topic model's topics and documents.

    "topics": place (x, y), share, and words [word, p(w | t), lift]; "documents", the
    typical ones of the most used topics first: number, id and label if there are any,
    words, the likeliest topic of each or -1, proportions {topic: share}, and how the
    text begins as it came, None where DATA has not kept it.
    """
    inferred, beta = infer_documents(model, split), np.asarray(model.topics(), float)
    rows = typical_documents(inferred)
    texts = read_texts(dataset.path / split.name, rows) or [None] * len(rows)
    shares, places = inferred.shares, topic_places(beta)
    words = relevant_words(beta, shares, model.vocabulary.topic_words)
    return {
        "topics": [
            {"topic": i, "place": places[i].tolist(), "share": float(shares[i])}
            | {"words": words[i]}
            for i in range(len(beta))
        ],
        "documents": [
            _document(row, inferred.proportions[row], beta, dataset, split)
            | {"text": text}
            for row, text in zip(rows, texts)
        ],
    }


def relevance(p: np.ndarray, lift: np.ndarray, weight: float) -> np.ndarray:
    """Return how relevant words are: weight log p(w|t) + (1 - weight) log lift.

    Lift is p(w|t) / p(w) (Sievert and Shirley 2014, eq. 1).
    """
    return weight * np.log(p + SMALLEST) + (1 - weight) * np.log(lift + SMALLEST)


def relevant_words(
    beta: np.ndarray, shares: np.ndarray, names: list[str]
) -> list[list[tuple[str, float, float]]]:
    """Return each topic's most relevant words at any weight: (word, p(w|t), lift).

    beta [K, D]; shares [K]: p(w) is their mixture of the topics.
    """
    overall = shares @ beta
    found = []
    for p in beta:
        lift = p / np.maximum(overall, SMALLEST)
        orders = (
            np.argsort(-relevance(p, lift, weight), kind="stable")[:CANDIDATES]
            for weight in WEIGHTS
        )
        chosen = dict.fromkeys(itertools.chain(*orders))
        found.append([(names[i], _short(p[i]), _short(lift[i])) for i in chosen])
    return found


def topic_places(beta: np.ndarray) -> np.ndarray:
    """Return topics in the plane [K, 2], within -1 .. 1: near ones share words.

    Classical scaling of the square root of the Jensen-Shannon divergence, a metric,
    between the rows of beta [K, D].
    """
    number = len(beta)
    squared = np.array([_divergences(row, beta) for row in beta])
    centre = np.eye(number) - 1 / number
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    places = np.zeros([number, 2])
    main = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0))
    places[:, : main.shape[1]] = main
    largest = np.abs(places).argmax(axis=0)  # its sign is made positive
    places *= np.where(np.take_along_axis(places, largest[None], 0) < 0, -1, 1)
    return places / max(np.abs(places).max(), SMALLEST)


def _divergences(row: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the Jensen-Shannon divergences of a topic to every other, nats: [K]."""
    middle = (row + beta) / 2

    def to_middle(p: np.ndarray) -> np.ndarray:
        return np.sum(p * np.log((p + SMALLEST) / (middle + SMALLEST)), axis=1)

    return np.maximum((to_middle(row + 0 * beta) + to_middle(beta)) / 2, 0)


def typical_documents(inferred: DocumentTopics) -> list[int]:
    """Return the documents with the largest proportions of the most used topics.

    First the most typical of each topic, then the second, as far as there is room.
    """
    real = np.flatnonzero(inferred.has_words)
    proportions = inferred.proportions[real]
    order = np.argsort(-proportions, axis=0, kind="stable")[:TYPICAL]
    by_use = np.argsort(-inferred.shares, kind="stable")
    chosen = dict.fromkeys(int(real[row]) for rank in order for row in rank[by_use])
    return list(chosen)[:DOCUMENTS]


def _document(
    row: int, proportions: np.ndarray, beta: np.ndarray, dataset: Dataset, split: Split
) -> dict[str, Any]:
    words = list(itertools.islice(itertools.chain(*split.document(row)), EXCERPT))
    topical = dataset.vocabulary.topic_ids[words]
    likely = (proportions[:, None] * beta[:, topical]).argmax(axis=0)
    told = np.argsort(-proportions, kind="stable")
    return {
        "document": row,
        "id": split.ids[row] if split.ids else None,
        "label": _label(row, dataset, split),
        "words": [dataset.vocabulary.words[i] for i in words],
        "topics": np.where(topical < 0, -1, likely).tolist(),
        "proportions": {
            int(k): round(float(proportions[k]), 4)
            for k in told
            if proportions[k] >= LEAST
        },
    }


def _label(row: int, dataset: Dataset, split: Split) -> str | None:
    if split.labels is None or split.labels[row] < 0:
        return None
    return dataset.meta["labels"][split.labels[row]]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def colour(topic: int, lightness: int = 82) -> str:
    """Return a topic's colour, the same all over the page."""
    return f"hsl({topic * GOLDEN % 360:.0f},62%,{lightness}%)"


def laid_out(exploration: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `explore` found as the page draws it: circles, cells, words, colours.

    "script" is what page.js reads.
    """
    topics = sorted(exploration["topics"], key=lambda topic: -topic["share"])
    most = topics[0]["share"] or 1
    columns = [topic["topic"] for topic in topics[:MAPPED]]
    documents = exploration["documents"]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "circles": [_circle(topic, most) for topic in topics],
        "columns": columns,
        "cell": CELL,
        "label": LABEL,
        "documents": [_laid_out(document, columns) for document in documents],
        "script": {
            "words": {topic["topic"]: topic["words"] for topic in topics},
            "colours": {t["topic"]: colour(t["topic"], 45) for t in topics},
            "documents": {d["document"]: d["proportions"] for d in documents},
        },
    }


def _circle(topic: Mapping[str, Any], most: float) -> dict[str, Any]:
    x, y = (
        MARGIN + (place + 1) / 2 * (size - 2 * MARGIN)
        for place, size in zip(topic["place"], (WIDTH, HEIGHT))
    )
    number, words = topic["topic"], " ".join(word for word, *_ in topic["words"][:8])
    return {
        "topic": number,
        "x": f"{x:.1f}",
        "y": f"{y:.1f}",
        "below": f"{y + 4:.1f}",  # the middle of a digit
        "radius": f"{max(6.0, LARGEST * (topic['share'] / most) ** 0.5):.1f}",
        "fill": colour(number),
        "stroke": colour(number, 45),
        "title": f"{number}: {words} ({topic['share']:.1%})",
    }


def _laid_out(document: Mapping[str, Any], columns: Sequence[int]) -> dict[str, Any]:
    shares = document["proportions"]
    largest = list(shares.items())[:4]
    return {
        "number": document["document"],
        "name": document["id"] or f"document {document['document']}",
        "label": document["label"],
        "cells": [
            (column, topic, f"{share:.2f}", f"{share:.1%}")
            for column, topic in enumerate(columns)
            if (share := shares.get(topic, 0.0))
        ],
        "shares": "; ".join(f"topic {k} {share:.0%}" for k, share in largest),
        "words": [
            (word, topic, None if topic < 0 else colour(topic))
            for word, topic in zip(document["words"], document["topics"])
        ],
        "text": document.get("text"),
    }
