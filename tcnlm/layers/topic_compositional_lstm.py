"""The topic compositional LSTM of Wang et al. (2018), equations 12 to 15.

Every weight matrix of an LSTM becomes a function of the topic proportions t, for each
of the four gates, in the paper's order i, f, o, c:

    W(t) = Wa diag(Wb t) Wc        U(t) = Ua diag(Ub t) Uc            (eq. 12)
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tcnlm.layers import lstm
from tcnlm.layers.lstm import GATES, OverSequence, ZeroState, activate, update
from tcnlm.layers.mixed_precision import matmul

RECURRENT_GAIN = 0.5  # of U(t) as it starts
TOPIC_STDDEV = 0.5  # of Wb and Ub, around one


by_gate = lstm.apart("orthogonal")  # of weights [4, rows, columns]


def side_by_side(shape: Any, dtype: Any = None, **_: Any) -> tf.Tensor:
    """Draw a [rows, 4 columns] weight likewise."""
    gates = by_gate([GATES, shape[0], shape[1] // GATES], dtype)
    return tf.concat(tf.unstack(gates), axis=1)


@tf.keras.utils.register_keras_serializable("tcnlm")
class TopicCompositionalLSTMCell(ZeroState, tf.keras.layers.Layer):
    """One step of the topic compositional LSTM (Wang et al. 2018, eq. 13 to 15).

    For each gate * in i, f, o, c, with x the embedding of the previous word,

        pre* = W*a (W*b t . W*c x) + U*a (U*b t . U*c h) + bias*

    inputs [B, E], states (h [B, H], c [B, H]), constants (t [B, K],), t on the simplex
    -> h [B, H], (h, c).

    Weights, written for row vectors (x Wc instead of the paper's Wc x):
    `Wc` [E, 4F], `Wb` [K, 4F], `Wa` [4, F, H], `Uc` [H, 4F], `Ub` [K, 4F],
    `Ua` [4, F, H], `bias` [4H]: 4 F (E + 2K + 3H) parameters as in the paper, and 4H.

    The paper leaves open what these arguments set: the candidate's activation (eq. 13
    prints a sigmoid, under which the cell could never decrease; the LSTM that the
    factorisation comes from uses tanh), the biases ("omitted for simplicity") and the
    number of factors; and the start. Here Wb and Ub start close to one, so that W(t)
    starts as the product Wa Wc whatever t is, and U(t) at half the orthogonal product
    Ua Uc (which is each gate's scale in an orthogonal [H, 4H]).

    >>> rnn = tf.keras.layers.RNN(TopicCompositionalLSTMCell(16, num_topics=4))
    >>> rnn(tf.zeros([2, 7, 8]), constants=[tf.fill([2, 4], 1 / 4)]).shape
    TensorShape([2, 16])
    """

    def __init__(
        self,
        units: int,
        num_topics: int,
        num_factors: int | None = None,
        candidate_activation: str = "tanh",
        use_bias: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if candidate_activation not in lstm.ACTIVATIONS:
            raise ValueError(
                f"candidate_activation={candidate_activation}: must be one of "
                f"{', '.join(lstm.ACTIVATIONS)}"
            )
        self.units = units
        self.num_topics = num_topics
        self.num_factors = num_factors or units
        self.candidate_activation = candidate_activation
        self.use_bias = use_bias
        self.state_size = [units, units]
        self.output_size = units

    def build(self, input_shape: Any) -> None:
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        self.Wa, self.Wb, self.Wc = self._add_factors("W", int(shape[-1]))
        self.Ua, self.Ub, self.Uc = self._add_factors("U", self.units)
        self.Uc.assign(RECURRENT_GAIN * self.Uc)
        self.bias = None
        if self.use_bias:
            shape = [GATES * self.units]
            self.bias = self.add_weight("bias", shape, initializer=lstm.forget_bias)
        self.built = True

    def _add_factors(self, letter: str, size: int) -> tuple[tf.Variable, ...]:
        F, width = self.num_factors, GATES * self.num_factors
        around_one = tf.keras.initializers.RandomNormal(1.0, TOPIC_STDDEV)
        topics = [self.num_topics, width]
        return (
            self.add_weight(f"{letter}a", [GATES, F, self.units], initializer=by_gate),
            self.add_weight(f"{letter}b", topics, initializer=around_one),
            self.add_weight(f"{letter}c", [size, width], initializer=side_by_side),
        )

    def topic_factors(self, topics: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return t Wb and t Ub, [B, 4F] each: all that steps need of t [B, K]."""
        return matmul(topics, self.Wb), matmul(topics, self.Ub)

    def input_gates(self, inputs: tf.Tensor, factors: tf.Tensor) -> tf.Tensor:
        """Return the input side and bias of eq. 13 by t Wb; see `composed`."""
        gates = lstm.composed(inputs, self.Wc, factors, self.Wa)
        if self.use_bias:
            gates += tf.reshape(self.bias, [GATES, 1, self.units])
        return gates

    def call(self, inputs: tf.Tensor, states: Any, constants: Any) -> tuple:
        (topics,) = tf.nest.flatten(constants)
        return self.step(inputs, states, self.topic_factors(topics))

    def step(self, inputs: tf.Tensor, states: Any, topic_factors: Any) -> tuple:
        """Make one step from what `topic_factors` made of t, the same for every one."""
        (of_inputs, of_h), (h, c) = topic_factors, states
        gates = self.input_gates(inputs, of_inputs)
        gates += lstm.composed(h, self.Uc, of_h, self.Ua)
        return update(activate(tf.unstack(gates), self.candidate_activation), c)

    def sequence(self, inputs: tf.Tensor, state: Any, topics: tf.Tensor) -> tuple:
        """Make all steps of inputs [B, T, E]: outputs [B, T, H] and the last state."""
        of_inputs, of_h = self.topic_factors(topics)
        gates = self.input_gates(tf.transpose(inputs, [1, 0, 2]), of_inputs)
        factors, candidate = (of_h, self.Ua), self.candidate_activation
        return lstm.recurrence(gates, state, self.Uc, factors, candidate)

    def effective_kernels(self, topics: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return W(t) [B, 4, E, H] and U(t) [B, 4, H, H] of eq. 12.

        Used as x @ W + h @ U + bias; with t one-hot those of a topic's expert, an LSTM.
        """
        split, kernels = [-1, GATES, self.num_factors], []
        for a, b, c in (self.Wa, self.Wb, self.Wc), (self.Ua, self.Ub, self.Uc):
            factors = tf.reshape(c, split), tf.reshape(topics @ b, split)
            kernels.append(tf.einsum("egf,bgf,gfh->bgeh", *factors, a))
        return tuple(kernels)

    def get_config(self) -> dict[str, Any]:
        names = "units num_topics num_factors candidate_activation use_bias".split()
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


@tf.keras.utils.register_keras_serializable("tcnlm")
class TopicCompositionalLSTM(OverSequence):
    """A sequence through `TopicCompositionalLSTMCell`, made for training.

    inputs [B, T, E], topics [B, K], initial_state (h, c) or None for zeros
    -> outputs [B, T, H] or [B, H], and if asked h, c [B, H]; see `OverSequence`.

    >>> lstm = TopicCompositionalLSTM(16, num_topics=4, return_sequences=True)
    >>> lstm(tf.zeros([2, 7, 8]), tf.fill([2, 4], 1 / 4)).shape
    TensorShape([2, 7, 16])
    """

    def __init__(
        self,
        units: int,
        num_topics: int,
        num_factors: int | None = None,
        candidate_activation: str = "tanh",
        use_bias: bool = True,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs: Any,
    ):
        super().__init__(return_sequences, return_state, **kwargs)
        sizes = units, num_topics, num_factors, candidate_activation, use_bias
        options = {"name": "cell", "dtype": self.dtype_policy}
        self.cell = TopicCompositionalLSTMCell(*sizes, **options)

    def get_config(self) -> dict[str, Any]:
        flags = ("return_sequences", "return_state")
        own = {**super().get_config(), **{name: getattr(self, name) for name in flags}}
        return {**self.cell.get_config(), **own}
