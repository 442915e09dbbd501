"""Retrieval by cosine, against figures by hand and a loop over pairs."""

import math

import numpy as np
import pytest
from scipy import sparse

from tcnlm.metrics import retrieval
from tcnlm.metrics.features import count_vectors, log_count_vectors
from tcnlm.metrics.retrieval import chance, precision_at_fractions

# Angles in degrees of documents in the plane; the query is at 0.
ANGLES = np.array([50, 10, 80, 20, 120])
LABELS = np.array([7, 7, 7, 3, 3])


def at(*angles):
    turned = np.radians(np.array(angles, float))
    return np.stack([np.cos(turned), np.sin(turned)], axis=1)


def loop_precision(queries, query_labels, documents, document_labels, fraction):
    """Rank by exact cosine with Python's sort, which is stable."""
    shares = []
    pool = [j for j, label in enumerate(document_labels) if label != -1]
    for query, wanted in zip(queries, query_labels):
        if wanted == -1:
            continue
        cosines = {}
        for j in pool:
            dot = sum(a * b for a, b in zip(query, documents[j]))
            norms = math.hypot(*query) * math.hypot(*documents[j])
            cosines[j] = dot / norms
        best = sorted(pool, key=lambda j: -cosines[j])
        best = best[: max(1, round(fraction * len(pool)))]
        shares.append(sum(document_labels[j] == wanted for j in best) / len(best))
    return sum(shares) / len(shares)


# By angle: 10 (7), 20 (3), 50 (7), 80 (7), 120 (3). At 110: 120 (3), 80 (7).
@pytest.mark.parametrize(
    ("angles", "wanted", "precision"),
    [
        ([0], [7], {0.2: 1, 0.4: 1 / 2, 0.6: 2 / 3, 0.8: 3 / 4, 1: 3 / 5}),
        ([0, 110], [7, 7], {0.2: 0.5}),  # the mean over queries
        ([0], [3], {0.0001: 0, 0.29: 0, 0.31: 1 / 2}),  # of 1, 1 and 2 documents
        ([0, 5], [7, -1], {0.2: 1, 0.6: 2 / 3}),  # without a label
    ],
)
def test_precision_by_hand(angles, wanted, precision):
    documents, labels = at(1, *ANGLES, 2), np.array([-1, *LABELS, -1])
    asked = at(*angles), np.array(wanted), documents, labels, tuple(precision)
    assert precision_at_fractions(*asked) == pytest.approx(precision)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("numbers", "block"), [(np.float32, 1), (np.float64, 150), (np.int32, 10**6)]
)
def test_precision_agrees_with_a_loop(rng, monkeypatch, kind, numbers, block):
    monkeypatch.setattr(retrieval, "BLOCK", block)
    queries = rng.integers(-9, 10, (11, 6)).astype(numbers)
    documents = rng.integers(-9, 10, (60, 6)).astype(numbers)
    labels, wanted = rng.integers(-1, 3, 60), rng.integers(-1, 3, 11)
    fractions = (0.001, 0.03, 0.1, 0.5, 1)
    asked = kind(queries), wanted, kind(documents), labels, fractions
    for fraction, precision in precision_at_fractions(*asked).items():
        lists = queries.tolist(), wanted, documents.tolist(), labels
        assert precision == pytest.approx(loop_precision(*lists, fraction))


def test_chance_is_the_precision_of_all_documents():
    wanted, labels = np.array([7, 3, 3, -1]), np.array([*LABELS, -1])
    assert chance(wanted, labels) == pytest.approx((3 / 5 + 2 / 5 + 2 / 5) / 3)
    every = precision_at_fractions(at(1, 2, 3, 4), wanted, at(*ANGLES, 6), labels, (1,))
    assert every[1] == pytest.approx(chance(wanted, labels))


@pytest.mark.parametrize(
    ("count", "logarithm"), [(0, 0), (1, 1), (3, 1), (4, 2), (11, 2), (12, 3), (33, 4)]
)
def test_counts_and_the_rounded_logarithms_of_1_plus_n(count, logarithm):
    documents = [np.full(count, 1), np.array([2, 0, 2])]
    for vectors, n in ((count_vectors, count), (log_count_vectors, logarithm)):
        found = vectors(documents, 4).toarray()
        assert found[0].tolist() == [0, n, 0, 0]
        assert found[1].tolist() == [1, 0, 2 if vectors is count_vectors else 1, 0]


def test_length_does_not_count_and_ties_go_by_document_order():
    documents = at(30, 30, 30, 30) * np.array([[0.1], [70], [3], [1e-3]])
    labels = np.array([1, 0, 0, 1])
    found = precision_at_fractions(at(0), labels[:1], documents, labels, (0.25, 0.5, 1))
    assert list(found.values()) == [1, 1 / 2, 1 / 2]


def test_a_query_of_zeros_finds_nothing_and_a_document_of_zeros_has_cosine_0():
    queries, wanted = np.array([[0.0, 0], [1, 0]]), np.array([1, 1])
    documents, labels = np.array([[-1.0, 0], [0, 0], [1, 0]]), np.array([1, 1, 0])
    found = precision_at_fractions(queries, wanted, documents, labels, (1 / 3, 2 / 3))
    # The second query: the document at 1, then that of zeros, then that at -1.
    assert list(found.values()) == [0, 1 / 4]
