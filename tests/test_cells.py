"""The topic compositional LSTM against the paper's equations and its reductions."""

from functools import partial

import numpy as np
import oracle
import pytest
import tensorflow as tf
from helpers import (
    assert_close,
    assert_input_gradients,
    assert_weight_gradients,
    every_way,
    jacobian,
    randomise,
)

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
    randomise(cell, rng)
    return cell


def over(layer, *inputs, **options):
    """Return a layer's outputs and the state after them."""
    outputs, *state = layer(*inputs, **options)
    return outputs, state


def make_layer(rng, dtype="float64", **options):
    options = {**SEQUENCES, **options}
    layer = TopicCompositionalLSTM(H, K, num_factors=F, dtype=dtype, **options)
    layer.build((None, None, E))
    randomise(layer, rng)
    return layer


SEQUENCES = {"return_sequences": True, "return_state": True}


def weights(cell):
    return {name: getattr(cell, name).numpy().astype(float) for name in WEIGHTS}


def draw(rng, *shape):
    return rng.normal(size=shape)


def draw_topics(rng, rows=B):
    return rng.dirichlet(np.ones(K), size=rows)


def call_cell(cell, x, h, c, t):
    return cell(x, [h, c], constants=[t])


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
    step = wrap(lambda *values: call_cell(cell, *values))
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


def test_without_bias_the_equations_are_the_printed_ones(rng):
    layer = make_layer(rng, use_bias=False)
    x, t = draw(rng, B, M, E), draw_topics(rng)
    stored = {name: getattr(layer.cell, name).numpy() for name in WEIGHTS[:-1]}
    stored["bias"] = np.zeros(4 * H)
    assert_close(over(layer, x, t), oracle.topic_compositional_lstm(stored, x, t))


def test_effective_kernels_are_equation_12(rng):
    cell, t = make_cell(rng), draw_topics(rng)
    W, U = cell.effective_kernels(tf.constant(t))
    for b in range(B):
        for g, gate in enumerate(oracle.GATES):
            expected = oracle.gate_matrices(weights(cell), gate, t[b])
            assert_close([W[b, g], U[b, g]], [matrix.T for matrix in expected])


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("steps", [1, 4])
def test_any_batch_and_length_in_one_traced_graph(rng, batch, steps):
    layer = make_layer(rng)
    shapes = [None, None, E], [None, K]
    signature = [tf.TensorSpec(shape, tf.float64) for shape in shapes]
    graph = tf.function(partial(over, layer), input_signature=signature)
    x, t = draw(rng, batch, steps, E), draw_topics(rng, batch)
    expected = oracle.topic_compositional_lstm(weights(layer.cell), x, t)
    assert_close(graph(tf.constant(x), tf.constant(t)), expected)


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


@pytest.mark.parametrize("topic", range(K))
def test_one_hot_topic_selects_its_expert(rng, topic):
    layer, x = make_layer(rng), draw(rng, B, M, E)
    one_hot = tf.one_hot([topic] * B, K, dtype=tf.float64)
    W, U = (kernel[0].numpy() for kernel in layer.cell.effective_kernels(one_hot))
    expert = keras_lstm(W, U, layer.cell.bias.numpy().reshape(4, H))
    assert_close(over(layer, x, one_hot), run_keras(expert, x))


def test_any_mixture_is_an_ordinary_lstm_with_the_effective_kernels(rng):
    layer, x, t = make_layer(rng), draw(rng, B, M, E), draw_topics(rng)
    outputs, (h, c) = over(layer, x, t)
    W, U = (kernel.numpy() for kernel in layer.cell.effective_kernels(tf.constant(t)))
    for b in range(B):
        lstm = keras_lstm(W[b], U[b], layer.cell.bias.numpy().reshape(4, H))
        row = slice(b, b + 1)
        assert_close([outputs[row], [h[row], c[row]]], run_keras(lstm, x[row]))


def test_all_ones_Wb_and_Ub_leave_the_lstm_Wc_Wa_whatever_the_topics(rng):
    layer, x = make_layer(rng), draw(rng, B, M, E)
    for name in ("Wb", "Ub"):
        getattr(layer.cell, name).assign(np.ones([K, 4 * F]))
    stored = weights(layer.cell)
    W, U = (
        np.stack(
            [
                stored[s + "c"][:, g * F : (g + 1) * F] @ stored[s + "a"][g]
                for g in range(4)
            ]
        )
        for s in "WU"
    )
    lstm = keras_lstm(W, U, stored["bias"].reshape(4, H))
    for t in (draw_topics(rng), np.eye(K)[[0, 3]], np.full([B, K], 1 / K)):
        assert_close(over(layer, x, t), run_keras(lstm, x))


def test_one_topic_is_an_ordinary_lstm(rng):
    layer = TopicCompositionalLSTM(H, 1, num_factors=F, dtype="float64", **SEQUENCES)
    layer.build((None, None, E))
    randomise(layer, rng)
    x, t = draw(rng, B, M, E), np.ones([B, 1])
    W, U = (
        kernel[0].numpy() for kernel in layer.cell.effective_kernels(tf.ones_like(t))
    )
    lstm = keras_lstm(W, U, layer.cell.bias.numpy().reshape(4, H))
    assert_close(over(layer, x, t), run_keras(lstm, x))


