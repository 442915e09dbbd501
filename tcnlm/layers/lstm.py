"""What LSTM layers share: the zero state, the biases' start, a whole sequence."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tcnlm.layers.mixed_precision import tensordot
from tcnlm.layers.recurrence import GATES, recurrence


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


class OverSequence(tf.keras.layers.Layer):
    """A cell over a whole sequence, for which a subclass names the cell's class.

    inputs [B, T, ...], what else steps hang on, initial_state or None for zeros
    -> outputs [B, T, ...], state after the last step.

    Equal to `tf.keras.layers.RNN(cell)`, whose weights it shares as `.cell`; what does
    not depend on the recurrence the cell's `sequence` computes for all steps at once,
    outside the loop. Padding belongs at the right: it cannot reach an earlier output,
    so there is no mask.
    """

    Cell: type[tf.keras.layers.Layer]

    def __init__(self, *sizes: int, **kwargs: Any):
        layer = {key: kwargs.pop(key) for key in ("name", "dtype") if key in kwargs}
        super().__init__(**layer)
        self.cell = self.Cell(*sizes, name="cell", dtype=self.dtype_policy, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Make the cell's weights for inputs of shape [B, T, ...]."""
        self.cell.build(tf.TensorShape([None, *input_shape[2:]]))
        self.built = True

    def call(
        self, inputs: tf.Tensor, *context: Any, initial_state: Any = None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Run the whole sequence; see the class."""
        state = initial_state or self.cell.get_initial_state(inputs)
        return self.cell.sequence(inputs, state, *context)

    def get_config(self) -> dict[str, Any]:
        """Return the cell's arguments."""
        return {**self.cell.get_config(), **super().get_config()}


class LSTM(tf.keras.layers.LSTM):
    """Keras's LSTM by the same name, under which weights are saved, in less time.

    inputs [B, T, E] -> outputs [B, T, H]; with `return_state` also h and c, [B, H]
    each. Keras's default activations and `return_sequences` are taken for granted.
    """

    def call(
        self,
        inputs: tf.Tensor,
        mask: tf.Tensor | None = None,
        training: bool | None = None,
        initial_state: Any = None,
    ) -> Any:
        """Run the layer, by Keras where there is a mask."""
        if mask is not None:
            return super().call(inputs, mask, training, initial_state)
        cell, steps = self.cell, tf.transpose(inputs, [1, 0, 2])
        gates = tensordot(steps, cell.kernel) + cell.bias
        state = initial_state or self.get_initial_state(inputs)
        outputs, state = recurrence(gates, state, cell.recurrent_kernel)
        return (outputs, *state) if self.return_state else outputs
