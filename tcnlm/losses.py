"""The terms of the variational bound (Wang et al. 2018, eq. 17 and 18).

Every function returns nats, one figure a row, to be averaged by the caller.
"""

from __future__ import annotations

import math

import tensorflow as tf

TINY = 1e-10  # floor of a word's probability, keeps the logarithm finite


def log_likelihood(bow: tf.Tensor, word_probabilities: tf.Tensor) -> tf.Tensor:
    """Return log p(d | beta, t) = sum_w d_w log (beta t)_w, [B] (eq. 5 and 6).

    bow [B, D] counts, word_probabilities [B, D] = beta t.
    """
    return tf.reduce_sum(bow * tf.math.log(word_probabilities + TINY), axis=-1)


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


def topic_angles(topics: tf.Tensor) -> tf.Tensor:
    """Return the angle of every ordered pair of topics [K, K], radians (section 3.1).

    topics [K, D]. The angle of a topic with itself is the constant zero: the arc
    cosine's slope is infinite there.
    """
    unit = tf.math.l2_normalize(topics, axis=-1)
    cosine = tf.clip_by_value(tf.abs(unit @ tf.transpose(unit)), 0.0, 1.0 - 1e-6)
    angles = tf.acos(cosine)
    return tf.linalg.set_diag(angles, tf.zeros_like(angles[0]))


def diversity(topics: tf.Tensor) -> tf.Tensor:
    """Return R = phi - nu, mean less variance of all T^2 angles (section 3.1)."""
    angles = topic_angles(topics)
    return tf.reduce_mean(angles) - tf.math.reduce_variance(angles)


def dirichlet_log_mean(weights: tf.Tensor) -> tf.Tensor:
    """Return E log x of x ~ Dir(weights), weights [..., K] -> [..., K]."""
    total = tf.reduce_sum(weights, axis=-1, keepdims=True)
    return tf.math.digamma(weights) - tf.math.digamma(total)


def dirichlet_kl(weights: tf.Tensor, prior: float) -> tf.Tensor:
    """Return KL(Dir(weights) || Dir(prior, ..., prior)), weights [B, K] -> [B]."""
    even = tf.fill(tf.shape(weights), prior)
    gain = tf.reduce_sum((weights - even) * dirichlet_log_mean(weights), axis=-1)
    return tf.math.lbeta(even) - tf.math.lbeta(weights) + gain
