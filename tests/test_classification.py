"""The classifiers on documents' vectors: what they are given, and what they may see."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tcnlm.common.errors import InputError
from tcnlm.metrics.classification import (
    STRENGTHS,
    agreement,
    classify,
    classify_by_network,
    held_out,
)

CENTRES = np.array([[0, 4, 0], [4, 0, 0], [0, 0, 4]])


def clouds(rng, count, noise=0.5):
    """Return points around three centres and the number of each one's centre."""
    labels = np.arange(count) % 3
    return CENTRES[labels] + noise * rng.standard_normal((count, 3)), labels


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_labels_that_a_plane_parts_are_all_found(rng, kind):
    (train, labels), (test, wanted) = clouds(rng, 60), clouds(rng, 30)
    found = classify(kind(train), labels, kind(test), wanted)
    assert (found["accuracy"], found["error_rate"]) == (1, 0)


def test_the_strength_is_the_best_on_a_fifth_of_the_training_documents(rng):
    # One dimension tells, 150 are noise: little regularisation learns them by heart.
    labels = np.arange(100) % 2
    train = rng.standard_normal((100, 151))
    train[:, 0] += 4 * labels
    rest, held = held_out(labels)
    accuracy = {}
    for c in STRENGTHS:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=200))
        model.fit(train[rest], labels[rest])
        accuracy[c] = model.score(train[held], labels[held])
    best = max(accuracy.values())
    assert min(accuracy.values()) < best
    chosen = min(c for c, value in accuracy.items() if value == best)
    right = classify(train, labels, train, labels)
    wrong = classify(train, labels, train, 1 - labels)  # of which it knows nothing
    assert right["c"] == wrong["c"] == chosen
    assert right["accuracy"] > wrong["accuracy"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0] * 6, "5 with one of them; there are 1 labels, the most frequent with 6"),
        ([-1] * 6, "none of the 6 training documents has a label"),
    ],
)
def test_bad_labels_are_named(labels, message):
    vectors = np.zeros((6, 2))
    with pytest.raises(InputError, match=message):
        classify(vectors, np.array(labels), vectors, np.zeros(6, int))


def test_the_sigmoid_network_tells_what_no_plane_parts_and_repeats_itself(rng):
    places = rng.choice([-1.0, 1.0], size=[1200, 2])
    labels = (places.prod(axis=1) > 0).astype(int)
    vectors = places + 0.1 * rng.standard_normal(places.shape)
    halves = vectors[:800], labels[:800], vectors[800:], labels[800:]
    network = classify_by_network(*halves)
    assert classify(*halves)["accuracy"] < 0.7 < network["accuracy"]
    assert network == classify_by_network(*halves)


def test_agreement_of_topics_and_labels_by_hand():
    # Topic 0 holds three of label 0 and one of 1; topic 1 the other two of label 1.
    found = agreement(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1]))
    joint = 3 / 6 * np.log(3 / 6 / (4 / 6 * 3 / 6))
    joint += 1 / 6 * np.log(1 / 6 / (4 / 6 * 3 / 6)) + 2 / 6 * np.log(2)
    own = -(4 / 6 * np.log(4 / 6) + 2 / 6 * np.log(2 / 6))
    assert found["nmi"] == pytest.approx(joint / ((own + np.log(2)) / 2))
    assert found["purity"] == pytest.approx(5 / 6)
    assert found["ami"] < found["nmi"]
