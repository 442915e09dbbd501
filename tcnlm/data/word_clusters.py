"""Clusters of word vectors: where topics may start."""

from __future__ import annotations

import warnings

import numpy as np


def similarities(vectors: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """Return how near every word is to each of k-means' centres: [K, D].

    vectors [D, E], brought to length 1 before. A row is the cosines to one centre, less
    their mean and over their deviation.
    """
    words = _to_length_one(vectors)
    cosines = _to_length_one(_centres(words, clusters, seed)) @ words.T
    centred = cosines - cosines.mean(axis=1, keepdims=True)
    return centred / np.maximum(centred.std(axis=1, keepdims=True), 1e-6)


def _centres(words: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans  # takes a second to import
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():  # of words that are alike, some topics start so
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(clusters, n_init=3, random_state=seed).fit(words).cluster_centers_


def _to_length_one(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)
