"""Random draws of a step that know the rows they are for.

Philox (Salmon et al. 2011) numbers by seed, step, name and the row's number in the
global batch: a worker's rows draw what they would have in the whole, and a step that is
taken again draws the same.
"""

from __future__ import annotations

import zlib
from typing import Any

import tensorflow as tf

PHILOX = 1  # TensorFlow's number of the algorithm
BLOCK = 4  # numbers of 32 bits that one count of Philox makes


class Noise:
    """Draws for one step, by rows; outside training there are none.

    seed, step: integers, or tensors; name: of what is drawn for, so that two parts of
    a model differ; row: the number of the first row in the global batch.
    """

    def __init__(
        self, seed: Any, step: Any, name: str, row: Any = 0, training: bool = True
    ):
        self.training, self.row, self.draws = training, tf.cast(row, tf.uint64), 0
        if training:
            seeds = tf.stack([tf.cast(seed, tf.int64), tf.cast(step, tf.int64)])
            self.seed = tf.random.experimental.stateless_fold_in(
                seeds, zlib.crc32(name.encode()) >> 1
            )
            self.key, _ = tf.raw_ops.StatelessRandomGetKeyCounter(seed=self.seed)

    def uniform(self, shape: Any) -> tf.Tensor:
        """Return draws from U[0, 1), float32, of a shape [B, ...]."""
        return self._drawn(tf.raw_ops.StatelessRandomUniformV2, shape)

    def normal(self, shape: Any) -> tf.Tensor:
        """Return draws from N(0, 1), float32, of a shape [B, ...]."""
        return self._drawn(tf.raw_ops.StatelessRandomNormalV2, shape)

    def _drawn(self, draw: Any, shape: Any) -> tf.Tensor:
        shape = tf.convert_to_tensor(shape)
        size = tf.reduce_prod(shape[1:])
        blocks = (size + BLOCK - 1) // BLOCK  # of a row, whose counts are its own
        first = self.row * tf.cast(blocks, tf.uint64)
        counter = tf.stack([first, tf.constant(self.draws, tf.uint64)])
        self.draws += 1
        numbered = {"key": self.key, "counter": counter, "alg": PHILOX}
        drawn = draw(shape=[shape[0], BLOCK * blocks], dtype=tf.float32, **numbered)
        return tf.reshape(drawn[:, :size], shape)

    def integer(self, below: Any) -> tf.Tensor:
        """Return one number for all rows, int32, 1 <= number < below (2 at least)."""
        self.draws += 1
        seed = tf.random.experimental.stateless_fold_in(self.seed, self.draws)
        return tf.random.stateless_uniform(
            [], seed, 1, tf.maximum(below, 2), dtype=tf.int32
        )

    def dropout(
        self, values: tf.Tensor, rate: float, shared: bool = False
    ) -> tf.Tensor:
        """Drop a share of [B, ...], or of what all rows share; scale up the rest."""
        if not self.training or not rate:
            return values
        kept = values[None] if shared else values
        row, self.row = self.row, tf.zeros_like(self.row) if shared else self.row
        kept = tf.reshape(self.uniform(tf.shape(kept)) >= rate, tf.shape(values))
        self.row = row
        return tf.where(kept, values / (1 - rate), tf.zeros_like(values))

    def gaussian(self, mean: tf.Tensor, log_variance: tf.Tensor) -> tf.Tensor:
        """Return draws from N(mean, exp(log_variance)), or mean outside training."""
        if not self.training:
            return mean
        drawn = tf.cast(self.normal(tf.shape(mean)), mean.dtype)
        return mean + tf.exp(0.5 * log_variance) * drawn
