"""How well a model predicts whole documents, beside their word frequencies.

Perplexity as published: exp of the mean over documents of the mean nats a word
(Larochelle and Lauly 2012), short and long documents counting alike. Corpus perplexity:
exp(all nats / all words). Both depend on the orders in which a document is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from preprocessing.errors import InputError
from tcnlm.data.batching import Rows
from tcnlm.models.base import DocumentModel

ORDERS = 5


def document_perplexity(nats: np.ndarray, words: np.ndarray) -> float:
    """Return exp(1/N sum_t nats_t / words_t) of documents' nats [N] and words [N]."""
    _check_words(words)
    return float(np.exp(np.mean(nats / words)))


def corpus_perplexity(nats: np.ndarray, words: np.ndarray) -> float:
    """Return exp(sum of nats / sum of words)."""
    _check_words(words)
    return float(np.exp(np.sum(nats) / np.sum(words)))


def _check_words(words: np.ndarray) -> None:
    if not len(words):
        raise InputError("there is no document with a word of the vocabulary to score")
    empty = np.flatnonzero(words < 1)
    if len(empty):
        raise InputError(f"document {empty[0]} has no word: leave it out of the score")


def over_orders(nats: np.ndarray, words: np.ndarray) -> dict[str, Any]:
    """Return both perplexities of nats [R, N] in R orders: mean and spread.

    The spread is the standard deviation over the orders (of R - 1).
    """
    if len(nats) < 2:
        raise InputError(f"orders must be 2 or more for a spread, got {len(nats)}")
    measures = {"perplexity": document_perplexity, "corpus": corpus_perplexity}
    figures = {
        name: [measure(order, words) for order in nats]
        for name, measure in measures.items()
    }
    summary: dict[str, Any] = {"orders": len(nats), "documents": len(words)}
    for name, values in figures.items():
        summary[name] = float(np.mean(values))
        summary[f"{name}_spread"] = float(np.std(values, ddof=1))
    return summary


def unigram_nats(train: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Return - log p of documents [N, D] by the frequencies in training ones, [N].

    Both are counts [., D]. One is added to the count of every word (Laplace), so that a
    word that training has not does not make the figure infinite.
    """
    counts = np.sum(train, axis=0, dtype=np.float64) + 1
    return -np.asarray(documents @ np.log(counts / counts.sum()), np.float64)


def bags(documents: Sequence[np.ndarray], size: int) -> np.ndarray:
    """Return the counts [N, size] of documents' word ids; -1 is padding."""
    rows = [np.bincount(ids[ids >= 0], minlength=size) for ids in documents]
    return np.stack(rows).astype(np.float32)


def log_counts(counts: np.ndarray) -> np.ndarray:
    """Return round(ln(1 + n))."""
    return np.round(np.log1p(counts))


def score_documents(
    model: DocumentModel, rows: Rows, orders: int = ORDERS, batch_size: int = 64
) -> tuple[np.ndarray, np.ndarray]:
    """Return nats [R, N] in R orders and numbers of words [N], as the rows come."""
    if batch_size < 1:
        raise InputError(f"the batch size must be 1 or more, got {batch_size}")

    @tf.function(
        input_signature=[model.batching.signature(), tf.TensorSpec([2], "int32")]
    )
    def score(batch: dict, seed: tf.Tensor) -> tf.Tensor:
        return -tf.reduce_sum(model.log_probs(batch, seed), axis=1)

    nats, words = [], []
    for batch in rows.batches(batch_size):
        nats.append([score(batch, [order, 0]).numpy() for order in range(orders)])
        words.append(np.count_nonzero(model.read(batch["words"]) >= 0, axis=1))
    if not words:
        raise InputError("there is no document with a word of the vocabulary to score")
    return np.concatenate(nats, axis=1), np.concatenate(words)
