"""The LSTM's recurrence over a whole sequence, with a gradient of its own.

TensorFlow's gradient of a loop makes and adds up every weight's gradient at each step;
here a weight's gradient is one large product after the loop.

Gates come in the paper's order i, f, o, c: input, forget, output and candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tcnlm.layers.mixed_precision import matmul, operand
from tcnlm.layers.xla import compilable

GATES = 4
ACTIVATIONS = {"tanh": tf.tanh, "sigmoid": tf.sigmoid}
# Slopes of the activations, from what they return.
_SLOPES = {"tanh": lambda y: 1.0 - y * y, "sigmoid": lambda y: y * (1.0 - y)}

Factors = Sequence[tf.Tensor]  # t Ub [B, 4F] and Ua [4, F, H], or none


def activate(gates: Sequence[tf.Tensor], candidate: str = "tanh") -> list[tf.Tensor]:
    """Return i, f, o and the candidate of what goes into each, four alike in shape."""
    return [*map(tf.sigmoid, gates[:3]), ACTIVATIONS[candidate](gates[3])]


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


def recurrence(
    gates: tf.Tensor,
    state: Sequence[tf.Tensor],
    U: tf.Tensor,
    factors: Factors = (),
    candidate: str = "tanh",
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return all outputs [B, T, H] and the state [h, c] after the last step.

    gates: the input side with the bias; state (h, c): the start, [B, H] each.

    A plain LSTM has no factors: U [H, 4H] and gates [T, B, 4H], both in Keras's order.
    With them U is the Uc [H, 4F] of eq. 12 and gates are [T, 4B, H], gate by gate.
    """

    @tf.custom_gradient
    def run(gates, h, c, U, *factors):
        U, factors = operand(U), [*factors[:1], *map(operand, factors[1:])]
        trace = _forward(gates, h, c, U, factors, candidate)

        def gradient(*ends):
            return _backward(trace, ends, h, c, U, factors, candidate)

        return (trace[0], trace[1][-1]), gradient

    weights = [tf.convert_to_tensor(weight) for weight in (U, *factors)]
    outputs, c = run(gates, *state, *weights)
    return tf.transpose(outputs, [1, 0, 2]), [outputs[-1], c]


@compilable
def _forward(gates, h, c, U, factors, candidate) -> list[tf.Tensor]:
    """Return h, c and activations of every step and, with factors, h Uc [T, B, 4F]."""

    def body(m, h, c):
        reduced = matmul(h, U)
        recurrent = _compose(reduced, *factors) if factors else reduced
        activated = activate(_split(gates[m] + recurrent, factors), candidate)
        _, (h, c) = update(activated, c)
        trace = h, c, _join(activated, factors), reduced
        return (h, c), trace if factors else trace[:3]

    return _loop(tf.shape(gates)[0], body, (h, c), 4 if factors else 3)[1]


@compilable
def _backward(trace, ends, h, c, U, factors, candidate) -> list[tf.Tensor]:
    """Return the gradients of gates, h, c, U and the factors."""
    (outputs, memories, activated, *reduced), (d_outputs, d_c) = trace, ends
    before_h = tf.concat([h[None], outputs[:-1]], axis=0)
    before_c = tf.concat([c[None], memories[:-1]], axis=0)

    def body(m, d_h, d_c):
        parts, d_c = _step_gradient(
            _split(activated[m], factors), memories[m], before_c[m],
            d_outputs[m] + d_h, d_c, candidate,
        )  # fmt: skip
        kept = [_join(parts, factors)]
        if factors:
            kept.append(_d_weighted(parts, factors[1]))
        d_h = matmul(_d_reduced(kept, factors), U, transpose_b=True)
        return (d_h, d_c), kept

    steps, number = tf.shape(outputs)[0], 2 if factors else 1
    start = tf.zeros_like(h), d_c
    states, kept = _loop(steps, body, start, number, backward=True)
    d_reduced = _rows(_d_reduced(kept, factors))
    d_U = matmul(_rows(before_h), d_reduced, transpose_a=True)
    of_factors = _d_factors(*reduced, *kept, factors[0]) if factors else []
    return [kept[0], *states, d_U, *of_factors]


