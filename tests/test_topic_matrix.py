"""Chains of topics on the simplex: their law, their guards, their checkpoints."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import eager_and_graph

from tcnlm.layers.gamma_belief import TopicMatrix

SEED = tf.constant([3, 4])


def run(matrix, counts, steps, scale=1.0, first=0):
    """Take steps for the same counts."""
    update = tf.function(matrix.update)
    counts = tf.constant(counts, matrix.dtype)
    scale = tf.constant(scale, matrix.dtype)
    for n in range(first, first + steps):
        update(counts, scale, tf.constant([17, n]))
    return matrix.value.numpy()


def assert_on_the_simplex(columns):
    assert np.isfinite(columns).all()
    assert (columns >= 0).all()
    np.testing.assert_allclose(columns.sum(axis=0, dtype=float), 1, atol=1e-6)


@pytest.mark.parametrize("rho", [1.0, 4.0])
def test_fixed_counts_and_small_steps_give_the_dirichlet(rho):
    """Columns are chains; a step of .02 makes variances 1 % too large."""
    weights, chains = np.array([30.0, 15.0, 10.0, 5.0]), 20_000
    matrix = TopicMatrix(4, chains, prior=1.0, step=0.02, decay=0.0)
    counts = np.repeat((weights - 1)[:, None] / rho, chains, axis=1)
    phi = run(matrix, counts, 300, scale=rho)
    total, mean = weights.sum(), weights / weights.sum()
    variance = mean * (1 - mean) / (total + 1)
    np.testing.assert_allclose(mean, [0.5, 0.25, 0.1667, 0.0833], atol=1e-4)
    np.testing.assert_allclose(
        variance, [0.00410, 0.00307, 0.00228, 0.00125], atol=1e-5
    )
    assert (abs(phi.mean(axis=1) - mean) <= 5 * np.sqrt(variance / chains)).all()
    np.testing.assert_allclose(phi.var(axis=1), variance, rtol=0.06)
    covariance = np.cov(phi[:2])[0, 1]
    assert covariance == pytest.approx(-mean[0] * mean[1] / (total + 1), rel=0.06)


def test_steps_and_masses_follow_the_released_schedules(rng):
    matrix, masses = TopicMatrix(6, 1), 0.0
    batches = rng.integers(1000, 9000, size=[4, 6, 1]).astype("float32")
    for i, batch in enumerate(batches, 1):
        weight = [1.0, 0.536, 0.372, 0.287][i - 1]
        masses = (1 - weight) * masses + weight * 2 * batch.sum()
        phi, eps = matrix.value.numpy(), [1.0, 0.968, 0.938, 0.911][i - 1]
        matrix.update(tf.constant(batch), 2.0, SEED)
        np.testing.assert_allclose(matrix.mass, [masses], rtol=2e-3)
        drift = 2 * batch + 0.1 - (2 * batch + 0.1).sum() * phi
        expected = phi + eps / masses * drift
        np.testing.assert_allclose(matrix.value, expected, atol=0.02)


def test_a_step_is_that_of_equation_17_of_its_noise(rng):
    """Of few counts, so that noise is large, sums far from 1 and entries below 0."""
    counts = rng.poisson(1.0, size=[6, 4]) + 1.0
    matrix = TopicMatrix(6, 4, prior=0.5, dtype="float64")
    start = matrix.value.numpy()
    noise = tf.random.stateless_normal([6, 4], SEED, dtype=tf.float64).numpy()
    matrix.update(tf.constant(counts), 1.0, SEED)
    clipped = 0
    for k in range(4):
        phi, mass, weights = start[:, k], counts[:, k].sum(), counts[:, k] + 0.5
        moved = [
            p + (w - weights.sum() * p) / mass + np.sqrt(2 * p / mass) * noise[v, k]
            for v, (p, w) in enumerate(zip(phi, weights))
        ]
        moved = [m - (sum(moved) - 1) * p for m, p in zip(moved, phi)]
        clipped += sum(m < 0 for m in moved)
        kept = np.array([max(m, 0) for m in moved])
        np.testing.assert_allclose(matrix.value[:, k], kept / kept.sum(), rtol=1e-9)
    assert clipped > 0


@eager_and_graph
def test_columns_stay_on_the_simplex_whatever_the_counts(rng, wrap):
    matrix = TopicMatrix(2000, 9)
    update = wrap(matrix.update)
    assert_on_the_simplex(matrix.value.numpy())
    for n in range(12):
        counts = rng.poisson(0.2, size=[2000, 9]) * rng.integers(2, size=9)
        counts = counts * 10.0 ** rng.integers(-3, 9, size=9)
        update(tf.constant(counts, tf.float32), 10.0 ** (n % 4), tf.constant([n, 1]))
        assert_on_the_simplex(matrix.value.numpy())


def test_topic_that_loses_its_counts_does_not_fall_to_noise(rng):
    """Its mass falls to next to nothing; the prior's keeps the noise small."""
    matrix = TopicMatrix(50, 40, prior=1.0)
    run(matrix, rng.poisson(0.2, size=[50, 40]), 1)
    before = run(matrix, np.zeros([50, 40]), 400, first=1)
    assert matrix.mass.numpy().max() < 0.1
    after = run(matrix, np.zeros([50, 40]), 1, first=401)
    assert_on_the_simplex(after)
    assert abs(after - before).sum(axis=0).max() / 2 < 0.3
    assert (after == 0).mean() < 0.15
