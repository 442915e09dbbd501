"""Draws of counts: tables of Chinese restaurants, and splits by weights.

Counts are small integers: each is drawn customer by customer, all of them at once, so
memory goes with their sum. Draws depend on a stateless seed [2] alone.
"""

from __future__ import annotations

import tensorflow as tf

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
    """Return one of K for each row of weights [N, K], as they say: int32 [N].

    Weights need no sum of 1. Where none is positive, all of K are equally likely.
    """
    some = tf.reduce_max(weights, axis=-1, keepdims=True) > 0
    ends = tf.cumsum(tf.where(some, weights, tf.ones_like(weights)), axis=-1)
    total = ends[:, -1:]
    draws = tf.random.stateless_uniform(tf.shape(total), seed, dtype=weights.dtype)
    # A product rounded up to the total would fall behind the last of K.
    points = tf.minimum(draws * total, tf.math.nextafter(total, tf.zeros_like(total)))
    return tf.math.count_nonzero(ends <= points, axis=-1, dtype=tf.int32)


def split(counts: tf.Tensor, weights: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Split counts [N] among K by multinomials of weights [N, K]: int32 [N, K].

    Weights are those of `categorical`: counts without any are split evenly.
    """
    owners = owners_of(counts)
    chosen = categorical(tf.gather(weights, owners), seed)
    entries = tf.stack([owners, chosen], axis=1)
    return tf.scatter_nd(entries, tf.ones_like(owners), tf.shape(weights))
