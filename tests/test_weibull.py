"""The Weibull: its draws, its mean and its divergence from a gamma distribution."""

import math

import numpy as np
import pytest
import tensorflow as tf
from helpers import assert_close, assert_input_gradients, both_precisions, every_way
from scipy import integrate, stats

from tcnlm.layers.distributions import weibull, weibull_gamma_kl, weibull_mean

# k, scale, shape, rate; the last column was found by quadrature to nine digits.
DIVERGENCES = [
    (1.0, 1.0, 1.0, 1.0, 0.0),
    (2.0, 1.5, 1.0, 1.0, 0.328414628),
    (0.5, 0.8, 0.3, 1.0, 0.838707614),
    (3.0, 2.0, 2.5, 2.0, 0.393274692),
    (10.0, 0.2, 0.05, 1.0, 3.967876757),
]
EXTREMES = [
    (k, scale, shape, uniform)
    for k in (0.1, 1.0, 10.0)
    for scale in (1e-10, 1.0, 1e4)
    for shape in (1e-6, 1.0, 1e3)
    for uniform in (0.0, 0.5, 1.0)
]


def doubles(*values):
    return [tf.constant(value, tf.float64) for value in values]


@pytest.mark.parametrize(("k", "scale", "shape", "rate", "expected"), DIVERGENCES)
def test_divergence_has_the_known_values(k, scale, shape, rate, expected):
    found = weibull_gamma_kl(*doubles(k, scale, shape), rate)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("k", "scale"), [(0.7, 0.4), (2.0, 3.0), (9.5, 0.9)])
@pytest.mark.parametrize(("shape", "rate"), [(0.05, 1.0), (1.0, 0.5), (4.0, 2.5)])
def test_divergence_is_that_of_quadrature(k, scale, shape, rate):
    q, p = stats.weibull_min(k, scale=scale), stats.gamma(shape, scale=1 / rate)

    def over_quantiles(u):
        x = q.ppf(u)
        return q.logpdf(x) - p.logpdf(x)

    expected, _ = integrate.quad(over_quantiles, 0, 1, epsabs=1e-9, limit=500)
    found = weibull_gamma_kl(*doubles(k, scale, shape), rate)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@every_way
def test_divergence_is_one_figure_an_element(rng, wrap, dtype):
    values = rng.uniform(0.2, 4, size=[3, 2, 5]).astype(dtype)
    found = wrap(weibull_gamma_kl)(*(tf.constant(each) for each in values))
    one_by_one = [
        [float(weibull_gamma_kl(*doubles(*values[:, i, j]))) for j in range(5)]
        for i in range(2)
    ]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, one_by_one, rtol=1e-5, atol=1e-5)


def test_gradients_are_those_of_finite_differences(rng):
    values = [rng.uniform(0.5, 4, size=[4, 3]) for _ in range(3)]
    assert_input_gradients(weibull_gamma_kl, values)
    assert_input_gradients(weibull_mean, values[:2])
    uniform = tf.constant(rng.uniform(size=[4, 3]))
    assert_input_gradients(lambda k, scale: weibull(k, scale, uniform), values[:2])


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
