"""What is measured of documents: their words over orders, and what labels tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.data.contexts import NO_WORD
from tcnlm.data.dataset import Dataset, Split
from tcnlm.layers.graphs import graph
from tcnlm.measures.classification import Classification, classify
from tcnlm.measures.documents import Unigram, summarise
from tcnlm.measures.retrieval import (
    chance,
    count_vectors,
    log_count_vectors,
    nearest,
    precision_at_fractions,
)
from tcnlm.measures.sigmoid_network import classify_by_network
from tcnlm.models.base import DocumentModel

ORDERS = 5  # of the words, each drawn by a seed of its own
HEADLINE = 0.02  # the fraction that tables show; Gupta et al. 2019
QUERIES, NEIGHBOURS = 5, 3  # shown on the page
PICTURED = 10_000  # documents of the picture; Dieng et al. 2017
BATCH = 64


def perplexity_over_orders(
    model: DocumentModel, train: Split, test: Split
) -> dict[str, Any]:
    """Return both perplexities of documents, mean and deviation over orders.

    And those of the unigram model on the very words that the model counts.
    """
    lengths, nats = _nats(model, test)
    orders = summarise(nats, lengths)
    bags = log_count_vectors if model.config.log_counts else count_vectors
    counts = [bag_of_words(split, bags) for split in (train, test)]
    unigram = Unigram(counts[0]).perplexity(counts[1])
    return {
        "orders": ORDERS,
        "documents": int(np.count_nonzero(lengths)),
        "without_words": int(np.count_nonzero(lengths == 0)),
        "published": orders.published.mean,
        "published_deviation": orders.published.deviation,
        "corpus": orders.corpus.mean,
        "corpus_deviation": orders.corpus.deviation,
        "unigram": unigram.published,
        "unigram_corpus": unigram.corpus,
        "ratio": orders.published.mean / unigram.published,
    }


def _nats(model: DocumentModel, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the words that count of every document [N], and its nats [orders, N]."""
    rows = model.batching.rows(split)
    seeds = tf.TensorSpec([2], tf.int32)

    @partial(graph, input_signature=[model.batching.signature(), seeds])
    def score(batch, seed):
        read = model.read(batch["words"]) != NO_WORD
        total = tf.reduce_sum(model.log_probs(batch, seed), axis=1)
        return tf.math.count_nonzero(read, axis=1), -total

    lengths = np.zeros(split.num_documents)
    nats = np.zeros([ORDERS, split.num_documents])
    for chosen in rows.order(BATCH, None, 0):
        documents, batch = rows.documents[chosen], rows.batch(chosen)
        for order in range(ORDERS):
            lengths[documents], nats[order, documents] = score(batch, [1, order])
    return lengths, nats


def bag_of_words(split: Split, vectors: Any = log_count_vectors) -> sparse.csr_matrix:
    """Return the counts [N, D] of a split's content words, as `vectors` makes them."""
    contents = [split.content(i) for i in range(split.num_documents)]
    return vectors(contents, split.num_topic_words)


def retrieval(
    vectors: tuple[np.ndarray, np.ndarray], train: Split, test: Split
) -> dict[str, Any]:
    """Return precisions by fraction, of the model's vectors and of bags of words.

    Every document of `test` is a query against all of `train`.
    """
    labels = labels_of(train), labels_of(test)
    bags = bag_of_words(train), bag_of_words(test)
    found = {
        name: precision_at_fractions(own[1], labels[1], own[0], labels[0])
        for name, own in (("model", vectors), ("bag_of_words", bags))
    }
    return {
        "precision": found["model"][HEADLINE],
        "bag_of_words": found["bag_of_words"][HEADLINE],
        "chance": chance(labels[1], labels[0]),
        "curves": {n: {str(f): p for f, p in c.items()} for n, c in found.items()},
    }


