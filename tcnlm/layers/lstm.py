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
    """A cell over a whole sequence, which a subclass makes.

    inputs [B, T, ...], what else steps hang on, initial_state or None for zeros
    -> outputs [B, T, ...], or without `return_sequences` the last one [B, ...]; with
    `return_state` that and the state after the last step, as Keras's layers have it.

    Equal to `tf.keras.layers.RNN(cell)`, whose weights it shares as `.cell`; what does
    not depend on the recurrence the cell's `sequence` computes for all steps at once,
    outside the loop. Padding belongs at the right: it cannot reach an earlier output,
    so there is no mask.
    """

    cell: tf.keras.layers.Layer

    def __init__(
        self, return_sequences: bool = False, return_state: bool = False, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.return_sequences, self.return_state = return_sequences, return_state

    def build(self, input_shape: Any) -> None:
        """Make the cell's weights for inputs of shape [B, T, ...]."""
        self.cell.build(tf.TensorShape([None, *input_shape[2:]]))
        self.built = True

    def call(
        self, inputs: tf.Tensor, context: Any = None, initial_state: Any = None
    ) -> Any:
        """Run the whole sequence; see the class."""
        state = initial_state or self.cell.get_initial_state(inputs)
        beside = () if context is None else (context,)
        outputs, state = self.cell.sequence(inputs, state, *beside)
        outputs = outputs if self.return_sequences else outputs[:, -1]
        return [outputs, *state] if self.return_state else outputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, those of the cell among them."""
        flags = ("return_sequences", "return_state")
        own = {**super().get_config(), **{name: getattr(self, name) for name in flags}}
        return {**self.cell.get_config(), **own}


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
