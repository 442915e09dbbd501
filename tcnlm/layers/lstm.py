"""LSTMs: their state, their recurrence over a sequence, and the layers of it.

TensorFlow's gradient of a loop makes and adds up every weight's gradient at each step;
here a weight's gradient is one large product after the loop. Gates come in the paper's
order i, f, o, c: input, forget, output and candidate.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
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
        """Return the states that a batch's rows start from.

        Its "fresh" [B] is above 0 where a row begins anew, at zero; its "row" [B], if
        it has one, says which rows of the global batch it holds.
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

Factors = Sequence[tf.Tensor]  # t Ub [B, 4F] and Ua [4, F, H], or none


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
    d_c += d_h * o * slope("tanh", squashed)
    d_gates = [
        d_c * new * slope("sigmoid", i),
        d_c * before * slope("sigmoid", f),
        d_h * squashed * slope("sigmoid", o),
        d_c * i * slope(candidate, new),
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


@tf.keras.utils.register_keras_serializable("tcnlm")
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
