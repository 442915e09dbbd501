"""Draws of counts and of Weibulls against their exact laws, means and divergences.

Tolerances of counts are five standard errors.
"""

import math

import numpy as np
import pytest
import tensorflow as tf
from helpers import assert_close, both_precisions, eager_and_graph
from scipy import integrate, stats

from tcnlm.layers.distributions import (
    categorical,
    crt,
    split,
    weibull,
    weibull_gamma_kl,
    weibull_mean,
)

SEED = tf.constant([20, 20])
DRAWS = 40_000
# counts, concentration, mean, by the sum of r / (r + i)
TABLES = [
    (4, 0.5, 1.676190),
    (5, 0.7, 2.009149),
    (10, 2.0, 4.039755),
    (100, 0.05, 1.254925),
    (100, 5.0, 15.715366),
]


def tables(counts, concentration, draws=DRAWS):
    return crt(tf.fill([draws], counts), tf.fill([draws], concentration), SEED).numpy()


def assert_frequencies(values, probabilities):
    """Hold the shares of 0, 1, ... among values to their probabilities."""
    for value, p in enumerate(probabilities):
        error = np.sqrt(p * (1 - p) / len(values))
        assert abs(np.mean(values == value) - p) <= 5 * error, value


def law_of_tables(counts, r):
    """Return P(0), P(1), ... tables of so many customers, a customer at a time."""
    law = [1.0]
    for i in range(counts):
        opens = r / (r + i)
        stay = [(1 - opens) * p for p in [*law, 0.0]]
        law = [a + opens * b for a, b in zip(stay, [0.0, *law])]
    return law


# --- Tables -------------------------------------------------------------------------


@pytest.mark.parametrize(("counts", "concentration", "mean"), TABLES)
def test_tables_have_their_exact_law(counts, concentration, mean):
    law = law_of_tables(counts, concentration)
    assert np.dot(law, np.arange(counts + 1)) == pytest.approx(mean, abs=1e-6)
    assert_frequencies(tables(counts, concentration), law)


@eager_and_graph
@pytest.mark.parametrize("concentration", [0.0, 1e-30, 1e-3, 1.0, 1e9])
def test_tables_lie_between_one_and_the_counts_or_are_none(rng, wrap, concentration):
    counts = rng.poisson(2, size=[7, 3, 11]).astype("int32")
    drawn = wrap(crt)(tf.constant(counts), tf.fill([7, 3, 11], concentration), SEED)
    assert drawn.dtype == tf.int32
    assert drawn.shape == counts.shape
    assert (drawn >= (counts > 0)).numpy().all()
    assert (drawn <= counts).numpy().all()


def test_every_count_has_a_concentration_of_its_own():
    counts, concentrations = tf.constant([[50, 50], [0, 50]]), [[1e9, 0], [1, 1e9]]
    drawn = crt(counts, tf.constant(concentrations), SEED)
    np.testing.assert_array_equal(drawn, [[50, 1], [0, 50]])


# --- Splits -------------------------------------------------------------------------


@eager_and_graph
def test_split_conserves_every_count_and_spares_weights_of_zero(rng, wrap):
    counts = rng.poisson(3, size=200).astype("int32")
    weights = rng.gamma(0.3, size=[200, 6]).astype("float32") * rng.integers(2, size=6)
    weights[:, 3] = 1e-12
    drawn = wrap(split)(tf.constant(counts), tf.constant(weights), SEED)
    assert drawn.dtype == tf.int32
    np.testing.assert_array_equal(np.sum(drawn, axis=1), counts)
    assert (drawn.numpy() >= 0).all()
    assert not drawn.numpy()[weights == 0].any()


def test_split_has_the_means_and_covariances_of_a_multinomial():
    n, weights = 5, np.array([0.2, 0.0, 3.0, 0.8])
    rows = tf.tile(tf.constant([weights], tf.float32), [DRAWS, 1])
    drawn = split(tf.fill([DRAWS], n), rows, SEED).numpy()
    p = weights / weights.sum()
    covariance = n * (np.diag(p) - np.outer(p, p))
    error = 5 * np.sqrt(np.diag(covariance) / DRAWS)
    assert (abs(drawn.mean(axis=0) - n * p) <= error).all()
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.03)


def test_each_row_is_split_by_its_own_weights():
    drawn = split(
        tf.constant([4, 0, 7, 2]), tf.constant(np.eye(4, 5), tf.float32), SEED
    )
    np.testing.assert_array_equal(drawn, np.diag([4, 0, 7, 2]) @ np.eye(4, 5))


