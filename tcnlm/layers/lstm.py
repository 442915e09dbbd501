"""LSTMs: their state, their recurrence, their layers; gates in the order i, f, o, c.

TensorFlow's gradient of a loop adds up every weight's gradient step by step; here it is
one large product after the loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tcnlm.layers.mixed_precision import matmul, operand, tensordot
from tcnlm.layers.tf_function import compilable


# What checkpoints follow but Keras does not take for weights, as it does a tf.Module's.
class CarriedState(tf.__internal__.tracking.AutoTrackable):
    """A nest of states [B, ...], zero at first; checkpoints keep it, weights do not.

    like: such a nest, for its shapes.
    """

    def __init__(self, like: Any):
        super().__init__()
        self.nest = tf.nest.map_structure(_variable, like)

    def start(self, batch: dict[str, tf.Tensor]) -> Any:
        """Return the states a batch's rows start from, zero where "fresh" [B] is 1.

        "row" [B], if it has one, says which rows of the global batch it holds.
        """
        fresh = batch["fresh"]
        first, rows = batch["row"][0] if "row" in batch else 0, tf.shape(fresh)[0]

        def state(variable: tf.Variable) -> tf.Tensor:
            kept = variable[first : first + rows]
            others = kept.shape.rank - 1
            missing = [[0, rows - tf.shape(kept)[0]], *[[0, 0]] * others]
            kept = tf.pad(kept, missing)
            anew = tf.reshape(fresh > 0, [-1, *[1] * others])
            return tf.where(anew, tf.zeros_like(kept), kept)

        return tf.nest.map_structure(state, self.nest)

    def keep(self, states: Any) -> None:
        """Keep the states after a batch for the next one."""
        pairs = zip(tf.nest.flatten(self.nest), tf.nest.flatten(states))
        for variable, state in pairs:
            variable.assign(state)

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """Leave the states, whatever is done inside, as they were before."""
        before = [tf.identity(variable) for variable in tf.nest.flatten(self.nest)]
        try:
            yield
        finally:
            self.keep(before)


def _variable(state: tf.Tensor) -> tf.Variable:
    sizes = state.shape[1:].as_list()
    return tf.Variable(tf.zeros([0, *sizes]), trainable=False, shape=[None, *sizes])


GATES = 4
ACTIVATIONS = {"tanh": tf.tanh, "sigmoid": tf.sigmoid}


def slope(activation: str, y: tf.Tensor) -> tf.Tensor:
    """Return the slope of an activation, from what it returned."""
    return 1.0 - y * y if activation == "tanh" else y * (1.0 - y)


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


def composed(x: tf.Tensor, c: tf.Tensor, b: tf.Tensor, a: tf.Tensor) -> tf.Tensor:
    """Return a (b t . c x) of eq. 13 for every gate: [4, B, H], or [T, 4, B, H].

    x [B, E], or [T, B, E]; c [E, 4F]; b [B, 4F], which is b t already; a [4, F, H].
    """
    weighted = tensordot(x, c) * b  # eq. 14, 15
    gates = matmul(_by_gate(weighted), a)
    if x.shape.rank == 2:
        return gates
    by_step = tf.reshape(gates, [GATES, -1, tf.shape(x)[1], a.shape[2]])
    return tf.transpose(by_step, [1, 0, 2, 3])


def _by_gate(weighted: tf.Tensor) -> tf.Tensor:
    """Return [..., 4F] as [4, N, F]."""
    split = tf.reshape(weighted, [-1, GATES, weighted.shape[-1] // GATES])
    return tf.transpose(split, [1, 0, 2])


def recurrence(
    gates: tf.Tensor,
    state: Sequence[tf.Tensor],
    U: tf.Tensor,
    factors: Sequence[tf.Tensor] = (),
    candidate: str = "tanh",
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return all outputs [B, T, H] and the state [h, c] after the last step.

    gates: the input side with the bias; state (h, c): the start, [B, H] each.

    A plain LSTM has no factors: U [H, 4H] and gates [T, B, 4H], both in Keras's order.
    Else they are Ub t [B, 4F] and Ua [4, F, H], U is the Uc [H, 4F] of eq. 12, and
    gates are [T, 4, B, H].
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
        into = reduced = matmul(h, U)
        if factors:
            into = matmul(_by_gate(reduced * factors[0]), factors[1])
        activated = activate(_apart(gates[m] + into, factors), candidate)
        h, (_, c) = update(activated, c)
        trace = h, c, _together(activated, factors), reduced
        return (h, c), trace if factors else trace[:3]

    return _loop(tf.shape(gates)[0], body, (h, c), 4 if factors else 3)[1]


@compilable
def _backward(trace, ends, h, c, U, factors, candidate) -> list[tf.Tensor]:
    """Return the gradients of gates, h, c, U and the factors.

    By hand: a tape would do products over that `_forward` has done.
    """
    (outputs, memories, activations, *reduced), (d_outputs, d_c) = trace, ends
    before_h = tf.concat([h[None], outputs[:-1]], axis=0)
    before_c = tf.concat([c[None], memories[:-1]], axis=0)

    def body(m, d_h, d_c):
        i, f, o, new = _apart(activations[m], factors)
        squashed, d_h = tf.tanh(memories[m]), d_outputs[m] + d_h
        d_c += d_h * o * slope("tanh", squashed)
        d_into = [
            d_c * new * slope("sigmoid", i),
            d_c * before_c[m] * slope("sigmoid", f),
            d_h * squashed * slope("sigmoid", o),
            d_c * i * slope(candidate, new),
        ]
        kept = [_together(d_into, factors)]
        if factors:
            by_gate = matmul(kept[0], factors[1], transpose_b=True)
            kept.append(tf.reshape(tf.transpose(by_gate, [1, 0, 2]), [-1, U.shape[1]]))
        d_reduced = kept[1] * factors[0] if factors else kept[0]
        return (matmul(d_reduced, U, transpose_b=True), d_c * f), kept

    start, steps = (tf.zeros_like(h), d_c), tf.shape(outputs)[0]
    states, kept = _loop(steps, body, start, 2 if factors else 1, backward=True)
    d_gates, *d_weighted = kept
    if not factors:
        return [d_gates, *states, _over_rows(before_h, d_gates)]
    (reduced,), (d_weighted,) = reduced, d_weighted
    d_U = _over_rows(before_h, d_weighted * factors[0])
    d_b = tf.reduce_sum(d_weighted * reduced, axis=0)
    first = tf.transpose(d_gates, [1, 0, 2, 3])
    first = tf.reshape(first, [GATES, -1, first.shape[-1]])
    d_a = matmul(_by_gate(reduced * factors[0]), first, transpose_a=True)
    return [d_gates, *states, d_U, d_b, d_a]


def _over_rows(x: tf.Tensor, d: tf.Tensor) -> tf.Tensor:
    """Return a weight's gradient from what it was multiplied with and the product's."""
    rows = (tf.reshape(each, [-1, each.shape[-1]]) for each in (x, d))
    return matmul(*rows, transpose_a=True)


def _apart(gates: tf.Tensor, factors: Any) -> Sequence[tf.Tensor]:
    """Return a step's gates in the paper's order; see `recurrence`."""
    return tf.unstack(gates) if factors else keras_order(tf.split(gates, GATES, 1))


def _together(parts: Sequence[tf.Tensor], factors: Any) -> tf.Tensor:
    """Undo `_apart`."""
    return tf.stack(parts) if factors else tf.concat(keras_order(parts), axis=1)


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


def keras_order(gates: Sequence[Any]) -> list[Any]:
    """Return the gates i, f, o, c as Keras has them, i, f, c, o, or the other way."""
    i, f, third, fourth = gates
    return [i, f, fourth, third]


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


def zero_states(layers: Sequence[Any], rows: Any) -> list[list[tf.Tensor]]:
    """Return the zero state of every layer's cell."""
    start = {"batch_size": rows, "dtype": tf.float32}
    states = [layer.cell.get_initial_state(**start) for layer in layers]
    return [state if isinstance(state, list) else [state] for state in states]


