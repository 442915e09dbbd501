"""Adam of Kingma and Ba (2015), algorithm 1, with clipping, on dense and used rows."""

import numpy as np
import pytest
import tensorflow as tf

from tcnlm.layers import optimization
from tcnlm.layers.optimization import GroupedAdam, LazyAdam, decay

V, E, RATE, CLIP, STEPS = 9, 4, 0.05, 0.7, 6


both_adams = pytest.mark.parametrize("lazy", [False, True])


@pytest.fixture(params=["ours", "of tensorflow_addons"])
def own_lazy_adam(request, monkeypatch):
    """Let lazy Adam be each of the two classes."""
    if request.param == "ours":
        monkeypatch.setattr(optimization, "_lazy_adam", lambda: LazyAdam)
    else:
        pytest.importorskip("tensorflow_addons")


def step_of_adam(moments, gradient, number):
    """The step down [..], in the form that ends section 2; the moments change."""
    m, v = moments
    m += 0.1 * (gradient - m)
    v += 0.001 * (gradient**2 - v)
    rate = RATE * np.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    return rate * m / (np.sqrt(v) + 1e-7)


def clipped(gradients):
    norm = np.sqrt(sum(np.sum(g**2) for g in gradients))
    return [g * min(1, CLIP / norm) for g in gradients], norm


def train(rng, draw_words, lazy):
    """Return the table and matrix after training, ours and the oracle's."""
    table, matrix = rng.normal(size=[V, E]), rng.normal(size=[E])
    ours = [tf.Variable(w, dtype=tf.float32) for w in (table, matrix)]
    optimizer = GroupedAdam([(ours, RATE)], CLIP, lazy)
    moments = [np.zeros([2, *w.shape]) for w in (table, matrix)]
    for number in range(1, STEPS + 1):
        words, wanted = draw_words(), rng.normal(size=[7])
        with tf.GradientTape() as tape:
            scores = tf.gather(ours[0], words) @ ours[1][:, None]
            loss = tf.reduce_sum((scores[:, 0] - tf.constant(wanted, tf.float32)) ** 2)
        norms = optimizer.descend(tape.gradient(loss, optimizer.groups))
        error = 2 * (table[words] @ matrix - wanted)
        d_table = np.zeros([V, E])
        np.add.at(d_table, words, error[:, None] * matrix)
        (d_table, d_matrix), norm = clipped([d_table, error @ table[words]])
        np.testing.assert_allclose(norms["gradient_norm_0"], norm, rtol=1e-4)
        rows = np.unique(words) if lazy else np.arange(V)
        touched = moments[0][:, rows]
        table[rows] -= step_of_adam(touched, d_table[rows], number)
        moments[0][:, rows] = touched
        matrix -= step_of_adam(moments[1], d_matrix, number)
    return [w.numpy() for w in ours], [table, matrix]


@pytest.mark.usefixtures("own_lazy_adam")
@both_adams
def test_repeated_and_absent_words_are_updated_as_algorithm_1_says(rng, lazy):
    ours, oracle = train(rng, lambda: rng.integers(0, V - 2, 7), lazy)
    for mine, expected in zip(ours, oracle):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5)


@both_adams
@pytest.mark.parametrize(
    ("kind", "shares"),
    [
        ("constant", [1, 1, 1, 1]),
        ("linear", [1, 0.75, 0.5, 0.25]),
        ("cosine", [(1 + np.cos(np.pi * n / 4)) / 2 for n in range(4)]),
    ],
)
def test_the_rate_decays_step_by_step_to_zero(kind, shares, lazy):
    """A constant gradient moves a weight by the rate, whatever its size is."""
    weight = tf.Variable([0.0])
    optimizer = GroupedAdam([([weight], RATE)], CLIP, lazy, decay(kind, 4))
    for share in shares:
        before = weight.numpy()
        with tf.GradientTape() as tape:
            loss = 3.0 * tf.reduce_sum(weight)
        optimizer.descend(tape.gradient(loss, optimizer.groups))
        np.testing.assert_allclose(before - weight.numpy(), [share * RATE], rtol=1e-4)
