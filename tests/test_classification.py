"""The classifier on documents' vectors: what it is given, and what it may see."""

import numpy as np
import pytest
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.metrics import classifiers
from tcnlm.metrics.classifiers import Classification, classify, classify_by_network

CENTRES = np.array([[0, 4, 0], [4, 0, 0], [0, 0, 4]])


def clouds(rng, count, noise=0.5):
    """Return points around three centres and the number of each one's centre."""
    labels = np.arange(count) % 3
    return CENTRES[labels] + noise * rng.standard_normal((count, 3)), labels


def test_labels_that_a_plane_parts_are_all_found(rng):
    result = classify(*clouds(rng, 60), *clouds(rng, 30))
    assert (result.accuracy, result.macro_f1, result.error_rate) == (1, 1, 0)


def test_accuracy_and_macro_f1_by_hand(rng):
    # Of ten documents of 0 all, of three of 1 one, of two of 2 none are where they say.
    places = np.repeat([0, 1, 0, 2, 0], [10, 1, 1, 1, 2])
    labels = np.repeat([0, 1, 2], [10, 3, 2])
    result = classify(*clouds(rng, 60), CENTRES[places], labels)
    assert result.accuracy == pytest.approx(11 / 15)
    assert result.error_rate == pytest.approx(4 / 15)
    # 2 tp / (2 tp + fp + fn): 20 / 23, 2 / 4, 0.
    assert result.macro_f1 == pytest.approx((20 / 23 + 2 / 4 + 0) / 3)


def test_the_unit_of_a_dimension_does_not_count(rng):
    (train, labels), (test, wanted) = clouds(rng, 90, 2), clouds(rng, 60, 2)
    scale, shift = np.array([1e-4, 1, 1e4]), np.array([3, -1, 7])
    plain = classify(train, labels, test, wanted)
    assert 0.5 < plain.accuracy < 1
    assert classify(scale * train + shift, labels, scale * test + shift, wanted) == (
        plain
    )


def test_sparse_vectors_are_classified(rng):
    (train, labels), (test, wanted) = clouds(rng, 60), clouds(rng, 30)
    train, test = sparse.csr_matrix(train), sparse.csr_matrix(test)
    assert classify(train, labels, test, wanted).accuracy == 1


def test_what_has_no_label_is_left_out(rng):
    (train, labels), (test, wanted) = clouds(rng, 90, 2), clouds(rng, 60, 2)
    more = np.full((7, 3), 50.0), np.full(7, -1)
    assert classify(
        np.concatenate([more[0], train]),
        np.concatenate([more[1], labels]),
        np.concatenate([test, more[0]]),
        np.concatenate([wanted, more[1]]),
    ) == classify(train, labels, test, wanted)


def watch_fits(monkeypatch):
    """Return the vectors and labels of every fit that follows, and its C."""
    fits, fit = [], classifiers._fit

    def watched(vectors, labels, c):
        fits.append((vectors, labels, c))
        return fit(vectors, labels, c)

    monkeypatch.setattr(classifiers, "_fit", watched)
    return fits


def test_regularisation_is_chosen_on_a_fifth_of_the_training_documents(
    rng, monkeypatch
):
    train, labels = clouds(rng, 60)
    fits = watch_fits(monkeypatch)
    result = classify(train, labels, *clouds(rng, 30))
    *tried, last = fits
    assert [c for _, _, c in tried] == list(classifiers.STRENGTHS)
    for _, fitted, _ in tried:
        assert np.bincount(fitted).tolist() == [16, 16, 16]
    assert last[0].shape == (60, 3)
    assert last[2] == result.c


def test_the_test_documents_have_no_say_in_the_regularisation(rng):
    train, labels = clouds(rng, 90, 2)
    test, wanted = clouds(rng, 60, 2)
    right = classify(train, labels, test, wanted)
    wrong = classify(train, labels, test, (wanted + 1) % 3)
    assert right.c == wrong.c
    assert right.accuracy > wrong.accuracy


def test_the_strength_of_best_validation_accuracy_is_taken(rng):
    # One dimension tells, 150 are noise: little regularisation learns them by heart.
    labels = np.arange(100) % 2
    train = rng.standard_normal((100, 151))
    train[:, 0] += 4 * labels
    result = classify(train, labels, train, labels)
    held = classifiers.held_out(labels, np.random.default_rng(0))
    rest = np.setdiff1d(np.arange(100), held)
    scores = {}
    for c in classifiers.STRENGTHS:
        model = classifiers._fit(train[rest], labels[rest], c)
        scores[c] = np.mean(model.predict(train[held]) == labels[held])
    best = max(scores.values())
    assert min(scores.values()) < best
    assert result.c == min(c for c, score in scores.items() if score == best)


def test_the_validation_part_is_drawn_by_the_seed(rng):
    labels = np.repeat([0, 1, 2], [20, 11, 4])
    first, again, other = (
        classifiers.held_out(labels, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first.tolist() == again.tolist() != other.tolist()
    assert np.bincount(labels[first], minlength=3).tolist() == [4, 2, 0]


def test_a_fit_that_does_not_converge_gives_no_warning(rng, monkeypatch):
    monkeypatch.setattr(classifiers, "ITERATIONS", 1)
    assert classify(*clouds(rng, 60), *clouds(rng, 30)).accuracy > 1 / 3


def test_a_label_that_is_never_given_counts_as_zero_without_a_warning(rng):
    test, _ = clouds(rng, 30)
    result = classify(*clouds(rng, 60), test, np.full(30, 5))
    assert result == Classification(0, 0, result.c)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0] * 6, "two labels, 5 of one; there are 1 labels, the most frequent with 6"),
        ([0, 0, 0, 1, 1, 1], "there are 2 labels, the most frequent with 3"),
        ([-1] * 6, "none of the 6 training documents has a label"),
        ([0, 1], "6 training documents have 2 labels"),
    ],
)
def test_bad_labels_are_named(labels, message):
    vectors = np.zeros((6, 2))
    with pytest.raises(InputError, match=message):
        classify(vectors, np.array(labels), vectors, np.zeros(6, int))


@pytest.mark.slow
def test_the_sigmoid_network_tells_what_a_plane_parts_and_repeats_itself(rng):
    train, test = clouds(rng, 300), clouds(rng, 90)
    first, second = (classify_by_network(*train, *test, seed=3) for _ in range(2))
    assert first == second
    assert first.error_rate == 0


def test_the_sigmoid_network_tells_what_no_plane_parts(rng):
    places = rng.choice([-1.0, 1.0], size=[1200, 2])
    labels = (places.prod(axis=1) > 0).astype(int)
    vectors = places + 0.1 * rng.standard_normal(places.shape)
    halves = vectors[:800], labels[:800], vectors[800:], labels[800:]
    assert classify(*halves).accuracy < 0.7 < classify_by_network(*halves).accuracy


def test_the_networks_error_rate_is_the_share_of_wrong_answers(rng):
    # Three of fifteen documents are not what their place says.
    places = np.repeat([0, 1, 2, 0], [8, 2, 2, 3])
    labels = np.repeat([0, 1, 2, 1], [8, 2, 2, 3])
    result = classify_by_network(*clouds(rng, 300), CENTRES[places], labels)
    assert result.error_rate == pytest.approx(3 / 15)
    assert result.c is None
