"""An LSTM that other sentences reach at its output, past its memory.

The late fusion of Wang and Cho (2016), with attention.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tcnlm.recurrence import GATES

Sentences = tuple[tf.Tensor, tf.Tensor]


@tf.keras.utils.register_keras_serializable("tcnlm")
class LateFusionLSTMCell(tf.keras.layers.Layer):
    """One step of an LSTM whose output is fused with attended sentences z_1 .. z_n.

    i, f, o, g = sigmoid, sigmoid, sigmoid, tanh of x W + h U + b
    c' = f * c + i * g                                     as in any LSTM
    a_j = softmax_j(v . tanh(z_j Wa + h Ua))               attention
    q = sum_j a_j z_j Wp
    r = sigmoid(q Wr + c' Ur + br)
    h' = o * tanh(c' + r * q)                              late fusion

    inputs [B, E], states (h [B, H], c [B, H]), sentences (z [B, n, Z], real [B, n],
    true for those that there are) -> h' [B, H], (h', c'). Without a sentence q is zero,
    and the cell an LSTM.

    Weights: `kernel` W [E, 4H], `recurrent_kernel` U [H, 4H], `bias` b [4H], gates in
    the order above; `Wa` [Z, A], `Ua` [H, A], `v` [A], `Wp` [Z, H], `Wr` [H, H],
    `Ur` [H, H], `br` [H]. The LSTM starts as Keras's does, its forget bias at one.
    """

    def __init__(
        self, units: int, sentence_size: int, attention_units: int, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.units = units
        self.sentence_size = sentence_size
        self.attention_units = attention_units
        self.state_size = [units, units]
        self.output_size = units

    def build(self, input_shape: Any) -> None:
        """Make the weights for inputs of shape [B, E]."""
        H, Z, A = self.units, self.sentence_size, self.attention_units
        self.kernel = self.add_weight("kernel", [input_shape[-1], GATES * H])
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", [H, GATES * H], initializer="orthogonal"
        )
        self.bias = self.add_weight("bias", [GATES * H], initializer=self._start_bias)
        self.Wa = self.add_weight("Wa", [Z, A])
        self.Ua = self.add_weight("Ua", [H, A])
        self.v = self.add_weight("v", [A])
        self.Wp = self.add_weight("Wp", [Z, H])
        self.Wr = self.add_weight("Wr", [H, H])
        self.Ur = self.add_weight("Ur", [H, H])
        self.br = self.add_weight("br", [H], initializer="zeros")
        self.built = True

    def _start_bias(self, shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
        return tf.repeat(tf.one_hot(1, GATES, dtype=dtype), self.units)

    def input_gates(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the input side with the bias [..., 4H] of inputs [..., E].

        It does not depend on the recurrence: a sequence has it computed at once.
        """
        return inputs @ self.kernel + self.bias

    def read(self, sentences: Sentences) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return z Wa [B, n, A], z Wp [B, n, H] and real, the same at every step."""
        vectors, real = sentences
        return vectors @ self.Wa, vectors @ self.Wp, real

    def recur(
        self, gates: tf.Tensor, states: Any, keys: Any, values: Any, real: Any
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Make one step from the input side [B, 4H] and what `read` returned."""
        h, c = states
        i, f, o, new = tf.split(gates + h @ self.recurrent_kernel, GATES, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
        attended = self._attend(h, keys, values, real)
        r = tf.sigmoid(attended @ self.Wr + c @ self.Ur + self.br)
        h = tf.sigmoid(o) * tf.tanh(c + r * attended)
        return h, [h, c]

    def _attend(
        self, h: tf.Tensor, keys: tf.Tensor, values: tf.Tensor, real: tf.Tensor
    ) -> tf.Tensor:
        """Return q [B, H]."""
        scores = tf.linalg.matvec(tf.tanh(keys + (h @ self.Ua)[:, None]), self.v)
        weights = tf.nn.softmax(tf.where(real, scores, scores.dtype.min))
        weights = tf.where(real, weights, 0.0)
        return tf.linalg.matvec(values, weights, transpose_a=True)

    def call(
        self, inputs: tf.Tensor, states: Any, sentences: Sentences
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Make one step; see the class."""
        return self.recur(self.input_gates(inputs), states, *self.read(sentences))

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> list[tf.Tensor]:
        """Return the zero state (h, c), each [B, H]."""
        if inputs is not None:
            batch_size, dtype = tf.shape(inputs)[0], inputs.dtype
        return [tf.zeros([batch_size, self.units], dtype or self.compute_dtype)] * 2

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = ("units", "sentence_size", "attention_units")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


@tf.keras.utils.register_keras_serializable("tcnlm")
class LateFusionLSTM(tf.keras.layers.Layer):
    """A sequence through `LateFusionLSTMCell`: [B, T, E], sentences -> [B, T, H].

    From the zero state; what does not depend on the recurrence is computed before the
    loop. Padding belongs at the right, so there is no mask over the steps.
    """

    def __init__(
        self, units: int, sentence_size: int, attention_units: int, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.cell = LateFusionLSTMCell(
            units, sentence_size, attention_units, name="cell", dtype=self.dtype
        )

    def build(self, input_shape: Any) -> None:
        """Make the cell's weights for inputs of shape [B, T, E]."""
        self.cell.build(tf.TensorShape([None, input_shape[-1]]))
        self.built = True

    def call(self, inputs: tf.Tensor, sentences: Sentences) -> tf.Tensor:
        """Run the whole sequence; see the class."""
        cell, read = self.cell, self.cell.read(sentences)
        _, outputs, _ = tf.keras.backend.rnn(
            lambda gates, states: cell.recur(gates, states, *read),
            cell.input_gates(inputs),
            cell.get_initial_state(inputs),
        )
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**self.cell.get_config(), **super().get_config()}