def test_effective_kernels_are_the_mixture_of_the_experts(rng):
    cell, t = make_cell(rng), draw_topics(rng)
    experts = cell.effective_kernels(tf.eye(K, dtype=tf.float64))
    mixed = [tf.einsum("bk,kgio->bgio", tf.constant(t), expert) for expert in experts]
    assert_close(cell.effective_kernels(tf.constant(t)), mixed)


def test_preactivations_are_linear_in_the_topics(rng):
    cell = make_cell(rng, use_bias=False)
    x, h, s, t = draw(rng, B, E), draw(rng, B, H), draw_topics(rng), draw_topics(rng)

    def preactivations(topics):
        inputs, recurrent = cell.topic_factors(tf.constant(topics))
        gates = cell.input_gates(tf.constant(x), inputs)
        return gates + cell.recurrent_gates(tf.constant(h), recurrent)

    mixed = 0.3 * preactivations(s) + 0.7 * preactivations(t)
    assert_close(preactivations(0.3 * s + 0.7 * t), mixed)


def test_permuting_the_topics_everywhere_changes_nothing(rng):
    layer, x, t = make_layer(rng), draw(rng, B, M, E), draw_topics(rng)
    before, order = over(layer, x, t), rng.permutation(K)
    for factors in (layer.cell.Wb, layer.cell.Ub):
        factors.assign(factors.numpy()[order])
    assert_close(over(layer, x, t[:, order]), before)


def test_topics_matter(rng):
    layer, x = make_layer(rng), draw(rng, B, M, E)
    first, second = (over(layer, x, np.eye(K)[[k] * B])[0] for k in (0, 1))
    assert np.abs(first - second).max() > 1e-2


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


def test_keras_rnn_builds_an_unbuilt_cell(rng):
    cell = TopicCompositionalLSTMCell(H, K, num_factors=F, dtype="float64")
    rnn = tf.keras.layers.RNN(cell, return_sequences=True, dtype="float64")
    x, t = draw(rng, B, M, E), draw_topics(rng)
    outputs = rnn(tf.constant(x), constants=[tf.constant(t)])
    expected, _ = oracle.topic_compositional_lstm(weights(cell), x, t)
    assert_close(outputs, expected)


def test_state_carried_over_a_cut_equals_the_whole_sequence(rng):
    layer, x, t = make_layer(rng), draw(rng, B, M, E), draw_topics(rng)
    whole, end = over(layer, x, t)
    first, middle = over(layer, x[:, :2], t)
    second, last = over(layer, x[:, 2:], t, initial_state=middle)
    assert_close([tf.concat([first, second], axis=1), last], [whole, end])


def test_initial_state_is_zero_however_it_is_asked_for(rng):
    cell, zeros = make_cell(rng), np.zeros([B, H])
    assert_close(cell.get_initial_state(tf.constant(draw(rng, B, E))), [zeros, zeros])
    assert_close(cell.get_initial_state(batch_size=B), [zeros, zeros])


@pytest.mark.parametrize("make", [make_cell, make_layer])
def test_config_restores_the_same_computation(rng, make):
    options = dict(candidate_activation="sigmoid", use_bias=False, topic_stddev=0.1)
    original = make(rng, **options)
    copy = type(original).from_config(original.get_config())
    assert copy.get_config() == original.get_config()
    t = draw_topics(rng)
    if make is make_layer:
        call, shape = (lambda layer: over(layer, x, t)), (B, M, E)
    else:
        call, shape = (lambda cell: call_cell(cell, x, h, h, t)), (B, E)
    x, h = draw(rng, *shape), draw(rng, B, H)
    copy.build(shape)
    copy.set_weights(original.get_weights())
    assert_close(call(copy), call(original))


# --- Gradients ----------------------------------------------------------------------


def test_cell_gradients_are_finite_differences(rng):
    cell, probe = make_cell(rng), draw(rng, 2, B, H)
    x, h, c, t = draw(rng, B, E), draw(rng, B, H), draw(rng, B, H), draw_topics(rng)

    def loss(*values):
        return tf.reduce_sum(probe * tf.stack(call_cell(cell, *values)[1]))

    assert_input_gradients(tf.function(loss), [x, h, c, t])
    values = tensors("float64", x, h, c, t)
    step = tf.function(lambda: loss(*values))
    assert_weight_gradients(step, cell.trainable_weights, rng)


@pytest.mark.parametrize(
    "candidate", ["tanh", pytest.param("sigmoid", marks=pytest.mark.slow)]
)
def test_layer_gradients_are_finite_differences(rng, candidate):
    layer = make_layer(rng, candidate_activation=candidate)
    probe = draw(rng, B, M, H)
    x, t = draw(rng, B, M, E), draw_topics(rng)

    def loss(x, t):
        return tf.reduce_sum(probe * over(layer, x, t)[0])

    assert_input_gradients(tf.function(loss), [x, t])
    run = tf.function(lambda: loss(tf.constant(x), tf.constant(t)))
    assert_weight_gradients(run, layer.trainable_weights, rng)


