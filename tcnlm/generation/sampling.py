"""Which words may come next, and drawing one of them: plain functions of log p [B, V].

Apart from `decoding.py`, so that the SavedModel can sample without tensorflow_addons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

MAX_LENGTH = 40  # words of a sentence, unless asked otherwise; Lau et al. 2017


def forbid(log_probs: tf.Tensor, words: Sequence[int]) -> tf.Tensor:
    """Return log p [B, V] with minus infinity at `words` and the rest as it was."""
    forbidden = np.isin(np.arange(log_probs.shape[-1]), words)
    return tf.where(forbidden, -np.inf, log_probs)


def step_seed(seed: tf.Tensor, first: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
    """Return the seed [2] of one step of the decoding that an int64 seed stands for.

    first: the number of the first of the rows that are decoded at once.
    """
    seeds = tf.stack([seed, tf.cast(first, tf.int64)])
    return tf.random.experimental.stateless_fold_in(seeds, step)


def draw(
    log_probs: tf.Tensor,
    seed: tf.Tensor,
    temperature: float | tf.Tensor = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> tf.Tensor:
    """Draw a word id a row from softmax(log p / temperature): [B, V] -> [B] int32.

    `top_k` keeps the k most probable words; of these, `top_p` the fewest whose
    probability together is at least p (Holtzman et al. 2020). Equal words are kept by
    rank, so `top_k=1` is the argmax. The same `seed` [2] draws the same words.
    """
    # The maximum goes first, or a small temperature would take every score to -inf.
    best = tf.reduce_max(log_probs, axis=-1, keepdims=True)
    scores = (log_probs - best) / temperature
    if top_k is None and top_p >= 1:
        return _categorical(scores, seed)
    size = scores.shape[-1]
    scores, words = tf.math.top_k(scores, min(top_k or size, size))
    more_probable = tf.cumsum(tf.nn.softmax(scores), axis=-1, exclusive=True)
    scores = tf.where(more_probable < top_p, scores, -np.inf)
    return tf.gather(words, _categorical(scores, seed), batch_dims=1)


def _categorical(scores: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_categorical(scores, 1, seed, tf.int32)[:, 0]
