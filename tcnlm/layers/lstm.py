"""What all LSTM cells here share: gates, the step, the zero state, the biases' start.

Gates come in the paper's order i, f, o, c: input, forget, output and candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

GATES = 4


def activate(gates: tf.Tensor) -> list[tf.Tensor]:
    """Return i, f, o and the candidate, [..., H] each, of what goes into them.

    gates [..., 4H], side by side.
    """
    i, f, o, new = tf.split(gates, GATES, axis=-1)
    return [tf.sigmoid(i), tf.sigmoid(f), tf.sigmoid(o), tf.tanh(new)]


def remember(activated: Sequence[tf.Tensor], c: tf.Tensor) -> tf.Tensor:
    """Return the memory c' = i * candidate + f * c after a step (eq. 13)."""
    i, f, _, new = activated
    return i * new + f * c


def update(
    activated: Sequence[tf.Tensor], c: tf.Tensor
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return the output h' = o * tanh(c') of a step and its state [h', c'] (eq. 13)."""
    c = remember(activated, c)
    h = activated[2] * tf.tanh(c)
    return h, [h, c]


class ZeroState:
    """A cell whose state (h, c), of the shapes `state_size`, starts at zero."""

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> list[tf.Tensor]:
        """Return the zero state, each [B, ...]."""
        if inputs is not None:
            batch_size, dtype = tf.shape(inputs)[0], inputs.dtype
        dtype = dtype or self.compute_dtype
        sizes = [tf.TensorShape(size).as_list() for size in self.state_size]
        return [tf.zeros([batch_size, *size], dtype) for size in sizes]


@tf.keras.utils.register_keras_serializable("tcnlm")
class ForgetBias(tf.keras.initializers.Initializer):
    """Biases [..., 4H]: `value` at the forget gate, else zero."""

    def __init__(self, value: float = 1.0):
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
        """Return the biases."""
        gate = self.value * tf.one_hot(1, GATES, dtype=dtype or tf.float32)
        return tf.broadcast_to(tf.repeat(gate, shape[-1] // GATES), shape)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's argument."""
        return {"value": self.value}
