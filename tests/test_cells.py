"""The topic compositional LSTM against the paper's equations and its reductions."""

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import assert_close, every_way, randomise

from tcnlm.layers.topic_compositional_lstm import (
    TopicCompositionalLSTM,
    TopicCompositionalLSTMCell,
)

B, M, E, H, F, K = 2, 5, 3, 4, 6, 7  # all different: no transposition goes unseen
WEIGHTS = ("Wa", "Wb", "Wc", "Ua", "Ub", "Uc", "bias")
KERAS_ORDER = [0, 1, 3, 2]  # gates i, f, o, c -> i, f, c, o


def make_cell(rng, dtype="float64", **options):
    cell = TopicCompositionalLSTMCell(H, K, num_factors=F, dtype=dtype, **options)
    cell.build((None, E))
    return randomise(cell, rng)


def over(layer, *inputs, **options):
    """Return a layer's outputs and the state after them."""
    outputs, *state = layer(*inputs, **options)
    return outputs, state


def make_layer(rng, dtype="float64", **options):
    options |= {"return_sequences": True, "return_state": True, "dtype": dtype}
    layer = TopicCompositionalLSTM(H, K, num_factors=F, **options)
    layer.build((None, None, E))
    return randomise(layer, rng)


def weights(cell):
    return {name: getattr(cell, name).numpy().astype(float) for name in WEIGHTS}


def draw(rng, *shape):
    return rng.normal(size=shape)


def draw_topics(rng, rows=B):
    return rng.dirichlet(np.ones(K), size=rows)


def tensors(dtype, *arrays):
    return [tf.constant(array, dtype) for array in arrays]


# --- The oracle ---------------------------------------------------------------------


@every_way
@pytest.mark.parametrize(
    ("name", "function"), [("tanh", np.tanh), ("sigmoid", oracle.sigmoid)]
)
def test_cell_is_equations_13_to_15(rng, wrap, dtype, name, function):
    cell = make_cell(rng, dtype, candidate_activation=name)
    x, h, c, t = draw(rng, B, E), draw(rng, B, H), draw(rng, B, H), draw_topics(rng)
    step = wrap(lambda x, h, c, t: cell(x, [h, c], constants=[t]))
    output, (new_h, new_c) = step(*tensors(dtype, x, h, c, t))
    expected = oracle.topic_compositional_cell(
        weights(cell), x, h, c, t, candidate=function
    )
    assert_close([new_h, new_c], expected)
    assert_close(output, new_h)


@every_way
@pytest.mark.parametrize("given_state", [False, True])
def test_layer_is_the_equations_over_a_sequence(rng, wrap, dtype, given_state):
    layer = make_layer(rng, dtype)
    x, t = draw(rng, B, M, E), draw_topics(rng)
    state = (draw(rng, B, H), draw(rng, B, H)) if given_state else None
    start = tensors(dtype, *state) if given_state else None
    result = wrap(lambda x, t: over(layer, x, t, initial_state=start))(
        *tensors(dtype, x, t)
    )
    expected = oracle.topic_compositional_lstm(weights(layer.cell), x, t, state)
    assert_close(result, expected)


def test_effective_kernels_are_equation_12(rng):
    cell, t = make_cell(rng), draw_topics(rng)
    W, U = cell.effective_kernels(tf.constant(t))
    for b in range(B):
        for g, gate in enumerate(oracle.GATES):
            expected = oracle.gate_matrices(weights(cell), gate, t[b])
            assert_close([W[b, g], U[b, g]], [matrix.T for matrix in expected])


# --- Reductions ---------------------------------------------------------------------


def keras_lstm(W, U, bias):
    """An ordinary LSTM from W [4, E, H], U [4, H, H] and bias [4, H]."""
    lstm = tf.keras.layers.LSTM(
        U.shape[1], return_sequences=True, return_state=True, dtype="float64"
    )
    lstm.build((None, None, W.shape[1]))
    side_by_side = [np.concatenate(list(w[KERAS_ORDER]), axis=-1) for w in (W, U, bias)]
    lstm.set_weights(side_by_side)
    return lstm


