"""Distributions of the models' latent variables: divergences and means, in nats.

Every function returns one figure a row, to be averaged by the caller.
"""

from __future__ import annotations

import math

import tensorflow as tf


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
