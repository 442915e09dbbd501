"""How well vectors of documents find documents of the same label, by cosine.

Larochelle and Lauly, "A Neural Autoregressive Topic Model" (NIPS 2012):
every test document is a query against all training documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Union

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError

Vectors = Union[np.ndarray, sparse.csr_matrix]  # a row for each document

FRACTIONS = (0.0001, 0.0002, 0.0005, 0.002, 0.01, 0.02, 0.05, 0.2)
UNLABELLED = -1
# Cosines that differ less are equal, so that ties are no matter of the processor.
DECIMALS = 6
# Cosines at a time; some 30 bytes each with what sorts them.
BLOCK = 2**21


def precision_at_fractions(
    queries: Vectors,
    query_labels: np.ndarray,
    documents: Vectors,
    document_labels: np.ndarray,
    fractions: Sequence[float] = FRACTIONS,
) -> dict[float, float]:
    """Return the precision of the nearest documents for each fraction of all of them.

    queries [Q, F]; documents [N, F]. Of the nearest max(1, round(fraction N)) documents
    (a half goes to the even number) the share with the query's label, mean over the
    queries. Equal cosines go by the order of the documents. What is labelled -1 is left
    out, and N counts without it. A document of zeros has the cosine 0 to every query; a
    query with the cosine 0 to all documents, as one of zeros, has the precision 0.
    """
    rows = labelled(queries, query_labels, "queries")
    columns = labelled(documents, document_labels, "documents")
    counts = {fraction: _retrieved(fraction, len(columns)) for fraction in fractions}
    found = dict.fromkeys(fractions, 0.0)
    for block, cosines in _blocks(queries, documents, rows):
        nearest = _descending(cosines[:, columns])[:, : max(counts.values())]
        hits = document_labels[columns[nearest]] == query_labels[block, None]
        hits &= cosines.any(axis=1)[:, None]
        for fraction, count in counts.items():
            found[fraction] += float(hits[:, :count].mean(axis=1).sum())
    return {fraction: total / len(rows) for fraction, total in found.items()}


def chance(query_labels: np.ndarray, document_labels: np.ndarray) -> float:
    """Return the precision to expect of documents drawn at random, at any fraction."""
    drawn = document_labels[document_labels != UNLABELLED]
    asked = query_labels[query_labels != UNLABELLED]
    return float(np.mean([np.mean(drawn == label) for label in asked]))


def nearest(
    queries: Vectors, documents: Vectors, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest documents of every query and their cosines, [Q, count] each.

    The nearest first; equal cosines go by the order of the documents. With vectors of
    zeros the cosine is 0. There are fewer columns where there are fewer documents.
    """
    found = []
    for _, cosines in _blocks(queries, documents, np.arange(queries.shape[0])):
        best = _descending(cosines)[:, :count]
        found.append((best, np.take_along_axis(cosines, best, axis=1)))
    places, cosines = zip(*found)
    return np.concatenate(places), np.concatenate(cosines)


def labelled(vectors: Vectors, labels: np.ndarray, name: str) -> np.ndarray:
    """Return the rows of vectors that have a label; name: what they are, for errors."""
    if vectors.shape[0] != len(labels):
        raise InputError(f"{vectors.shape[0]} {name} have {len(labels)} labels")
    rows = np.flatnonzero(labels != UNLABELLED)
    if not len(rows):
        raise InputError(f"none of the {len(labels)} {name} has a label")
    return rows


def count_vectors(documents: Sequence[np.ndarray], size: int) -> sparse.csr_matrix:
    """Return how often each of `size` words is in every document, [N, size].

    documents: the word ids of each, in any order.
    """
    lengths = [len(document) for document in documents]
    words = np.concatenate([np.zeros(0, np.int64), *documents]).astype(np.int64)
    places = (np.repeat(np.arange(len(documents)), lengths), words)
    shape = (len(documents), size)
    return sparse.csr_matrix((np.ones(len(words)), places), shape=shape)


def log_count_vectors(documents: Sequence[np.ndarray], size: int) -> sparse.csr_matrix:
    """Return round(ln(1 + n)) of the `count_vectors`: 1 for 1 to 3, 2 for 4 to 11 ...

    Larochelle and Lauly's 20 Newsgroups hold these instead of the counts n.
    """
    vectors = count_vectors(documents, size)
    vectors.data = np.rint(np.log1p(vectors.data))
    return vectors


def _retrieved(fraction: float, documents: int) -> int:
    if not 0 < fraction <= 1:
        raise InputError(f"a fraction of the documents is in (0, 1], got {fraction}")
    return max(1, round(fraction * documents))


def _blocks(
    queries: Vectors, documents: Vectors, rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield some of the rows [q] of queries, and their cosines to documents [q, N]."""
    queries, documents = _floats(queries), _floats(documents)
    if queries.shape[1] != documents.shape[1]:
        sizes = f"{queries.shape[1]} and {documents.shape[1]}"
        raise InputError(f"vectors of queries and documents have {sizes} dimensions")
    scale = _inverse_norms(documents)
    step = max(1, BLOCK // len(scale))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        some = queries[block]
        scaled = _dense(some) * _inverse_norms(some)[:, None]
        cosines = (documents @ scaled.T).T
        cosines *= scale
        yield block, np.round(cosines, DECIMALS, out=cosines)


def _floats(vectors: Vectors) -> Vectors:
    return vectors.astype(np.result_type(vectors.dtype, np.float32), copy=False)


def _dense(vectors: Vectors) -> np.ndarray:
    return vectors.toarray() if sparse.issparse(vectors) else vectors


def _inverse_norms(vectors: Vectors) -> np.ndarray:
    """Return 1 / the Euclidean norms [N] of rows, and 0 for rows of zeros."""
    if sparse.issparse(vectors):
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", vectors, vectors)
    if not np.isfinite(squares).all():
        raise InputError("vectors of documents must be finite numbers")
    norms = np.sqrt(squares)
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)


def _descending(cosines: np.ndarray) -> np.ndarray:
    return np.argsort(-cosines, axis=1, kind="stable")
