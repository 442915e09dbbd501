"""Distributions of latent variables: draws, means, divergences in nats.

Those of Gaussians and Dirichlets are one figure a row, the Weibull's elementwise.
"""

from __future__ import annotations

import math

import tensorflow as tf

EULER = 0.5772156649015329
SMALLEST_TAIL = 1e-6  # of a uniform draw: at 0 the gradient by k would be 0 log 0


def gaussian_kl(
    mean: tf.Tensor, log_variance: tf.Tensor, prior_variance: float = 1.0
) -> tf.Tensor:
    """Return KL(N(mean, variance) || N(0, prior_variance)), [B] of diagonal [B, K]."""
    ratio = (tf.exp(log_variance) + tf.square(mean)) / prior_variance
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
    """Return Weibull(k, scale) draws of some from U(0, 1); k below .03 may overflow."""
    u = tf.clip_by_value(uniform, SMALLEST_TAIL, 1.0 - SMALLEST_TAIL)
    return scale * tf.exp(tf.math.log(-tf.math.log1p(-u)) / k)


def weibull_mean(k: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    """Return E x = scale Gamma(1 + 1/k) of x ~ Weibull(k, scale)."""
    return scale * tf.exp(tf.math.lgamma(1.0 + 1.0 / k))


def weibull_gamma_kl(k: tf.Tensor, scale: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Return KL(Weibull(k, scale) || Gamma(shape, 1)) of every element, all positive.

    E ln x = ln scale - EULER / k and the entropy of a Weibull give it in closed form
    (Zhang et al. 2018, WHAI).
    """
    log_scale = tf.math.log(scale)
    entropy = EULER * (1.0 - 1.0 / k) + log_scale - tf.math.log(k) + 1.0
    log_mean = log_scale - EULER / k
    log_density = (shape - 1.0) * log_mean - weibull_mean(k, scale)
    return -entropy - (log_density - tf.math.lgamma(shape))


SMALLEST = 1e-20  # concentration: the first customer opens a table even at 0


def owners_of(counts: tf.Tensor) -> tf.Tensor:
    """Return 0 counts[0] times, 1 counts[1] times and so on: whose each customer is."""
    customers = tf.range(tf.reduce_sum(counts))
    # tf.repeat would need memory for N times the largest count.
    return tf.searchsorted(tf.cumsum(counts), customers, side="right")


def crt(counts: tf.Tensor, concentration: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Return the tables that `counts` customers open, of any shape, int32.

    Customer i = 0, 1, ... opens one with probability r / (r + i), r the concentration.
    """
    flat = tf.reshape(counts, [-1])
    owners = owners_of(flat)
    places = tf.range(tf.size(owners)) - tf.gather(
        tf.cumsum(flat, exclusive=True), owners
    )
    r = tf.maximum(tf.gather(tf.reshape(concentration, [-1]), owners), SMALLEST)
    draws = tf.random.stateless_uniform(tf.shape(owners), seed, dtype=r.dtype)
    opens = tf.cast(draws < r / (r + tf.cast(places, r.dtype)), tf.int32)
    tables = tf.math.unsorted_segment_sum(opens, owners, tf.size(flat))
    return tf.reshape(tables, tf.shape(counts))


def categorical(weights: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Return one of K for each row of weights [N, K], int32 [N]; if all are 0, any."""
    some = tf.reduce_max(weights, axis=-1, keepdims=True) > 0
    ends = tf.cumsum(tf.where(some, weights, tf.ones_like(weights)), axis=-1)
    total = ends[:, -1:]
    draws = tf.random.stateless_uniform(tf.shape(total), seed, dtype=weights.dtype)
    # A product rounded up to the total would fall behind the last of K.
    points = tf.minimum(draws * total, tf.math.nextafter(total, tf.zeros_like(total)))
    return tf.math.count_nonzero(ends <= points, axis=-1, dtype=tf.int32)


def split(counts: tf.Tensor, weights: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Split counts [N] by multinomials of weights [N, K], evenly if 0: int32 [N, K]."""
    owners = owners_of(counts)
    chosen = categorical(tf.gather(weights, owners), seed)
    entries = tf.stack([owners, chosen], axis=1)
    return tf.scatter_nd(entries, tf.ones_like(owners), tf.shape(weights))
