"""The LSTM whose outputs topic weights gate, against loops from the paper."""

import numpy as np
import pytest
import tensorflow as tf
from gbn_oracle import coupled
from helpers import (
    assert_close,
    assert_input_gradients,
    assert_weight_gradients,
    every_way,
    randomise,
)

from tcnlm.layers.coupled_lstm import CoupledLSTM


def make_layer(rng, dtype="float32"):
    layer = CoupledLSTM(4, dtype=dtype)
    layer.build([tf.TensorShape([None, None, 3]), tf.TensorShape([None, 2])])
    randomise(layer, rng)
    inputs, theta = rng.normal(size=(3, 5, 3)), rng.gamma(1.0, size=(3, 2))
    return layer, inputs.astype(dtype), theta.astype(dtype)


@every_way
def test_it_is_equations_3_and_4(wrap, dtype, rng):
    layer, inputs, theta = make_layer(rng, dtype)
    found = wrap(lambda *parts: layer(parts))(inputs, theta)
    assert_close(found, coupled(inputs, theta, layer))


def test_steps_give_what_the_whole_sentence_gives(rng):
    layer, inputs, theta = make_layer(rng)
    state = layer.cell.get_initial_state(batch_size=3, dtype=tf.float32)
    topics, expected = layer.from_topics(theta), layer((inputs, theta))
    for t in range(inputs.shape[1]):
        found, state = layer.step(inputs[:, t], state, topics)
        assert_close(found, expected[:, t])


def test_gradients_are_those_of_finite_differences(rng):
    layer, inputs, theta = make_layer(rng, "float64")
    probe = rng.normal(size=(3, 5, 4))
    assert_input_gradients(
        lambda *parts: tf.reduce_sum(probe * layer(parts)), [inputs, theta]
    )
    weights = layer.trainable_variables
    assert len(weights) == 7
    assert_weight_gradients(
        lambda: tf.reduce_sum(tf.sin(layer((inputs, theta)))), weights, rng
    )


def test_it_starts_close_to_the_lstm():
    layer = CoupledLSTM(4)
    inputs = tf.random.stateless_normal([2, 6, 3], [1, 2])
    outputs, h = layer((inputs, tf.zeros([2, 5]))), layer.lstm(inputs)
    share = tf.reduce_sum(outputs * h) / tf.reduce_sum(h * h)
    assert 0.6 < float(share) < 0.9


@pytest.mark.parametrize(
    ("sizes", "topics", "millions"),
    [
        ((600,), (100,), 3.42),
        ((600, 512), (100, 80), 6.61),
        ((600, 512, 256), (100, 80, 50), 7.63),
    ],
)
def test_layers_have_as_many_parameters_as_table_3_says(sizes, topics, millions):
    below, total = 300, 0
    for units, K in zip(sizes, topics):
        layer = CoupledLSTM(units)
        layer.build([tf.TensorShape([None, None, below]), tf.TensorShape([None, K])])
        matrices = sum(int(np.prod(w.shape)) for w in layer.weights if len(w.shape) > 1)
        assert matrices == 4 * (below + units) * units + 3 * (K + units) * units
        assert layer.count_params() - matrices == 7 * units
        below, total = units, total + matrices
    assert round(total / 1e6, 2) == millions
