"""The recurrence of eq. 13 to 15 over a whole sequence, with a gradient of its own.

TensorFlow's gradient of a loop makes and adds up every weight's gradient at each step;
here a weight's gradient is one large product after the loop.

Shapes: gates [T, 4, B, H], topic_factors t Ub [B, 4F], Ua [4, F, H], Uc [H, 4F].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from tcnlm.layers.compiled import compilable
from tcnlm.layers.lstm import GATES, update

ACTIVATIONS = {"tanh": tf.tanh, "sigmoid": tf.sigmoid}


def tanh_slope(value: tf.Tensor) -> tf.Tensor:
    """Return the slope of tanh where it is `value`."""
    return 1.0 - value * value


def sigmoid_slope(value: tf.Tensor) -> tf.Tensor:
    """Return the slope of the sigmoid where it is `value`."""
    return value * (1.0 - value)


# Slopes of the activations, from what they return.
_SLOPES = {"tanh": tanh_slope, "sigmoid": sigmoid_slope}


class _Trace(NamedTuple):
    """What the forward pass leaves for the backward pass, each [T, ...]."""

    h: tf.Tensor  # [T, B, H]
    c: tf.Tensor  # [T, B, H]
    activated: tf.Tensor  # [T, 4, B, H]: i, f, o and the candidate
    reduced: tf.Tensor  # [T, B, 4F]: h Uc


def by_gate(factors: tf.Tensor) -> tf.Tensor:
    """Return [N, 4F] as [4, N, F]."""
    split = tf.reshape(factors, [-1, GATES, factors.shape[-1] // GATES])
    return tf.transpose(split, [1, 0, 2])


def activate(gates: tf.Tensor, candidate: str) -> tf.Tensor:
    """Return the activations [4, B, H] of pre-activations [4, B, H]."""
    return tf.concat([tf.sigmoid(gates[:3]), ACTIVATIONS[candidate](gates[3:])], axis=0)


def recurrence(
    gates: tf.Tensor,
    topic_factors: tf.Tensor,
    Ua: tf.Tensor,
    Uc: tf.Tensor,
    state: tuple[tf.Tensor, tf.Tensor],
    candidate: str,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return all outputs [T, B, H] and the last c [B, H].

    gates is the input side with the bias, state (h, c) the start, [B, H] each.
    """

    @tf.custom_gradient
    def run(gates, topic_factors, Ua, Uc, h, c):
        trace = _forward(gates, topic_factors, Ua, Uc, h, c, candidate)

        def gradient(d_outputs, d_c):
            ends = (d_outputs, d_c)
            return _backward(trace, ends, topic_factors, Ua, Uc, h, c, candidate)

        return (trace.h, trace.c[-1]), gradient

    return run(gates, topic_factors, Ua, Uc, *state)


@compilable
def _forward(gates, topic_factors, Ua, Uc, h, c, candidate) -> _Trace:
    def body(m, h, c, arrays):
        reduced = h @ Uc
        recurrent = by_gate(reduced * topic_factors) @ Ua
        activated = activate(gates[m] + recurrent, candidate)
        _, (h, c) = update(tf.unstack(activated, GATES), c)
        values = _Trace(h, c, activated, reduced)
        return m + 1, h, c, write(arrays, m, values)

    steps = tf.shape(gates)[0]
    arrays = _Trace(*(tf.TensorArray(h.dtype, steps) for _ in _Trace._fields))
    arrays = loop(steps, body, (0, h, c, arrays))[-1]
    return _Trace(*(array.stack() for array in arrays))


@compilable
def _backward(trace, ends, topic_factors, Ua, Uc, h, c, candidate) -> tuple[Any, ...]:
    """Return the gradients of gates, topic_factors, Ua, Uc, h and c."""
    (d_outputs, d_c), steps = ends, tf.shape(trace.h)[0]
    before_c = tf.concat([c[None], trace.c[:-1]], axis=0)
    before_h = tf.concat([h[None], trace.h[:-1]], axis=0)

    def body(n, d_h, d_c, arrays):
        m = steps - 1 - n
        d_gates, d_c = _step_gradient(
            trace.activated[m], trace.c[m], before_c[m], d_outputs[m] + d_h, d_c,
            candidate,
        )  # fmt: skip
        d_weighted = _side_by_side(tf.matmul(d_gates, Ua, transpose_b=True))
        d_h = tf.matmul(d_weighted * topic_factors, Uc, transpose_b=True)
        return n + 1, d_h, d_c, write(arrays, m, (d_gates, d_weighted))

    arrays = tuple(tf.TensorArray(h.dtype, steps) for _ in range(2))
    start = (0, tf.zeros_like(h), d_c, arrays)
    _, d_h, d_c, arrays = loop(steps, body, start)
    d_gates, d_weighted = (array.stack() for array in arrays)
    weighted = by_gate(_rows(trace.reduced * topic_factors))
    d_Ua = tf.matmul(weighted, _gates_first(d_gates), transpose_a=True)
    d_reduced = _rows(d_weighted * topic_factors)
    d_Uc = tf.matmul(_rows(before_h), d_reduced, transpose_a=True)
    d_topic_factors = tf.reduce_sum(d_weighted * trace.reduced, axis=0)
    return d_gates, d_topic_factors, d_Ua, d_Uc, d_h, d_c


def _step_gradient(activated, c, before, d_h, d_c, candidate):
    """Return the gradients of one step's pre-activations [4, B, H] and former c."""
    i, f, o, new = tf.unstack(activated, GATES)
    squashed = tf.tanh(c)
    d_c += d_h * o * tanh_slope(squashed)
    d_gates = [
        d_c * new * sigmoid_slope(i),
        d_c * before * sigmoid_slope(f),
        d_h * squashed * sigmoid_slope(o),
        d_c * i * _SLOPES[candidate](new),
    ]
    return tf.stack(d_gates), d_c * f


def loop(steps: tf.Tensor, body: Any, start: Any) -> Any:
    """Return what is left of `start`, a counter ahead, after so many steps."""
    # Without `maximum_iterations`, a second condition under which XLA counts no steps.
    return tf.while_loop(lambda m, *_: m < steps, body, start)


def write(arrays: Any, m: tf.Tensor, values: Any) -> Any:
    """Write a step's values, one into each array."""
    written = (array.write(m, value) for array, value in zip(arrays, values))
    return type(arrays)(*written) if isinstance(arrays, _Trace) else tuple(written)


def _side_by_side(by_gates: tf.Tensor) -> tf.Tensor:
    """Return [4, N, F] as [N, 4F]."""
    rows = tf.transpose(by_gates, [1, 0, 2])
    return tf.reshape(rows, [-1, GATES * by_gates.shape[-1]])


def _rows(by_step: tf.Tensor) -> tf.Tensor:
    """Return [T, B, N] as [T B, N]."""
    return tf.reshape(by_step, [-1, by_step.shape[-1]])


def _gates_first(by_step: tf.Tensor) -> tf.Tensor:
    """Return [T, 4, B, H] as [4, T B, H]."""
    return tf.reshape(
        tf.transpose(by_step, [1, 0, 2, 3]), [GATES, -1, by_step.shape[-1]]
    )
