"""Keras's LSTM with a gradient of its own for whole sequences: see `recurrence`.

Keras multiplies inputs and adds up weights' gradients step by step; here either is one
large product. Gates [T, B, 4H] in Keras's order: i, f, candidate, o.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tcnlm.layers.compiled import compilable
from tcnlm.layers.recurrence import loop, sigmoid_slope, tanh_slope, write


class LSTM(tf.keras.layers.LSTM):
    """The same layer by the same name, under which weights are saved, in less time.

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
        gates = tf.tensordot(steps, cell.kernel, 1) + cell.bias
        state = initial_state or self.get_initial_state(inputs)
        outputs, c = _recurrence(
            gates, tf.convert_to_tensor(cell.recurrent_kernel), *state
        )
        sequences = tf.transpose(outputs, [1, 0, 2])
        return (sequences, outputs[-1], c) if self.return_state else sequences


@tf.custom_gradient
def _recurrence(gates: tf.Tensor, U: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> Any:
    """Return all outputs [T, B, H] and the last c [B, H]."""
    trace = _forward(gates, U, h, c)

    def gradient(d_outputs: tf.Tensor, d_c: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return _backward(trace, d_outputs, d_c, U, h, c)

    outputs, memories, _ = trace
    return (outputs, memories[-1]), gradient


@compilable
def _forward(gates, U, h, c):
    """Return h, c [T, B, H] and the activations [T, B, 4H] of every step."""

    def body(m, h, c, arrays):
        i, f, new, o = tf.split(gates[m] + h @ U, 4, axis=1)
        i, f, new, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(new), tf.sigmoid(o)
        c = f * c + i * new
        h = o * tf.tanh(c)
        values = (h, c, tf.concat([i, f, new, o], axis=1))
        return m + 1, h, c, write(arrays, m, values)

    steps = tf.shape(gates)[0]
    arrays = tuple(tf.TensorArray(h.dtype, steps) for _ in range(3))
    return [a.stack() for a in loop(steps, body, (0, h, c, arrays))[-1]]


@compilable
def _backward(trace, d_outputs, d_c, U, h, c):
    """Return the gradients of gates, U, h and c."""
    outputs, memories, activated = trace
    steps = tf.shape(outputs)[0]
    before_c = tf.concat([c[None], memories[:-1]], axis=0)
    before_h = tf.concat([h[None], outputs[:-1]], axis=0)

    def body(n, d_h, d_c, arrays):
        m = steps - 1 - n
        i, f, new, o = tf.split(activated[m], 4, axis=1)
        d_h, squashed = d_h + d_outputs[m], tf.tanh(memories[m])
        d_c += d_h * o * tanh_slope(squashed)
        d_gates = [
            d_c * new * sigmoid_slope(i),
            d_c * before_c[m] * sigmoid_slope(f),
            d_c * i * tanh_slope(new),
            d_h * squashed * sigmoid_slope(o),
        ]
        d_gates = tf.concat(d_gates, axis=1)
        d_h = tf.matmul(d_gates, U, transpose_b=True)
        return n + 1, d_h, d_c * f, write(arrays, m, (d_gates,))

    arrays = (tf.TensorArray(h.dtype, steps),)
    start = (0, tf.zeros_like(h), d_c, arrays)
    _, d_h, d_c, (array,) = loop(steps, body, start)
    d_gates = array.stack()
    return d_gates, tf.tensordot(before_h, d_gates, [[0, 1], [0, 1]]), d_h, d_c