def forget_bias(shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
    """Return biases [..., 4H] to start at: one at the forget gate, else zero."""
    gate = tf.one_hot(1, GATES, dtype=dtype or tf.float32)
    return tf.broadcast_to(tf.repeat(gate, shape[-1] // GATES), shape)


def apart(start: str) -> Callable[..., tf.Tensor]:
    """Return an initializer that draws each [...] of a weight [N, ...] by itself."""

    def draw(shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
        each = [tf.keras.initializers.get(start) for _ in range(shape[0])]
        return tf.stack([drawn(shape[1:], dtype) for drawn in each])

    return draw


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
        self.cell.build(tf.TensorShape([None, *input_shape[2:]]))
        self.built = True

    def call(
        self, inputs: tf.Tensor, context: Any = None, initial_state: Any = None
    ) -> Any:
        state = initial_state or self.cell.get_initial_state(inputs)
        beside = () if context is None else (context,)
        outputs, state = self.cell.sequence(inputs, state, *beside)
        outputs = outputs if self.return_sequences else outputs[:, -1]
        return [outputs, *state] if self.return_state else outputs


class FastLSTM(tf.keras.layers.LSTM):
    """Keras's LSTM in less time.

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
        state = initial_state or self.get_initial_state(inputs)
        gates = tensordot(steps, cell.kernel) + cell.bias
        outputs, state = recurrence(gates, state, cell.recurrent_kernel)
        return (outputs, *state) if self.return_state else outputs


FastLSTM.__name__ = "LSTM"  # by which files of weights hold those of a list

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
        options = {"return_sequences": True, "dtype": self.dtype, "name": "lstm"}
        self.lstm = FastLSTM(units, **options)

    @property
    def cell(self) -> tf.keras.layers.Layer:
        """The LSTM's cell, whose state is all that goes from word to word."""
        return self.lstm.cell

    def build(self, input_shape: Any) -> None:
        (inputs, theta), units = input_shape, self.units
        self.lstm.build(inputs)
        self.W = self.add_weight("W", [int(theta[-1]), COUPLED * units])
        self.U = self.add_weight("U", [units, 2 * units])
        self.Uh = self.add_weight("Uh", [units, units])
        start = tf.constant_initializer([b for b in START for _ in range(units)])
        self.bias = self.add_weight("bias", [COUPLED * units], initializer=start)
        self.built = True

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        words, theta = inputs
        return self._couple(self.lstm(words), self.from_topics(theta)[:, None])

    def from_topics(self, theta: tf.Tensor) -> tf.Tensor:
        """Return W theta + b [B, 3H], the same for every word."""
        return matmul(theta, self.W) + self.bias

    def step(self, inputs: tf.Tensor, state: Any, topics: tf.Tensor) -> tuple:
        """Return a [B, H] of a word [B, E] and the state; topics: by `from_topics`."""
        h, state = self.cell(inputs, state)
        return self._couple(h, topics), state

    def _couple(self, h: tf.Tensor, topics: tf.Tensor) -> tf.Tensor:
        """Return a of h [..., H] (eq. 4)."""
        gates, candidate = tf.split(topics, [2 * self.units, self.units], axis=-1)
        z, r = tf.split(tf.sigmoid(gates + tensordot(h, self.U)), 2, axis=-1)
        candidate = tf.tanh(candidate + tensordot(r * h, self.Uh))
        return h + z * (candidate - h)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}