def neighbours(
    vectors: tuple[np.ndarray, np.ndarray], train: Split, test: Split, data: Dataset
) -> list[dict[str, Any]]:
    """Return some queries with the nearest training documents, to be read."""
    full = np.flatnonzero(test.contexts.lengths())  # of all labels, where it is sorted
    queries = full[np.linspace(0, len(full) - 1, QUERIES).astype(int)]
    places, cosines = nearest(vectors[1][queries], vectors[0], NEIGHBOURS)
    return [
        {
            **_shown(test, query, data),
            "nearest": [
                {**_shown(train, place, data), "cosine": round(float(cosine), 4)}
                for place, cosine in zip(row, likeness)
            ],
        }
        for query, row, likeness in zip(queries, places, cosines)
    ]


def _shown(split: Split, document: int, data: Dataset) -> dict[str, Any]:
    words, topic_words = split.content(document)[:12], data.vocabulary.topic_words
    label = None if split.labels is None else int(split.labels[document])
    named = label is not None and label >= 0
    return {
        "document": int(document),
        "label": data.meta["labels"][label] if named else None,
        "words": " ".join(topic_words[i] for i in words),
    }


def classification(
    vectors: Sequence[np.ndarray],
    splits: Sequence[Split],
    parts: Mapping[str, int],
    data: Dataset,
) -> dict[str, Any]:
    """Return what two classifiers on the vectors get right of the last split.

    They are fitted to the labelled documents of all others. Beside the whole vectors
    stand their `parts`, by size, and the log counts of all words and of topic words,
    which most models see alone, for logistic regression. "picture": the vectors in two
    dimensions.
    """
    labels = [labels_of(split) for split in splits]
    fitted = np.concatenate(labels[:-1])
    tables = {"vector": (np.concatenate(vectors[:-1]), vectors[-1])}
    ends = np.cumsum([0, *parts.values()])
    for name, low, high in zip(parts, ends, ends[1:]):
        tables[name] = tuple(table[:, low:high] for table in tables["vector"])
    rows = {
        name: {
            "logistic": _figures(classify(train, fitted, test, labels[-1])),
            "network": _figures(classify_by_network(train, fitted, test, labels[-1])),
        }
        for name, (train, test) in tables.items()
    }
    bags = {
        "bag of words": [_all_words(split, len(data.vocabulary)) for split in splits],
        "bag of topic words": [bag_of_words(split) for split in splits],
    }
    for name, found in bags.items():
        train, test = sparse.vstack(found[:-1]).tocsr(), found[-1]
        logistic = classify(train, fitted, test, labels[-1])
        rows[name] = {"logistic": _figures(logistic)}
    picture = {**plane(vectors[-1], labels[-1]), "names": data.meta["labels"]}
    return {**rows["vector"]["logistic"], "rows": rows, "picture": picture}


def _figures(found: Classification) -> dict[str, float]:
    stated = {name: value for name, value in asdict(found).items() if value is not None}
    return {**stated, "error_rate": found.error_rate}


def _all_words(split: Split, size: int) -> sparse.csr_matrix:
    """Return the log counts [N, V] of all words of a split's documents."""
    bounds = split.sentences[split.documents]
    documents = [split.tokens[a:b] for a, b in zip(bounds[:-1], bounds[1:])]
    return log_count_vectors(documents, size)


def plane(vectors: np.ndarray, labels: np.ndarray) -> dict[str, list]:
    """Return the places of labelled documents on their two main axes (PCA).

    By NumPy, since a topic model that has collapsed gives vectors without any axis.
    """
    rows = np.random.default_rng(0).permutation(np.flatnonzero(labels >= 0))
    rows = np.sort(rows[:PICTURED])
    centred = vectors[rows] - vectors[rows].mean(axis=0)
    deviation = centred.std(axis=0)
    standard = centred / np.where(deviation > 0, deviation, 1)
    _, axes = np.linalg.eigh(standard.T @ standard)  # the main axis last
    x, y = (standard @ axes[:, [-1, -min(2, len(axes))]]).T.round(3).tolist()
    return {"x": x, "y": y, "labels": labels[rows].tolist()}


def labels_of(split: Split) -> np.ndarray:
    """Return the labels of a split; InputError where its DATA has none."""
    if split.labels is None:
        raise InputError(
            "this DATA has no labels: make it again, with the option --label FIELD of "
            "python -m preprocessing"
        )
    return split.labels