def run_keras(lstm, x):
    outputs, h, c = lstm(tf.constant(x))
    return outputs, [h, c]


def test_any_mixture_is_an_ordinary_lstm_with_the_effective_kernels(rng):
    layer, x, t = make_layer(rng), draw(rng, B, M, E), draw_topics(rng)
    outputs, (h, c) = over(layer, x, t)
    W, U = (kernel.numpy() for kernel in layer.cell.effective_kernels(tf.constant(t)))
    for b in range(B):
        lstm = keras_lstm(W[b], U[b], layer.cell.bias.numpy().reshape(4, H))
        row = slice(b, b + 1)
        assert_close([outputs[row], [h[row], c[row]]], run_keras(lstm, x[row]))


# --- The layer and the cell are one -------------------------------------------------


def with_unknown_shapes(function):
    shapes = [None, None, E], [None, K], [None, H], [None, H], [None, None, H]
    signature = [tf.TensorSpec(shape, tf.float64) for shape in shapes]
    return tf.function(function, input_signature=signature)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function, with_unknown_shapes])
@pytest.mark.parametrize("candidate", ["tanh", "sigmoid"])
def test_layer_equals_keras_rnn_of_its_cell_in_values_and_gradients(
    rng, wrap, candidate
):
    layer = make_layer(rng, candidate_activation=candidate)
    rnn = tf.keras.layers.RNN(
        layer.cell, return_sequences=True, return_state=True, dtype="float64"
    )

    def by_layer(x, t, h, c):
        outputs, state = over(layer, x, t, initial_state=[h, c])
        return [outputs, *state]

    def by_rnn(x, t, h, c):
        return rnn(x, initial_state=[h, c], constants=[t])

    def values_and_gradients(run):
        def function(*inputs):
            sources, probe = [*inputs[:4], *layer.trainable_weights], inputs[4]
            with tf.GradientTape() as tape:
                tape.watch(sources[:4])
                outputs, h, c = run(*sources[:4])
                loss = tf.reduce_sum(outputs * probe) + tf.reduce_sum(h * c)
            return [outputs, h, c, *tape.gradient(loss, sources)]

        return function

    state = draw(rng, B, H), draw(rng, B, H)
    inputs = draw(rng, B, M, E), draw_topics(rng), *state, draw(rng, B, M, H)
    inputs = tensors("float64", *inputs)
    ours = wrap(values_and_gradients(by_layer))(*inputs)
    assert len(ours) == 3 + 4 + len(WEIGHTS)
    assert_close(ours, values_and_gradients(by_rnn)(*inputs))


# --- The paper's arithmetic, and the start ------------------------------------------


def parameters(n_x, n_h, n_f, T, **options):
    cell = TopicCompositionalLSTMCell(n_h, T, num_factors=n_f, **options)
    cell.build((None, n_x))
    return cell.count_params()


@pytest.mark.parametrize("sizes", [(3, 4, 6, 7), (5, 2, 1, 1), (8, 8, 8, 2)])
def test_parameters_are_4_n_f_times_n_x_2T_3n_h_and_a_bias_a_gate(sizes):
    n_x, n_h, n_f, T = sizes
    expected = 4 * n_f * (n_x + 2 * T + 3 * n_h)
    assert parameters(*sizes, use_bias=False) == expected
    assert parameters(*sizes) == expected + 4 * sizes[1]


def test_bias_starts_at_zero_but_for_the_forget_gate():
    cell = TopicCompositionalLSTMCell(H, K)
    cell.build((None, E))
    start = np.zeros([4, H])
    start[oracle.GATES.index("f")] = 1.0
    np.testing.assert_array_equal(cell.bias.numpy().reshape(4, H), start)