def _step_gradient(activated, c, before, d_h, d_c, candidate):
    """Return the gradients of one step's pre-activations, by gate, and former c."""
    i, f, o, new = activated
    squashed = tf.tanh(c)
    d_c += d_h * o * _SLOPES["tanh"](squashed)
    d_gates = [
        d_c * new * _SLOPES["sigmoid"](i),
        d_c * before * _SLOPES["sigmoid"](f),
        d_h * squashed * _SLOPES["sigmoid"](o),
        d_c * i * _SLOPES[candidate](new),
    ]
    return d_gates, d_c * f


def _loop(steps, body, start, number, backward=False):
    """Return the states after all steps, and `number` arrays of what each step leaves.

    body(m, *states) -> states, values of step m.
    """

    def step(n, states, arrays):
        m = steps - 1 - n if backward else n
        states, values = body(m, *states)
        written = [array.write(m, value) for array, value in zip(arrays, values)]
        return n + 1, states, written

    arrays = [tf.TensorArray(start[0].dtype, steps) for _ in range(number)]
    # Without `maximum_iterations`, a second condition under which XLA counts no steps.
    _, states, arrays = tf.while_loop(lambda n, *_: n < steps, step, (0, start, arrays))
    return states, [array.stack() for array in arrays]


def _split(gates: tf.Tensor, factors: Factors) -> list[tf.Tensor]:
    """Return a step's gates apart, in the paper's order; see `recurrence`."""
    if factors:
        return tf.split(gates, GATES, axis=0)
    return keras_order(tf.split(gates, GATES, axis=1))


def _join(parts: Sequence[tf.Tensor], factors: Factors) -> tf.Tensor:
    """Undo `_split`."""
    return tf.concat(parts, 0) if factors else tf.concat(keras_order(parts), 1)


def _compose(reduced: tf.Tensor, topics: tf.Tensor, Ua: tf.Tensor) -> tf.Tensor:
    """Return the recurrent side of eq. 13, [4B, H], from h Uc [B, 4F]."""
    return tf.reshape(matmul(by_gate(reduced * topics), Ua), [-1, Ua.shape[-1]])


def _d_weighted(parts: Sequence[tf.Tensor], Ua: tf.Tensor) -> tf.Tensor:
    """Return the gradient [B, 4F] of Ub t . Uc h, by gates' [B, H]."""
    by_gates = matmul(tf.stack(parts), Ua, transpose_b=True)
    rows = tf.transpose(by_gates, [1, 0, 2])
    return tf.reshape(rows, [-1, GATES * Ua.shape[1]])


def _d_reduced(kept: Sequence[tf.Tensor], factors: Factors) -> tf.Tensor:
    """Return the gradient of h U, of the gates' and, with factors, `_d_weighted`."""
    return kept[1] * factors[0] if factors else kept[0]


def _d_factors(reduced, d_gates, d_weighted, topics) -> list[tf.Tensor]:
    """Return the gradients of Ub t and Ua."""
    steps, units = tf.shape(reduced)[0], d_gates.shape[-1]
    by_step = tf.reshape(d_gates, [steps, GATES, -1, units])
    gates_first = tf.reshape(tf.transpose(by_step, [1, 0, 2, 3]), [GATES, -1, units])
    d_topics = tf.reduce_sum(d_weighted * reduced, axis=0)
    weighted = by_gate(_rows(reduced * topics))
    return [d_topics, matmul(weighted, gates_first, transpose_a=True)]


def by_gate(factors: tf.Tensor) -> tf.Tensor:
    """Return [N, 4F] as [4, N, F]."""
    split = tf.reshape(factors, [-1, GATES, factors.shape[-1] // GATES])
    return tf.transpose(split, [1, 0, 2])


def keras_order(gates: Sequence[Any]) -> list[Any]:
    """Return the gates i, f, o, c as Keras has them, i, f, c, o, or the other way."""
    i, f, third, fourth = gates
    return [i, f, fourth, third]


def _rows(by_step: tf.Tensor) -> tf.Tensor:
    """Return [T, B, N] as [T B, N]."""
    return tf.reshape(by_step, [-1, by_step.shape[-1]])
