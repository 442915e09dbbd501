"""What a reader explores on the page: topics' words, their map, and documents."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tcnlm.data.dataset import Dataset, Split
from tcnlm.metrics.features import DocumentTopics, infer_documents
from tcnlm.models.names import Names
from tcnlm.models.topics import PROBABILITY, RELEVANCE, relevance, word_shares
from tcnlm.preprocessing.data_folder import NO_LABEL, read_texts
from tcnlm.preprocessing.vocabulary import Vocabulary

CANDIDATES = 20  # words of a topic at each of these weights of their own probability
WEIGHTS = (RELEVANCE, PROBABILITY, 0.3, 0.0)
SMALLEST = 1e-12
DOCUMENTS, TYPICAL = 40, 3  # on the page; of each topic, while there is room
EXCERPT = 150  # words of a document
LEAST, UNTOLD = 0.01, -1  # proportion that is told; in place of a topic that is not
MAPS = {"wide": (620, 440, 34), "narrow": (350, 440, 24)}  # size, largest radius
LETTER, LINE = 6.6, 15  # of a label, pixels
NAMED = 16  # letters of its topic's name
STEP = 5  # pixels between the places that are tried
SEEN = 1.3  # radii of a circle that nothing is to cover
EDGE = 3  # pixels around the circles, for their lines
CROWDED = 0.3  # of a map's area, at most, is taken: else it is made higher
GOLDEN = 137.5  # degrees between the colours of two topics


def explore(model: Any, dataset: Dataset, split: Split, names: Names) -> dict[str, Any]:
    """Return what the page shows of a topic model's topics and documents.

    Topics are as topics.csv has them, with words [word, p(w | t), lift]; documents, the
    typical ones, have each word's likeliest topic or -1, and how they came.
    """
    inferred, beta = infer_documents(model, split), np.asarray(model.topics(), float)
    beta = names.mean(beta, inferred.shares)

    def summed(groups: Sequence[int]) -> DocumentTopics:
        proportions = names.summed(inferred.proportions, groups)
        return replace(inferred, proportions=proportions)

    whole = summed(names.groups)
    rows = typical_documents(summed(names.shown))
    numbers = np.array([k if k in names.shown else UNTOLD for k in names.groups])
    texts = read_texts(dataset.path / split.name, rows) or [None] * len(rows)
    shown = [names.groups.index(k) for k in names.shown]
    largest = np.bincount(whole.largest, minlength=len(beta))
    words = relevant_words(beta, model.vocabulary)
    topics, documents = [], []
    for k, i, place in zip(names.shown, shown, topic_places(beta[shown])):
        own = {"topic": k, "label": names.rows[k].label, "members": names.members(k)}
        use = {"share": float(whole.shares[i]), "documents": int(largest[i])}
        topics.append({**own, "place": place.tolist(), **use, "words": words[i]})
    for row, text in zip(rows, texts):
        shares = whole.proportions[row]
        told = _document(row, shares, beta, numbers, dataset, split)
        documents.append({"text": text, **told})
    given = {"named": any(row.given for row in names.rows), "hidden": names.hidden}
    return {"topics": topics, "documents": documents, **given}


def relevant_words(
    beta: np.ndarray, vocabulary: Vocabulary
) -> list[list[tuple[str, float, float]]]:
    """Return each topic's most relevant words at any weight: (word, p(w|t), lift)."""
    shares, names, words = word_shares(vocabulary), vocabulary.topic_words, []
    for p in beta:
        orders = (
            np.argsort(-relevance(p, shares, weight), kind="stable")[:CANDIDATES]
            for weight in WEIGHTS
        )
        chosen = dict.fromkeys(itertools.chain(*orders))
        p_and_lift = np.stack([p, p / shares], axis=1)
        short = (tuple(float(f"{x:.4g}") for x in p_and_lift[i]) for i in chosen)
        words.append([(names[i], *pair) for i, pair in zip(chosen, short)])
    return words


def topic_places(beta: np.ndarray) -> np.ndarray:
    """Return topics in the plane [K, 2], within -1 .. 1: near ones share words.

    Classical scaling of the root of the Jensen-Shannon divergences of beta [K, D].
    """
    number = len(beta)
    centre = np.eye(number) - 1 / number
    squared = divergences(beta, beta)
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    places = np.zeros([number, 2])
    main = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0))
    places[:, : main.shape[1]] = main
    largest = np.abs(places).argmax(axis=0)  # its sign is made positive
    places *= np.where(np.take_along_axis(places, largest[None], 0) < 0, -1, 1)
    return places / max(np.abs(places).max(), SMALLEST)


