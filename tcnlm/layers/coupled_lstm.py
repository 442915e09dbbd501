"""An LSTM layer whose outputs topic weights gate (Guo et al., ICML 2020, eq. 3, 4)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tcnlm.layers.lstm import LSTM
from tcnlm.layers.mixed_precision import matmul, tensordot

COUPLED = 3  # z, r and the candidate
START = (-1.0, 1.0, 0.0)  # of their biases


@tf.keras.utils.register_keras_serializable("tcnlm")
class CoupledLSTM(tf.keras.layers.Layer):
    """An LSTM over words and, at each of them, its output coupled with topic weights.

    inputs [B, T, E], theta [B, K] >= 0 -> a [B, T, H]:

        h_t = LSTM(h_(t-1), x_t)                                  (eq. 3)
        a_t = (1 - z_t) * h_t + z_t * c_t                         (eq. 4)
        z_t = sigmoid(W_z theta + U_z h_t + b_z), r_t likewise
        c_t = tanh(W_h theta + U_h (r_t * h_t) + b_h)

    Eq. 3 goes over h alone: what is carried from word to word knows nothing of theta,
    so the coupling is outside of the loop, all words at once; the layer above reads a.

    Weights: those of `lstm`, Keras's, and, for row vectors, `W` [K, 3H] and `bias`
    [3H], z, r and the candidate side by side, `U` [H, 2H] of z and r and `Uh` [H, H]:
    4 (E + H) H and 3 (K + H) H, as in Table 3, and 7 H biases. The gates start as the
    released code's, b_z at -1 (its z is our 1 - z) and b_r at 1: a begins close to h.

    >>> CoupledLSTM(16)((tf.zeros([2, 7, 8]), tf.ones([2, 4]))).shape
    TensorShape([2, 7, 16])
    """

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.lstm = LSTM(units, return_sequences=True, dtype=self.dtype, name="lstm")

    @property
    def cell(self) -> tf.keras.layers.Layer:
        """The LSTM's cell, whose state is all that goes from word to word."""
        return self.lstm.cell

    def build(self, input_shape: Any) -> None:
        """Make the weights for inputs [B, T, E] and theta [B, K]."""
        inputs, theta = input_shape
        self.lstm.build(inputs)
        units = self.units
        self.W = self.add_weight("W", [int(theta[-1]), COUPLED * units])
        self.U = self.add_weight("U", [units, 2 * units])
        self.Uh = self.add_weight("Uh", [units, units])
        start = tf.constant_initializer([b for b in START for _ in range(units)])
        self.bias = self.add_weight("bias", [COUPLED * units], initializer=start)
        self.built = True

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """Return a; see the class."""
        words, theta = inputs
        return self._couple(self.lstm(words), self.from_topics(theta)[:, None])

    def from_topics(self, theta: tf.Tensor) -> tf.Tensor:
        """Return W theta + b [B, 3H], the same for every word."""
        return matmul(theta, self.W) + self.bias

    def step(
        self, inputs: tf.Tensor, state: Any, topics: tf.Tensor
    ) -> tuple[tf.Tensor, Any]:
        """Return a [B, H] of one word [B, E] and the LSTM's state after it.

        topics: what `from_topics` returned.
        """
        h, state = self.cell(inputs, state)
        return self._couple(h, topics), state

    def _couple(self, h: tf.Tensor, topics: tf.Tensor) -> tf.Tensor:
        """Return a of h [..., H] (eq. 4)."""
        gates, candidate = tf.split(topics, [2 * self.units, self.units], axis=-1)
        z, r = tf.split(tf.sigmoid(gates + tensordot(h, self.U)), 2, axis=-1)
        candidate = tf.tanh(candidate + tensordot(r * h, self.Uh))
        return h + z * (candidate - h)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "units": self.units}
