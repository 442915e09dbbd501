"""What a language model says of the next word: log p of every word, and a draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from tcnlm.layers import counts

Drawn = tuple[tf.Tensor, tf.Tensor]


class NextWord:
    """The distribution of the next word of N sentences.

    of_all: returns log p of every word, nats, [N, V], as the model has it; draw: where
    there is a way to a word without these, draws one by (forbidden, seed), if it
    `can_draw(forbidden)`; forbidden: words that are not to come.
    """

    def __init__(
        self,
        of_all: Callable[[], tf.Tensor],
        draw: Callable[[Sequence[int], tf.Tensor], Drawn] | None = None,
        can_draw: Callable[[Sequence[int]], bool] = lambda forbidden: True,
        forbidden: Sequence[int] = (),
    ):
        self._ways, self._forbidden = (of_all, draw, can_draw), forbidden

    def without(self, forbidden: Sequence[int]) -> NextWord:
        """Return the same with some words forbidden."""
        return NextWord(*self._ways, forbidden)

    def log_probs(self) -> tf.Tensor:
        """Return log p [N, V], minus infinity at forbidden words, else the model's."""
        return forbid(self._ways[0](), self._forbidden)

    def draw(self, seed: tf.Tensor) -> Drawn:
        """Return a word [N] drawn from the allowed ones, and its log p [N], nats."""
        _, draw, can_draw = self._ways
        if draw is not None and can_draw(self._forbidden):
            return draw(self._forbidden, seed)
        log_probs = self.log_probs()
        return chosen(log_probs, categorical(log_probs, seed))


def forbid(log_probs: tf.Tensor, forbidden: Sequence[int]) -> tf.Tensor:
    """Return log p [N, W] with minus infinity at these words."""
    if not len(forbidden):
        return log_probs
    never = np.isin(np.arange(log_probs.shape[-1]), forbidden)
    # Added, which is faster here than tf.where.
    return log_probs + np.where(never, -np.inf, 0).astype(log_probs.dtype.name)


def categorical(scores: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw an index a row from softmax(scores): [N, W] -> [N] int32.

    First a block of some sqrt(W) entries by its sum, then one of them: the sums over
    all W would cost more. tf.random.stateless_categorical draws by how many threads
    there are.
    """
    size = math.isqrt(scores.shape[-1] - 1) + 1
    weights = tf.exp(scores - tf.reduce_max(scores, axis=-1, keepdims=True))
    weights = tf.pad(weights, [[0, 0], [0, -weights.shape[-1] % size]])
    blocks = tf.reshape(weights, [-1, weights.shape[-1] // size, size])
    of_block, of_entry = tf.unstack(tf.random.experimental.stateless_split(seed, 2))
    # Of 64 bits, or rare entries would be lost in the sum.
    sums = tf.cast(tf.reduce_sum(blocks, axis=-1), tf.float64)
    block = counts.categorical(sums, of_block)
    inside = tf.cast(tf.gather(blocks, block, batch_dims=1), tf.float64)
    return block * size + counts.categorical(inside, of_entry)


def chosen(log_probs: tf.Tensor, words: tf.Tensor) -> Drawn:
    """Return the words [N] with their log p [N]."""
    return words, tf.gather(log_probs, words, batch_dims=1)