# --- What may reach what ------------------------------------------------------------


def dependence(layer, x, t):
    """Whether output [b, m] moves with input [b', m']: [B, M, B, M]."""
    slopes = jacobian(lambda x: tf.reduce_sum(over(layer, x, t)[0], axis=2), x)
    return np.any(slopes != 0, axis=4)  # slopes [B, M, B, M, E]


def test_an_output_depends_on_its_own_past_alone(rng):
    reached = dependence(make_layer(rng), draw(rng, B, M, E), draw_topics(rng))
    past = np.tril(np.ones([M, M], bool))
    expected = np.einsum("bc,mn->bmcn", np.eye(B, dtype=bool), past)
    np.testing.assert_array_equal(reached, expected)


def test_padding_at_the_right_changes_no_earlier_output(rng):
    layer, x, t = make_layer(rng), draw(rng, B, M, E), draw_topics(rng)
    padded = np.concatenate([x, 100 * draw(rng, B, 3, E)], axis=1)
    assert_close(over(layer, padded, t)[0][:, :M], over(layer, x, t)[0])


def test_a_document_s_topics_reach_its_own_rows_alone(rng):
    layer, x = make_layer(rng), draw(rng, B, M, E)
    outputs, t = lambda t: tf.reduce_sum(over(layer, x, t)[0], axis=2), draw_topics(rng)
    reached = np.any(jacobian(outputs, t) != 0, axis=3)  # of [B, M, B, K]
    expected = np.broadcast_to(np.eye(B, dtype=bool)[:, None], (B, M, B))
    np.testing.assert_array_equal(reached, expected)


# --- The paper's arithmetic, and the start ------------------------------------------


def parameters(n_x, n_h, n_f, T, **options):
    cell = TopicCompositionalLSTMCell(
        n_h, T, num_factors=n_f, factor_initializer="zeros", **options
    )
    cell.build((None, n_x))
    return cell.count_params()


@pytest.mark.parametrize("sizes", [(3, 4, 6, 7), (5, 2, 1, 1), (8, 8, 8, 2)])
def test_parameters_are_4_n_f_times_n_x_2T_3n_h_and_a_bias_a_gate(sizes):
    expected = oracle.topic_compositional_parameters(*sizes)
    assert parameters(*sizes, use_bias=False) == expected
    assert parameters(*sizes) == expected + 4 * sizes[1]


@pytest.mark.parametrize(("n_f", "millions"), [(300, 2.76), (512, 4.71), (600, 5.52)])
def test_parameters_of_the_small_model(n_f, millions):
    counted = parameters(300, 600, n_f, 100, use_bias=False)
    assert round(counted / 1e6, 2) == millions


@pytest.mark.parametrize(("n_f", "millions"), [(300, 8.4), (900, 25.2)])
def test_parameters_of_the_large_model_s_two_layers(n_f, millions):
    layers = [parameters(n_x, 900, n_f, 100, use_bias=False) for n_x in (300, 900)]
    assert round(sum(layers) / 1e6, 2) == millions


def test_factors_are_as_many_as_units_unless_told():
    cell = TopicCompositionalLSTMCell(H, K)
    cell.build((None, E))
    assert cell.Wa.shape == [4, H, H]
    assert cell.Wb.shape == [K, 4 * H]


@pytest.mark.parametrize("forget_bias", [0.0, 1.0, 2.5])
def test_bias_starts_at_zero_but_for_the_forget_gate(forget_bias):
    cell = TopicCompositionalLSTMCell(H, K, forget_bias=forget_bias)
    cell.build((None, E))
    start = np.zeros([4, H])
    start[oracle.GATES.index("f")] = forget_bias
    np.testing.assert_array_equal(cell.bias.numpy().reshape(4, H), start)


def test_gates_start_different_from_one_another():
    cell = TopicCompositionalLSTMCell(H, K, num_factors=F)
    cell.build((None, E))
    for name in ("Wa", "Ua"):
        gates = getattr(cell, name).numpy()
        assert len({gate.tobytes() for gate in gates}) == 4
    for name in ("Wb", "Wc", "Ub", "Uc"):
        gates = np.split(getattr(cell, name).numpy(), 4, axis=1)
        assert len({gate.tobytes() for gate in gates}) == 4


@pytest.mark.parametrize("num_topics", [2, 30, 150])
def test_many_topics_do_not_start_the_lstm_at_zero(num_topics):
    """Averaging over 150 topics must leave the scale of an ordinary LSTM's kernel."""
    cell = TopicCompositionalLSTMCell(
        32, num_topics, recurrent_gain=0.7, topic_stddev=0.1
    )
    cell.build((None, 32))
    W, U = cell.effective_kernels(tf.fill([1, num_topics], 1 / num_topics))
    orthogonal = np.sqrt(32)  # the Frobenius norm of an orthogonal 32 x 32 matrix
    for gate in range(4):
        assert 0.9 < np.linalg.norm(W[0, gate]) / orthogonal < 1.1
        assert 0.9 < np.linalg.norm(U[0, gate]) / (0.7 * orthogonal) < 1.1
