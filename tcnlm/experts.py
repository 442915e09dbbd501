"""LSTMs side by side, experts as a dimension, and the mixture of what they predict.

The mixture-of-experts language model of Wang et al. (2018), equations 7 and 8.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tcnlm.adaptive_softmax import AdaptiveSoftmax
from tcnlm.recurrence import GATES

TINY = 1.2e-38  # floor of a proportion, keeps the logarithm finite


@tf.keras.utils.register_keras_serializable("tcnlm")
class ExpertLSTMCell(tf.keras.layers.Layer):
    """One step of K LSTMs, each with weights of its own (eq. 8, for the LSTM).

    inputs [B, E], which all experts share, or [B, K, E], one for each; states
    (h [B, K, H], c [B, K, H]) -> h [B, K, H], (h, c).

    Weights: `kernel` [K, E, 4H], `recurrent_kernel` [K, H, 4H], `bias` [K, 4H], gates
    in the paper's order i, f, o, c. Every expert starts as a Keras LSTM does, its
    forget bias at one.
    """

    def __init__(self, units: int, num_experts: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.num_experts = num_experts
        self.state_size = [tf.TensorShape([num_experts, units])] * 2
        self.output_size = tf.TensorShape([num_experts, units])

    def build(self, input_shape: Any) -> None:
        """Make the weights for inputs of shape [B, E] or [B, K, E]."""
        self.row = list(input_shape[1:])
        self.product = "nke,keg->nkg" if len(self.row) > 1 else "ne,keg->nkg"
        self.kernel = self._add_kernel("kernel", self.row[-1], "glorot_uniform")
        self.recurrent_kernel = self._add_kernel(
            "recurrent_kernel", self.units, "orthogonal"
        )
        self.bias = self.add_weight(
            "bias", [self.num_experts, GATES * self.units], initializer=self._start_bias
        )
        self.built = True

    def _add_kernel(self, name: str, size: int, initializer: str) -> tf.Variable:
        def draw(shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
            starts = [tf.keras.initializers.get(initializer) for _ in range(shape[0])]
            return tf.stack([start(shape[1:], dtype) for start in starts])

        shape = [self.num_experts, size, GATES * self.units]
        return self.add_weight(name, shape, initializer=draw)

    def _start_bias(self, shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
        ones = tf.one_hot(1, GATES, dtype=dtype or self.dtype)
        return tf.tile(tf.repeat(ones, self.units)[None], [shape[0], 1])

    def input_gates(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the input side with the bias [..., K, 4H] of [..., E] or [..., K, E].

        It does not depend on the recurrence: a sequence has it computed at once.
        """
        # Rows first: the gradient of an einsum over "..." would broadcast the kernel to
        # every one of them.
        rows = tf.reshape(inputs, [-1, *self.row])
        gates = tf.einsum(self.product, rows, self.kernel) + self.bias
        before = tf.shape(inputs)[: -len(self.row)]
        return tf.reshape(gates, tf.concat([before, self.bias.shape], axis=0))

    def recur(self, gates: tf.Tensor, states: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Make one step from the input side [B, K, 4H]."""
        h, c = states
        gates += tf.einsum("bkh,khg->bkg", h, self.recurrent_kernel)
        i, f, o, new = tf.split(gates, GATES, axis=-1)
        c = tf.sigmoid(i) * tf.tanh(new) + tf.sigmoid(f) * c
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, [h, c]

    def call(self, inputs: tf.Tensor, states: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Make one step; see the class."""
        return self.recur(self.input_gates(inputs), states)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> list[tf.Tensor]:
        """Return the zero state (h, c), each [B, K, H]."""
        if inputs is not None:
            batch_size, dtype = tf.shape(inputs)[0], inputs.dtype
        shape = [batch_size, self.num_experts, self.units]
        return [tf.zeros(shape, dtype or self.compute_dtype)] * 2

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        own = {"units": self.units, "num_experts": self.num_experts}
        return {**super().get_config(), **own}


@tf.keras.utils.register_keras_serializable("tcnlm")
class ExpertLSTM(tf.keras.layers.Layer):
    """A sequence through `ExpertLSTMCell`: [B, T, E] or [B, T, K, E] -> [B, T, K, H].

    One loop over the steps for all experts, from the zero state; the whole input side
    is computed before it. Padding belongs at the right, so there is no mask.
    """

    def __init__(self, units: int, num_experts: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.cell = ExpertLSTMCell(units, num_experts, name="cell", dtype=self.dtype)

    def build(self, input_shape: Any) -> None:
        """Make the cell's weights."""
        self.cell.build(tf.TensorShape([None, *input_shape[2:]]))
        self.built = True

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Run the whole sequence; see the class."""
        gates = self.cell.input_gates(inputs)
        start = self.cell.get_initial_state(inputs)
        _, outputs, _ = tf.keras.backend.rnn(self.cell.recur, gates, start)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**self.cell.get_config(), **super().get_config()}


class MixtureSoftmax(AdaptiveSoftmax):
    """p(w) = sum_k t_k softmax(V h_k)_w (eq. 7), V an adaptive softmax that all share.

    What it sees is a pair: hidden states [N, K, H] and proportions t [N, K]. The sum
    is over probabilities and exact: log p(w) = logsumexp_k (log t_k + log p_k(w)).
    """

    def build(self, input_shape: Any) -> None:
        """Make the weights for hidden states of shape [N, K, H]."""
        super().build(input_shape[0])

    def call(
        self, inputs: tuple[tf.Tensor, tf.Tensor], targets: tf.Tensor
    ) -> tf.Tensor:
        """Return log p(target), nats: ([N, K, H], [N, K]), targets [N] -> [N]."""
        hidden, topics = inputs
        each = tf.repeat(targets, hidden.shape[1])
        log_probs = super().call(_rows(hidden), each)
        return _mix(log_probs[:, None], topics)[:, 0]

    def log_probs(self, inputs: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """Return log p of every word, nats: ([N, K, H], [N, K]) -> [N, V]."""
        hidden, topics = inputs
        return _mix(super().log_probs(_rows(hidden)), topics)


def _rows(hidden: tf.Tensor) -> tf.Tensor:
    """Return [N, K, H] as [N K, H]."""
    return tf.reshape(hidden, [-1, hidden.shape[-1]])


def _mix(log_probs: tf.Tensor, topics: tf.Tensor) -> tf.Tensor:
    """Return log sum_k t_k p_k [N, W] of log p [N K, W] and t [N, K]."""
    each = tf.reshape(log_probs, [-1, topics.shape[-1], log_probs.shape[-1]])
    log_topics = tf.math.log(tf.maximum(topics, TINY))
    return tf.reduce_logsumexp(log_topics[:, :, None] + each, axis=1)
