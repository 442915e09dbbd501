"""Distributions of the models' latent variables: draws, means, divergences in nats.

Divergences of Gaussians and Dirichlets are one figure a row, to be averaged by the
caller; the Weibull's functions are elementwise.
"""

from __future__ import annotations

import math

import tensorflow as tf

EULER = 0.5772156649015329
SMALLEST_TAIL = 1e-6  # of a uniform draw: at 0 the gradient by k would be 0 log 0


def gaussian_kl(
    mean: tf.Tensor,
    log_variance: tf.Tensor,
    prior_mean: float = 0.0,
    prior_variance: float = 1.0,
) -> tf.Tensor:
    """Return KL(N(mean, variance) || N(prior_mean, prior_variance)), [B].

    mean and log_variance [B, K], diagonal. t is a function of theta, so the divergence
    of the bound (eq. 17) is taken between the Gaussians on theta, in closed form.
    """
    ratio = (tf.exp(log_variance) + tf.square(mean - prior_mean)) / prior_variance
    terms = ratio - 1.0 - log_variance + math.log(prior_variance)
    return 0.5 * tf.reduce_sum(terms, axis=-1)


def dirichlet_log_mean(weights: tf.Tensor) -> tf.Tensor:
    """Return E log x of x ~ Dir(weights), weights [..., K] -> [..., K]."""
    total = tf.reduce_sum(weights, axis=-1, keepdims=True)
    return tf.math.digamma(weights) - tf.math.digamma(total)


def dirichlet_kl(weights: tf.Tensor, prior: float) -> tf.Tensor:
    """Return KL(Dir(weights) || Dir(prior, ..., prior)), weights [B, K] -> [B]."""
    even = tf.fill(tf.shape(weights), prior)
    gain = tf.reduce_sum((weights - even) * dirichlet_log_mean(weights), axis=-1)
    return tf.math.lbeta(even) - tf.math.lbeta(weights) + gain


def weibull(k: tf.Tensor, scale: tf.Tensor, uniform: tf.Tensor) -> tf.Tensor:
    """Return Weibull(k, scale) draws of draws from U(0, 1), differentiable by k, scale.

    The caller keeps k at .1 or more: beyond that a float32 may overflow (below .03).
    """
    u = tf.clip_by_value(uniform, SMALLEST_TAIL, 1.0 - SMALLEST_TAIL)
    return scale * tf.exp(tf.math.log(-tf.math.log1p(-u)) / k)


def weibull_mean(k: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """Return E x = scale Gamma(1 + 1/k) of x ~ Weibull(k, scale)."""
    return scale * tf.exp(tf.math.lgamma(1.0 + 1.0 / k))


def weibull_gamma_kl(
    k: tf.Tensor, scale: tf.Tensor, shape: tf.Tensor, rate: float = 1.0
) -> tf.Tensor:
    """Return KL(Weibull(k, scale) || Gamma(shape, rate)) of every element.

    E ln x = ln scale - EULER / k and the entropy of a Weibull give it in closed form
    (Zhang et al. 2018, WHAI). k as for `weibull`; scale, shape and rate positive.
    """
    log_scale = tf.math.log(scale)
    entropy = EULER * (1.0 - 1.0 / k) + log_scale - tf.math.log(k) + 1.0
    log_mean = log_scale - EULER / k
    normaliser = tf.math.lgamma(shape) - shape * math.log(rate)
    expected = (shape - 1.0) * log_mean - rate * weibull_mean(k, scale) - normaliser
    return -entropy - expected
