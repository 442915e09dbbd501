"""Retrieval by cosine, against figures by hand and a loop over pairs."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.metrics import retrieval
from tcnlm.metrics.features import count_vectors, log_count_vectors
from tcnlm.metrics.retrieval import chance, nearest, precision_at_fractions

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


def test_precision_of_one_query_by_hand():
    # Nearest first: 10 (7), 20 (3), 50 (7), 80 (7), 120 (3).
    precision = precision_at_fractions(
        at(0), np.array([7]), at(*ANGLES), LABELS, (0.2, 0.4, 0.6, 0.8, 1)
    )
    assert list(precision) == [0.2, 0.4, 0.6, 0.8, 1]
    assert list(precision.values()) == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5])


def test_precision_is_the_mean_over_queries():
    # At 110 degrees: 120 (3), 80 (7).
    both = at(0, 110), np.array([7, 7]), at(*ANGLES), LABELS
    assert precision_at_fractions(*both, (0.2,)) == {0.2: 0.5}


def test_a_fraction_is_rounded_and_at_least_one_document():
    ask = at(0), np.array([3]), at(*ANGLES), LABELS
    found = precision_at_fractions(*ask, (0.0001, 0.29, 0.31))
    assert list(found.values()) == [0, 0, 1 / 2]  # of 1, 1 and 2 documents


def test_length_does_not_count_and_ties_go_by_document_order():
    documents = at(30, 30, 30, 30) * np.array([[0.1], [70], [3], [1e-3]])
    labels = np.array([1, 0, 0, 1])
    found = precision_at_fractions(at(0), labels[:1], documents, labels, (0.25, 0.5, 1))
    assert list(found.values()) == [1, 1 / 2, 1 / 2]
    places, _ = nearest(at(0), documents, 4)
    assert places.tolist() == [[0, 1, 2, 3]]


def test_what_has_no_label_is_left_out():
    documents, labels = at(1, *ANGLES, 2), np.array([-1, *LABELS, -1])
    queries, wanted = at(0, 5), np.array([7, -1])
    assert precision_at_fractions(
        queries, wanted, documents, labels, (0.2, 0.6)
    ) == precision_at_fractions(at(0), wanted[:1], at(*ANGLES), LABELS, (0.2, 0.6))


def test_a_query_of_zeros_finds_nothing_and_a_document_of_zeros_has_cosine_0():
    queries, wanted = np.array([[0.0, 0], [1, 0]]), np.array([1, 1])
    documents, labels = np.array([[-1.0, 0], [0, 0], [1, 0]]), np.array([1, 1, 0])
    found = precision_at_fractions(queries, wanted, documents, labels, (1 / 3, 2 / 3))
    # The second query: the document at 1, then that of zeros, then that at -1.
    assert list(found.values()) == [0, 1 / 4]
    places, cosines = nearest(queries, documents, 3)
    assert places.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert cosines.tolist() == [[0, 0, 0], [1, 0, -1]]


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize("numbers", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("block", [1, 150, 10**6])
def test_precision_agrees_with_a_loop(rng, monkeypatch, kind, numbers, block):
    monkeypatch.setattr(retrieval, "BLOCK", block)
    queries = rng.integers(-9, 10, (11, 6)).astype(numbers)
    documents = rng.integers(-9, 10, (60, 6)).astype(numbers)
    labels, wanted = rng.integers(-1, 3, 60), rng.integers(-1, 3, 11)
    fractions = (0.001, 0.03, 0.1, 0.5, 1)
    found = precision_at_fractions(
        kind(queries), wanted, kind(documents), labels, fractions
    )
    for fraction, precision in found.items():
        expected = loop_precision(
            queries.tolist(), wanted, documents.tolist(), labels, fraction
        )
        assert precision == pytest.approx(expected)


def test_chance_is_the_precision_of_all_documents():
    wanted = np.array([7, 3, 3, -1])
    labels = np.array([*LABELS, -1])
    assert chance(wanted, labels) == pytest.approx((3 / 5 + 2 / 5 + 2 / 5) / 3)
    everything = precision_at_fractions(
        at(1, 2, 3, 4), wanted, at(*ANGLES, 6), labels, (1,)
    )
    assert everything[1] == pytest.approx(chance(wanted, labels))


def test_the_nearest_come_with_their_cosines(monkeypatch):
    monkeypatch.setattr(retrieval, "BLOCK", 5)  # a query at a time
    places, cosines = nearest(at(0, 110), at(*ANGLES), 2)
    assert places.tolist() == [[1, 3], [4, 2]]
    degrees = np.array([[10, 20], [10, 30]])
    np.testing.assert_allclose(cosines, np.cos(np.radians(degrees)), atol=1e-6)


def test_memory_stays_in_blocks(rng):
    queries = rng.random((700, 40), np.float32)
    documents = rng.random((11000, 40), np.float32)
    labels = rng.integers(0, 20, 11000)
    tracemalloc.start()
    precision_at_fractions(queries, labels[:700], documents, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # 59 MB; all cosines at once take 154


def test_count_vectors_by_hand():
    documents = [np.array([2, 0, 2]), np.array([], int), np.array([1])]
    counts = count_vectors(documents, 4).toarray()
    assert counts.tolist() == [[1, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert count_vectors([], 4).shape == (0, 4)


@pytest.mark.parametrize(
    ("count", "logarithm"), [(0, 0), (1, 1), (3, 1), (4, 2), (11, 2), (12, 3), (33, 4)]
)
def test_log_counts_are_the_rounded_logarithm_of_1_plus_n(count, logarithm):
    vector = log_count_vectors([np.full(count, 1)], 3).toarray()
    assert vector.tolist() == [[0, logarithm, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query_labels": np.array([1, 2])}, "1 queries have 2 labels"),
        ({"document_labels": LABELS[:3]}, "5 documents have 3 labels"),
        ({"query_labels": np.array([-1])}, "none of the 1 queries has a label"),
        ({"queries": np.ones((1, 3))}, "have 3 and 2 dimensions"),
        ({"queries": at(0) * np.nan}, "finite"),
        ({"fractions": (0.5, 0)}, r"in \(0, 1\], got 0"),
        ({"fractions": (20,)}, r"in \(0, 1\], got 20"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {
        "queries": at(0),
        "query_labels": np.array([7]),
        "documents": at(*ANGLES),
        "document_labels": LABELS,
    }
    with pytest.raises(InputError, match=message):
        precision_at_fractions(**{**arguments, **change})
