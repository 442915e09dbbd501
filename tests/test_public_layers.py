"""What every public layer does as Keras's own: `tcnlm.layers`."""

import doctest
import importlib

import numpy as np
import pytest
import tensorflow as tf
from helpers import assert_close, assert_weight_gradients, randomise

import tcnlm.layers
from tcnlm.layers.mixed_precision import products_in

B, T, E, H, K, D, V = 3, 3, 4, 6, 3, 9, 12
CASES = {  # arguments, inputs that are made of random numbers or ids, and how to call
    "AdaptiveSoftmax": ((V, (5, 8), 2.0), [(B, H)], "softmax"),
    "CoupledLSTM": ((H,), [(B, T, E), (B, K)], "pair"),
    "TopicCompositionalLSTM": ((H, K, 5), [(B, T, E), (B, K)], "plain"),
    "TopicCompositionalLSTMCell": ((H, K, 5), [(B, E), (B, K), (B, H), (B, H)], "cell"),
    "TopicDecoder": ((K, D), [(B, K)], "plain"),
    "TopicEncoder": ((K, (5, 7), "log", -1.0), [(B, D)], "plain"),
    "TopicProportions": ((K,), [(B, K)], "plain"),
}
every_layer = pytest.mark.parametrize("name", CASES)
TARGETS = np.array([3, 6, 11], np.int32)  # of the head and of both tails


def make(name, **options):
    return getattr(tcnlm.layers, name)(*CASES[name][0], **options)


def inputs_of(name, rng, dtype="float32"):
    return [tf.constant(np.abs(rng.normal(size=s)), dtype) for s in CASES[name][1]]


def called(name, layer, inputs):
    """Return all outputs of a layer in one row."""
    how = CASES[name][2]
    if how == "softmax":
        found = layer(inputs[0], TARGETS)
    elif how == "pair":
        found = layer(tuple(inputs))
    elif how == "cell":
        found = layer(inputs[0], inputs[2:], constants=[inputs[1]])
    else:
        found = layer(*inputs)
    return tf.concat([tf.reshape(x, [-1]) for x in tf.nest.flatten(found)], axis=0)


def test_every_public_layer_is_swept_over():
    assert set(CASES) == set(tcnlm.layers.PUBLIC) == set(tcnlm.layers.__all__)


@every_layer
def test_a_layer_is_made_again_of_its_config_by_its_registered_name(name, rng):
    layer, inputs = make(name), inputs_of(name, rng)
    expected = called(name, randomise_of(name, layer, inputs, rng), inputs)
    again = tf.keras.layers.deserialize(tf.keras.layers.serialize(layer))
    assert type(again) is type(layer)
    assert again.get_config() == layer.get_config()
    called(name, again, inputs)
    again.set_weights(layer.get_weights())
    assert_close(called(name, again, inputs), expected)


def randomise_of(name, layer, inputs, rng):
    called(name, layer, inputs)
    return randomise(layer, rng)


@every_layer
def test_gradients_are_finite_differences_in_float64(name, rng):
    layer, inputs = make(name, dtype="float64"), inputs_of(name, rng, "float64")
    randomise_of(name, layer, inputs, rng)
    probe = rng.normal(size=called(name, layer, inputs).shape)
    weights = layer.trainable_weights
    assert_weight_gradients(
        lambda: tf.reduce_sum(probe * called(name, layer, inputs)), weights, rng
    )


@every_layer
def test_bfloat16_rounds_products_and_keeps_weights_and_outputs(name, rng):
    layer, inputs = make(name), inputs_of(name, rng)
    exact = called(name, randomise_of(name, layer, inputs, rng), inputs)
    with products_in("bfloat16"):
        found = called(name, layer, inputs)
    assert found.dtype == tf.float32
    assert {weight.dtype for weight in layer.weights} == {tf.float32}
    np.testing.assert_allclose(found, exact, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][2] == "plain"])
def test_a_model_with_the_layer_is_saved_and_loaded(name, rng, tmp_path):
    shapes = [shape[1:] for shape in CASES[name][1]]
    places = [tf.keras.Input(shape) for shape in shapes]
    model = tf.keras.Model(places, make(name)(*places))
    inputs = inputs_of(name, rng)
    randomise(model, rng)
    model.save(tmp_path / "model.keras")
    loaded = tf.keras.models.load_model(tmp_path / "model.keras")
    for ours, theirs in zip(*(tf.nest.flatten(m(inputs)) for m in (loaded, model))):
        assert_close(ours, theirs)


@pytest.mark.parametrize("sequences", [True, False])
def test_sequences_and_state_come_as_keras_has_them(sequences, rng):
    x, t = inputs_of("TopicCompositionalLSTM", rng)
    flags = {"return_sequences": sequences, "return_state": True}
    layer = make("TopicCompositionalLSTM", **flags)
    outputs, h, c = layer(x, t)
    last = outputs[:, -1] if sequences else outputs
    assert (outputs.shape.rank, c.shape) == (2 + sequences, h.shape)
    assert_close(last, h)


@every_layer
def test_the_example_of_a_docstring_runs(name):
    module = importlib.import_module(f"tcnlm.layers.{tcnlm.layers.PUBLIC[name]}")
    (test,) = doctest.DocTestFinder(recurse=False).find(
        getattr(module, name), name, module, extraglobs={"tf": tf, **vars(module)}
    )
    assert test.examples, "no example"
    assert doctest.DocTestRunner().run(test).failed == 0
