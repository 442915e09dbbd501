"""Retrieval: how many of the nearest training documents have the query's label.

Every query, a test document, is compared with all training documents by the cosine of
their vectors (Hinton and Salakhutdinov 2009). At a fraction f of N training documents
the floor(f N) nearest are taken, at least one. Documents without a label are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preprocessing.errors import InputError

FRACTIONS = (0.0001, 0.0002, 0.0005, 0.002, 0.01, 0.02, 0.05, 0.2)
ROWS = 256  # queries at a time
NO_LABEL = -1


def precision_curve(
    queries: np.ndarray,
    query_labels: np.ndarray,
    documents: np.ndarray,
    labels: np.ndarray,
    fractions: Sequence[float] = FRACTIONS,
) -> list[float]:
    """Return the mean precision over queries [Q, F] among documents [N, F].

    A vector of zeros has cosine 0 with all; equals go by the documents' order.
    """
    queries, query_labels = labelled("queries", queries, query_labels)
    documents, labels = labelled("documents", documents, labels)
    taken = numbers_taken(len(documents), fractions)
    total = np.zeros(len(taken))
    for start in range(0, len(queries), ROWS):
        rows = slice(start, start + ROWS)
        order = nearest(queries[rows], documents, max(taken))
        right = np.cumsum(labels[order] == query_labels[rows, None], axis=1)
        total += (right[:, np.array(taken) - 1] / taken).sum(axis=0)
    return (total / len(queries)).tolist()


def nearest(queries: np.ndarray, documents: np.ndarray, count: int) -> np.ndarray:
    """Return the indices [Q, count] of the documents of largest cosine, best first."""
    cosine = unit(queries) @ unit(documents).T
    return np.argsort(-cosine, axis=1, kind="stable")[:, :count]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors [N, F] of length one; one of zeros stays so."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1)


def numbers_taken(number: int, fractions: Sequence[float]) -> list[int]:
    """Return how many of a number of documents each fraction takes."""
    for fraction in fractions:
        if not 0 < fraction <= 1:
            raise InputError(f"fraction {fraction}: must be above 0 and at most 1")
    # 0.29 x 100 is 28.999999999999996
    return [max(1, int(fraction * number + 1e-9)) for fraction in fractions]


def labelled(
    name: str, vectors: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors that have a label, and their labels."""
    if len(vectors) != len(labels):
        raise InputError(f"{name}: {len(vectors)} vectors have {len(labels)} labels")
    if not np.isfinite(vectors).all():
        raise InputError(f"{name}: a vector is not finite")
    has = np.asarray(labels) != NO_LABEL
    if not has.any():
        raise InputError(f"{name}: none has a label")
    return np.asarray(vectors)[has], np.asarray(labels)[has]