def divergences(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the Jensen-Shannon divergences of two lists of topics, nats [K, L]."""
    from scipy.spatial.distance import cdist

    # Rounding may give rows that are alike the root of less than zero.
    return np.nan_to_num(cdist(first, second, "jensenshannon")) ** 2


def typical_documents(inferred: DocumentTopics) -> list[int]:
    """Return the documents with the largest proportions of the most used topics."""
    real = np.flatnonzero(inferred.has_words)
    proportions = inferred.proportions[real]
    order = np.argsort(-proportions, axis=0, kind="stable")[:TYPICAL]
    by_use = np.argsort(-inferred.shares, kind="stable")
    chosen = dict.fromkeys(int(real[row]) for rank in order for row in rank[by_use])
    return list(chosen)[:DOCUMENTS]


def _document(
    row: int,
    proportions: np.ndarray,
    beta: np.ndarray,
    numbers: np.ndarray,
    dataset: Dataset,
    split: Split,
) -> dict[str, Any]:
    """Return a document; numbers: of the groups that the shares are of, or `UNTOLD`."""
    words = list(itertools.islice(itertools.chain(*split.document(row)), EXCERPT))
    topical = dataset.vocabulary.topic_ids[words]
    likely = (proportions[:, None] * beta[:, topical]).argmax(axis=0)
    label = NO_LABEL if split.labels is None else split.labels[row]
    return {
        "document": row,
        "id": split.ids[row] if split.ids else None,
        "label": None if label == NO_LABEL else dataset.meta["labels"][label],
        "words": [dataset.vocabulary.words[i] for i in words],
        "topics": np.where(topical < 0, UNTOLD, numbers[likely]).tolist(),
        "proportions": {
            int(numbers[i]): round(float(proportions[i]), 4)
            for i in np.argsort(-proportions, kind="stable")
            if proportions[i] >= LEAST and numbers[i] != UNTOLD
        },
    }


def colour(topic: int, lightness: int = 82) -> str:
    """Return a topic's colour, the same all over the page."""
    return f"hsl({topic * GOLDEN % 360:.0f},62%,{lightness}%)"


def laid_out(exploration: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `explore` found as the page draws it: maps, cells, words, colours."""
    topics = sorted(exploration["topics"], key=lambda topic: -topic["share"])
    documents = exploration["documents"]
    labels = {topic["topic"]: topic["label"] for topic in topics}
    told = []
    for document in documents:
        shares = list(document["proportions"].items())[:4]
        words = [
            (word, topic, None if topic < 0 else colour(topic))
            for word, topic in zip(document["words"], document["topics"])
        ]
        told.append(
            {
                "number": document["document"],
                "name": document["id"] or f"document {document['document']}",
                "label": document["label"],
                "shares": "; ".join(f"{k} {labels[k]} {x:.0%}" for k, x in shares),
                "words": words,
                "text": document.get("text"),
            }
        )
    return {
        "maps": {kind: topic_map(topics, *size) for kind, size in MAPS.items()},
        "documents": told,
        "script": {
            "relevance": RELEVANCE,
            "labels": labels,
            "words": {topic["topic"]: topic["words"] for topic in topics},
            "colours": {t["topic"]: colour(t["topic"], 45) for t in topics},
            "documents": {d["document"]: d["proportions"] for d in documents},
        },
    }


def topic_map(
    topics: Sequence[Mapping[str, Any]], width: int, height: int, largest: int
) -> dict[str, Any]:
    """Return a map of topics, the most used first: circles that labels name apart."""
    most = topics[0]["share"] or 1
    # The first of the words of an automatic label, or a name's start.
    short = (topic["label"].partition(",")[0][:NAMED] for topic in topics)
    labels = [f"{topic['topic']} {name}" for topic, name in zip(topics, short)]
    radii = [max(5.0, largest * (t["share"] / most) ** 0.5) for t in topics]
    sizes = np.array([(LETTER * len(label) + 4, LINE) for label in labels])
    sizes = np.maximum(sizes, SEEN * np.array(radii)[:, None])
    height = max(height, int(np.prod(sizes, axis=1).sum() / CROWDED / width))
    margins = np.maximum(sizes / 2, np.array(radii)[:, None]) + EDGE
    places = np.array([topic["place"] for topic in topics])
    inner = np.array([width, height]) - 2 * margins
    places = pushed_apart(margins + (places + 1) / 2 * inner, sizes, margins, inner)
    circles = []
    for topic, label, radius, (x, y) in zip(topics, labels, radii, places):
        k, below = topic["topic"], y + 4  # the middle of a letter
        sizes = {"x": x, "y": y, "below": below, "radius": radius}
        words = " ".join(word for word, *_ in topic["words"][:8])
        title = f"{k} {topic['label']}: {words} ({topic['share']:.1%})"
        look = {"fill": colour(k), "stroke": colour(k, 45), "title": title}
        numbers = {name: f"{size:.1f}" for name, size in sizes.items()}
        circles.append({"topic": k, "label": label, **numbers, **look})
    return {"width": width, "height": height, "circles": circles}


def pushed_apart(
    centres: np.ndarray, sizes: np.ndarray, low: np.ndarray, room: np.ndarray
) -> np.ndarray:
    """Return boxes' centres [K, 2]: each as near its own as those before it let it.

    sizes [K, 2]; within low .. low + room [K, 2]; without room a box stays as it is.
    """
    placed = centres.copy()
    for i, centre in enumerate(centres):
        others, least = placed[:i].T, ((sizes[i] + sizes[:i]) / 2).T
        if (np.abs(centre[:, None] - others) >= least).any(axis=0).all():
            continue
        grid = [low[i, k] + np.arange(0, room[i, k] + 1e-6, STEP) for k in (0, 1)]
        # One product says of every place whether a box meets it along both axes.
        x, y = (
            (np.abs(places[:, None] - other) < apart).astype(np.float32)
            for places, other, apart in zip(grid, others, least)
        )
        away = (grid[0] - centre[0]) ** 2 + (grid[1][:, None] - centre[1]) ** 2
        away[y @ x.T > 0] = np.inf
        if np.isfinite(away).any():
            row, column = np.unravel_index(away.argmin(), away.shape)
            placed[i] = grid[0][column], grid[1][row]
    return placed
