"""The Weibull: its draws, its mean and its divergence from a gamma distribution."""

import math

import numpy as np
import pytest
import tensorflow as tf
from helpers import assert_close, both_precisions
from scipy import integrate, stats

from tcnlm.layers.distributions import weibull, weibull_gamma_kl, weibull_mean

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
