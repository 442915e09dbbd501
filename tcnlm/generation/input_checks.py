"""Inputs of the SavedModel, refused by name in the graph where they make no sense.

TensorFlow raises InvalidArgumentError with these messages.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

TOLERANCE = 0.01  # of the sum of a topic mixture


def one_context_each(sentences: tf.Tensor, contexts: tf.Tensor) -> tf.Tensor:
    """Return the contexts [N] of sentences [N]."""
    same = tf.size(sentences) == tf.size(contexts)
    return _if(same, contexts, "contexts: give as many as sentences, one for each")


def positive(temperature: tf.Tensor) -> tf.Tensor:
    """Return a temperature that scores can be divided by."""
    above = temperature >= np.finfo("float32").tiny
    good = above & (temperature <= np.finfo("float32").max)
    return _if(good, temperature, "temperature: must be a finite number above 0")


def mixtures(topics: tf.Tensor) -> tf.Tensor:
    """Return topics [N, K], rows on the simplex."""
    number = topics.shape[1]
    # By their count, since TensorFlow takes a width that its graph knows as given.
    shares = tf.math.count_nonzero(topics >= 0, dtype=tf.int32)
    sums = tf.reduce_sum(topics, axis=1)
    good = shares == number * tf.shape(topics)[0]
    good &= tf.reduce_all(abs(sums - 1) <= TOLERANCE)
    message = f"topics: every row must be {number} shares from 0 on that sum to 1"
    return _if(good, topics, message)


def counted(number: tf.Tensor, name: str = "number") -> tf.Tensor:
    """Return how many are asked for."""
    return _if(number >= 1, number, f"{name}: must be 1 or more")


def _if(condition: tf.Tensor, value: tf.Tensor, message: str) -> tf.Tensor:
    with tf.control_dependencies([tf.debugging.Assert(condition, [message])]):
        return tf.identity(value)
