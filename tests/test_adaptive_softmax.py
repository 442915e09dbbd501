"""Adaptive softmax: exact probabilities, against the oracle and the full softmax."""

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import assert_close, eager_and_graph, every_way, randomise
from scipy.stats import chisquare

from tcnlm.layers.softmax import AdaptiveSoftmax, cross_entropy, draw_by_blocks

V, H = 23, 9
CUTOFFS = [(), (5,), (5, 11), (1, 2, 22)]
every_cutoffs = pytest.mark.parametrize("cutoffs", CUTOFFS)


def make(rng, cutoffs, dtype="float64", **options):
    softmax = AdaptiveSoftmax(V, cutoffs, dtype=dtype, **options)
    softmax.build((None, H))
    return randomise(softmax, rng)


def loops(softmax, hidden):
    head, *rest = (
        [w.numpy().astype(float) for w in group]
        for group in ([softmax.head], softmax.projections, softmax.tails)
    )
    return [oracle.adaptive_log_probs(h, head[0], *rest) for h in hidden]


def every_word(rng):
    """Hidden states and targets in which every word is a target once, shuffled."""
    return rng.normal(size=[V, H]), rng.permutation(V)


@every_way
@every_cutoffs
def test_log_probs_and_log_prob_are_the_oracle_s(rng, wrap, dtype, cutoffs):
    softmax, (hidden, targets) = make(rng, cutoffs, dtype), every_word(rng)
    rows, given = np.array(loops(softmax, hidden)), tf.constant(hidden, dtype)
    assert_close(wrap(softmax.log_probs)(given), rows)
    found = wrap(softmax)(given, tf.constant(targets, tf.int32))
    assert_close(found, rows[range(V), targets])


@every_cutoffs
def test_log_prob_and_log_probs_agree_in_values_and_gradients(rng, cutoffs):
    softmax, (hidden, targets) = make(rng, cutoffs), every_word(rng)
    hidden, probe = tf.constant(hidden), rng.normal(size=V)

    def values_and_gradients(log_prob):
        sources = [hidden, *softmax.trainable_weights]
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            value = log_prob()
            loss = tf.reduce_sum(value * probe)
        gradients = tape.gradient(loss, sources)
        return [value, *map(tf.convert_to_tensor, gradients)]

    assert_close(
        values_and_gradients(lambda: softmax(hidden, targets)),
        values_and_gradients(
            lambda: tf.gather(softmax.log_probs(hidden), targets, batch_dims=1)
        ),
    )


@pytest.mark.parametrize("cutoffs", [(), (V,), (V, V + 1), (2000, 10000)])
def test_without_cutoffs_inside_the_vocabulary_it_is_the_full_softmax(rng, cutoffs):
    softmax, (hidden, targets) = make(rng, cutoffs), every_word(rng)
    assert [w.shape.as_list() for w in softmax.weights] == [[H, V]]
    full = tf.nn.log_softmax(hidden @ softmax.head.numpy())
    assert_close(softmax.log_probs(tf.constant(hidden)), full.numpy())
    assert_close(softmax(tf.constant(hidden), targets), full.numpy()[range(V), targets])


def test_published_sizes_of_a_600_unit_model_on_imdb():
    """Head 2000 + 2 entries, tails projected to 600 / 4 and 600 / 16."""
    softmax = AdaptiveSoftmax(34256)
    softmax.build((None, 600))
    head = 600 * 2002
    tails = 600 * 150 + 150 * 8000 + 600 * 37 + 37 * 24256
    assert softmax.count_params() == head + tails


@eager_and_graph
@pytest.mark.parametrize("words", [range(5), range(5, 11), range(11, V)])
def test_a_batch_without_a_cluster_s_words_is_exact_and_finite(rng, wrap, words):
    softmax, hidden = make(rng, (5, 11)), tf.constant(rng.normal(size=[len(words), H]))
    targets = tf.constant(list(words), tf.int64)

    def values_and_gradients():
        with tf.GradientTape() as tape:
            value = softmax(hidden, targets)
        return value, tape.gradient(value, softmax.trainable_weights)

    value, gradients = wrap(values_and_gradients)()
    rows = loops(softmax, hidden.numpy())
    assert_close(value, np.array([row[w] for row, w in zip(rows, words)]))
    for gradient in gradients:
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


@every_way
@every_cutoffs
@pytest.mark.parametrize("forbidden", [[], [0, 3], [1, 7], range(5)])
def test_drawn_words_have_the_law_of_the_allowed_ones(
    rng, wrap, dtype, cutoffs, forbidden
):
    """Wherever the forbidden ones lie; their log p is the model's own."""
    softmax, number = make(rng, cutoffs, dtype), 4000
    hidden = tf.constant(np.tile(rng.normal(size=H), [number, 1]), dtype)
    words, log_p = wrap(lambda h: softmax.next_word(h).without(forbidden).draw([7, 8]))(
        hidden
    )
    expected = softmax.log_probs(hidden[:1])[0].numpy().astype(float)
    assert_close(log_p, expected[words])
    allowed = np.setdiff1d(range(V), forbidden)
    p, counts = np.exp(expected[allowed]), np.bincount(words, minlength=V)
    assert counts[allowed].sum() == number
    assert chisquare(counts[allowed], p / p.sum() * number).pvalue > 0.001


def test_a_tail_is_computed_only_for_the_rows_that_drew_it(rng, monkeypatch):
    softmax, hidden = make(rng, (5, 11)), tf.constant(rng.normal(size=[90, H]))
    rows = []
    monkeypatch.setattr(
        "tcnlm.layers.softmax.draw_by_blocks",
        lambda scores, seed: rows.append(len(scores)) or draw_by_blocks(scores, seed),
    )
    words = softmax.draw(hidden, [], [1, 2])[0].numpy()
    assert rows == [90, ((words >= 5) & (words < 11)).sum(), (words >= 11).sum()]


def test_cross_entropy_and_its_gradient_are_the_public_function_s_and_repeat(rng):
    logits = tf.constant(rng.normal(size=[257, 1001]) * 5, tf.float32)
    targets = tf.constant(rng.integers(0, 1001, 257))

    def both(function):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = function(targets, logits)
        return loss.numpy(), tape.gradient(loss, logits).numpy()

    once, again = both(cross_entropy), both(cross_entropy)
    plain = both(tf.nn.sparse_softmax_cross_entropy_with_logits)
    for first, second, other in zip(once, again, plain):
        np.testing.assert_array_equal(first, second)
        assert_close(first, other)
