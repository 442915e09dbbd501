"""The plain LSTM and the start and steps of TCNLM's cell that it can be given."""

import numpy as np
import pytest
import tensorflow as tf

from tcnlm.data.dataset import Dataset
from tcnlm.layers.topic_lstm import TopicCompositionalLSTM
from tcnlm.models.lstm import LSTM, Config, multiply_out

SIZES = {"units": 6, "embedding_size": 5, "cutoffs": (9,)}


def make_model(data, **settings):
    model = LSTM(Config(**SIZES, **settings), data.vocabulary, seed=1)
    model.build_weights()
    return model


@pytest.fixture
def data(toy_data):
    return Dataset(toy_data)


def test_a_product_multiplied_out_is_the_same_lstm():
    factored = TopicCompositionalLSTM(6, 1)
    inputs = tf.random.stateless_normal([2, 7, 5], [1, 2])
    expected, _ = factored(inputs, tf.ones([2, 1]))
    for seed, weight in enumerate(factored.trainable_variables):
        weight.assign(tf.random.stateless_normal(weight.shape, [3, seed]))
    different, _ = factored(inputs, tf.ones([2, 1]))
    plain = tf.keras.layers.LSTM(6, return_sequences=True)
    plain.build(inputs.shape)
    multiply_out(factored.cell, plain)
    np.testing.assert_allclose(plain(inputs), different, rtol=1e-4, atol=1e-5)
    assert not np.allclose(expected, different, atol=1e-2)


def test_it_starts_at_a_cells_product_if_asked(data):
    model = make_model(data, recurrent_start="product")
    tf.keras.utils.set_random_seed(4)
    model.prepare(data)
    tf.keras.utils.set_random_seed(4)
    cell = TopicCompositionalLSTM(6, 1).cell
    cell.build(tf.TensorShape([None, 5]))
    kernel, recurrent, bias = (weight.numpy() for weight in model.recurrent[0].weights)
    for ours, theirs in ((kernel, "W"), (recurrent, "U")):
        a, b, c = (getattr(cell, theirs + x).numpy() for x in "abc")
        forget = c[:, 6:12] @ np.diag(b[0, 6:12]) @ a[1]
        output = c[:, 12:18] @ np.diag(b[0, 12:18]) @ a[2]
        np.testing.assert_allclose(ours[:, 6:12], forget, atol=1e-5)
        np.testing.assert_allclose(ours[:, 18:], output, atol=1e-5)  # Keras: i f c o
    np.testing.assert_array_equal(bias, np.repeat([0.0, 1.0, 0.0, 0.0], 6))


def test_its_recurrent_weights_learn_at_their_share_of_the_rate(data):
    model = make_model(data, recurrent_rate=0.25)
    (rest, rate), (layer, own) = model.parameter_groups()
    assert own == 0.25 * rate == 0.25 * model.config.learning_rate
    assert {id(w) for w in layer} == {id(w) for w in model.recurrent[0].weights}
    assert len(rest) + len(layer) == len(model.trainable_variables)
    assert len(make_model(data).parameter_groups()) == 1
