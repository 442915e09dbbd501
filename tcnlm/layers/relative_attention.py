"""Attention by distance to the words before, and Transformer-XL's layer of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.layers.mixed_precision import MixedDense, einsum

DEVIATION = 0.02  # of the weights' start, N(0, .02^2); released code
EPSILON = 1e-5  # of the layer norms

Drop = Callable[[tf.Tensor, float], tf.Tensor]


def sinusoids(number: Any, size: int) -> tf.Tensor:
    """Return R [number, size] of the distances number - 1 .. 0, from far to near.

    Sines, then cosines, as released; frequencies 10000^(-2i / size).
    """
    frequencies = 10000.0 ** (-np.arange(0, size, 2) / size)
    distances = tf.cast(tf.range(number - 1, -1, -1), tf.float32)
    angles = distances[:, None] * frequencies.astype(np.float32)
    return tf.concat([tf.sin(angles), tf.cos(angles)], axis=1)[:, :size]


def shifted(scores: tf.Tensor) -> tf.Tensor:
    """Return scores [B, H, L, K] by key of those by distance K - 1 .. 0.

    Rows are cut anew, each one place later (appendix B); later keys mean nothing.
    """
    shape = tf.shape(scores)
    rows, heads, queries, keys = tf.unstack(shape)
    padded = tf.pad(scores, [[0, 0], [0, 0], [0, 0], [1, 0]])
    cut = tf.reshape(padded, [rows, heads, keys + 1, queries])
    return tf.reshape(cut[:, :, 1:], shape)


def visible(queries: Any, filled: tf.Tensor, keys: Any, reach: int) -> tf.Tensor:
    """Return which keys each word sees, [B, 1, L, K]: itself and `reach` before it.

    The first K - L keys are the memory's; filled [B, 1]: how many of its last are real.
    """
    memory = keys - queries
    key = tf.range(keys)
    distance = memory + tf.range(queries)[:, None] - key
    near = (distance >= 0) & (distance <= reach)
    real = tf.cast(memory - key, filled.dtype) <= filled
    return near & real[:, None, None]


def remembered(
    state: list[tf.Tensor], inputs: tf.Tensor, counts: tf.Tensor
) -> list[tf.Tensor]:
    """Return memory [B, M, d] and filled [B, 1] after inputs [B, L, d] to a layer.

    counts [B]: how many of the inputs are words; the rest, at the right, is padding.
    """
    memory, filled = state
    size = memory.shape[1]
    places = counts[:, None] + tf.range(size)
    memory = tf.gather(tf.concat([memory, inputs], axis=1), places, batch_dims=1)
    return [memory, tf.minimum(filled + tf.cast(counts, filled.dtype)[:, None], size)]


class TransformerXLLayer(tf.keras.layers.Layer):
    """A layer of Transformer-XL (Dai et al. 2019, section 3.3), by H heads.

    inputs h [B, L, d], memory [B, M, d] and filled [B, 1] (see `visible`), R [M + L, d]
    (see `sinusoids`) -> [B, L, d]. With h~ = [SG(memory); h], of every head

        q_i = Wq h_i,  k_j = Wk h~_j,  v_j = Wv h~_j,  r_n = Wr R_n         all [d_h]
        A_ij = (q_i . k_j + q_i . r_(i-j) + u . k_j + v . r_(i-j)) / sqrt(d_h)
        a_i = sum_j softmax_j(A_ij) v_j                j: word i and `reach` before it
        o = LayerNorm(h + Wo a),  h' = LayerNorm(o + W2 relu(W1 o + b1) + b2)

    SG: no gradient goes there. d_h = d / H, rounded down. dropout: the share that
    `drop` takes of Wo a, relu(..) and W2 (..).
    """

    def __init__(
        self, heads: int, units: int, reach: int, dropout: float = 0.0, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.heads, self.units, self.reach = heads, units, reach
        self.dropout = dropout

    def build(self, input_shape: Any) -> None:
        size = int(input_shape[-1])
        self.head_size = max(1, size // self.heads)
        inner = self.heads * self.head_size
        for name in ("Wq", "Wk", "Wv", "Wr"):
            setattr(self, name, self._dense(name, size, inner))
        self.Wo = self._dense("Wo", inner, size)
        self.W1 = self._dense("W1", size, self.units, use_bias=True, activation="relu")
        self.W2 = self._dense("W2", self.units, size, use_bias=True)
        for name in ("u", "v"):
            shape = [self.heads, self.head_size]
            setattr(self, name, self.add_weight(name, shape, initializer=_start()))
        options = {"epsilon": EPSILON, "dtype": self.dtype}
        kind = tf.keras.layers.LayerNormalization
        self.norms = [kind(name=f"norm_{i}", **options) for i in (1, 2)]
        for norm in self.norms:
            norm.build([None, None, size])
        self.built = True

    def _dense(self, name: str, rows: int, size: int, **options: Any) -> Any:
        options = {"use_bias": False, **options, "name": name, "dtype": self.dtype}
        layer = MixedDense(size, kernel_initializer=_start(), **options)
        layer.build([None, rows])
        return layer

    def call(
        self,
        inputs: tf.Tensor,
        memory: tf.Tensor,
        filled: tf.Tensor,
        R: tf.Tensor,
        drop: Drop = lambda values, rate: values,
    ) -> tf.Tensor:
        known, rate = tf.concat([tf.stop_gradient(memory), inputs], 1), self.dropout
        sources = self.Wq(inputs), self.Wk(known), self.Wv(known)
        q, k, v = map(self._by_head, sources)
        r = tf.reshape(self.Wr(R), [-1, self.heads, self.head_size])
        content = einsum("blhn,bkhn->bhlk", q + self.u, k)
        position = einsum("blhn,khn->bhlk", q + self.v, r)
        A = (content + shifted(position)) / self.head_size**0.5
        queries, keys = tf.shape(inputs)[1], tf.shape(known)[1]
        seen = visible(queries, filled, keys, self.reach)
        shares = tf.nn.softmax(tf.where(seen, A, -np.inf))
        a = einsum("bhlk,bkhn->blhn", shares, v)
        a = tf.reshape(a, [tf.shape(inputs)[0], queries, self.heads * self.head_size])
        outputs = self.norms[0](inputs + drop(self.Wo(a), rate))
        inner = drop(self.W1(outputs), rate)
        return self.norms[1](outputs + drop(self.W2(inner), rate))

    def _by_head(self, values: tf.Tensor) -> tf.Tensor:
        rows, length = tf.unstack(tf.shape(values)[:2])
        return tf.reshape(values, [rows, length, self.heads, self.head_size])


def _start() -> tf.keras.initializers.Initializer:
    return tf.keras.initializers.RandomNormal(stddev=DEVIATION)