def test_counts_without_any_weight_are_split_evenly():
    drawn = split(tf.constant([DRAWS, 0]), tf.zeros([2, 4]), SEED).numpy()
    error = np.sqrt(DRAWS * 0.25 * 0.75)
    assert (abs(drawn[0] - DRAWS / 4) <= 5 * error).all()
    assert not drawn[1].any()


@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
def test_choice_depends_on_shares_and_not_on_the_scale_of_weights(scale):
    weights = tf.tile(tf.constant([[1.0, 0.0, 2.0, 1.0, 0.0]]), [DRAWS, 1])
    chosen = categorical(scale * weights, SEED).numpy()
    assert_frequencies(chosen, [0.25, 0, 0.5, 0.25, 0])


# --- Seeds and shapes ---------------------------------------------------------------


def test_draws_are_those_of_their_seed():
    counts, weights = tf.fill([50], 9), tf.ones([50, 3])
    for draw, against in ((crt, weights[:, 0]), (split, weights)):
        first = draw(counts, against, SEED).numpy()
        np.testing.assert_array_equal(draw(counts, against, SEED), first)
        assert (draw(counts, against, SEED + 1).numpy() != first).any()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_graphs_take_any_number_of_rows_and_topics(rows):
    integers, reals = tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, None])
    seed = tf.TensorSpec([2], tf.int32)
    traced = tf.function(split, input_signature=[integers, reals, seed])
    drawn = traced(tf.fill([rows], 2), tf.ones([rows, 3]), SEED)
    np.testing.assert_array_equal(np.sum(drawn, axis=1), [2] * rows)
    traced = tf.function(crt, input_signature=[integers, tf.TensorSpec([None]), seed])
    assert traced(tf.ones([rows], tf.int32), tf.ones([rows]), SEED).shape == [rows]


# --- The Weibull ---------------------------------------------------------------------


EXTREMES = [
    (k, scale, shape, uniform)
    for k in (0.1, 1.0, 10.0)
    for scale in (1e-10, 1.0, 1e4)
    for shape in (1e-6, 1.0, 1e3)
    for uniform in (0.0, 0.5, 1.0)
]


def doubles(*values):
    return [tf.constant(value, tf.float64) for value in values]


@pytest.mark.parametrize(("k", "scale"), [(0.7, 0.4), (2.0, 3.0), (9.5, 0.9)])
@pytest.mark.parametrize("shape", [0.05, 1.0, 4.0])
def test_divergence_is_that_of_quadrature(k, scale, shape):
    q, p = stats.weibull_min(k, scale=scale), stats.gamma(shape)

    def over_quantiles(u):
        x = q.ppf(u)
        return q.logpdf(x) - p.logpdf(x)

    expected, _ = integrate.quad(over_quantiles, 0, 1, epsabs=1e-9, limit=500)
    found = weibull_gamma_kl(*doubles(k, scale, shape))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@both_precisions
def test_values_and_gradients_are_finite_at_the_ends(dtype):
    columns = [tf.constant(column, dtype) for column in zip(*EXTREMES)]
    k, scale, shape, uniform = columns
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(columns)
        values = {
            "draw": weibull(k, scale, uniform),
            "mean": weibull_mean(k, scale),
            "divergence": weibull_gamma_kl(k, scale, shape),
        }
    for name, value in values.items():
        assert np.isfinite(value).all(), name
        for gradient in tape.gradient(value, columns):
            assert gradient is None or np.isfinite(gradient).all(), name


@both_precisions
def test_draws_are_the_quantiles_of_the_weibull(dtype):
    uniform = np.array([0.001, 0.2, 0.5, 0.9, 0.9999])
    draws = weibull(tf.constant(1.7, dtype), 0.6, tf.constant(uniform, dtype))
    expected = stats.weibull_min.ppf(uniform, 1.7, scale=0.6)
    np.testing.assert_allclose(draws, expected, rtol=1e-4)


def test_mean_is_the_known_one_and_that_of_the_draws():
    k, scale = doubles(2.0, 1.5)
    assert_close(weibull_mean(k, scale), 1.5 * math.gamma(1.5))
    np.testing.assert_allclose(weibull_mean(k, scale), 1.329340388, atol=1e-9)
    middles = (np.arange(100_000) + 0.5) / 100_000
    draws = weibull(k, scale, tf.constant(middles))
    np.testing.assert_allclose(np.mean(draws), weibull_mean(k, scale), rtol=1e-4)
