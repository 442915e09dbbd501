"""The LSTM layers: Keras's by another gradient, compiled or not; the coupled one."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from trained import make_trainer

from tcnlm.generation.saved_model import export
from tcnlm.layers import tf_function
from tcnlm.layers.lstm import CoupledLSTM, FastLSTM
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTM

SHAPE, UNITS = (3, 5, 4), 6  # sentences, words, numbers a word


def drawn(*shape, rng=None):
    return tf.constant(rng.normal(size=shape), tf.float32)


def results(kind, with_start, mask=None):
    """Return outputs and state, and the gradients of all that goes in."""
    rng = np.random.default_rng(1)
    layer = kind(UNITS, return_sequences=True, return_state=True)
    layer.build((None, None, SHAPE[-1]))
    layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
    inputs, weighing = drawn(*SHAPE, rng=rng), drawn(*SHAPE[:2], UNITS, rng=rng)
    start = [drawn(SHAPE[0], UNITS, rng=rng) for _ in range(2)]
    with tf.GradientTape() as tape:
        tape.watch([inputs, *start])
        state = start if with_start else None
        outputs, h, c = layer(inputs, initial_state=state, mask=mask)
        loss = tf.reduce_sum(outputs * weighing) + tf.reduce_sum(h * start[1] - c)
    sources = [inputs, *layer.trainable_variables, *(start if with_start else [])]
    return [outputs, h, c, *tape.gradient(loss, sources)]


@pytest.mark.parametrize(
    ("with_start", "lengths"), [(False, None), (True, None), (True, [5, 2, 3])]
)
def test_outputs_state_and_every_gradient_are_those_of_keras(with_start, lengths):
    """With a mask, of the state after the last real word."""
    mask = tf.sequence_mask(lengths, SHAPE[1]) if lengths else None
    kinds = FastLSTM, tf.keras.layers.LSTM
    for found, expected in zip(*(results(k, with_start, mask) for k in kinds)):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


def test_it_starts_close_to_the_lstm():
    layer = CoupledLSTM(4)
    inputs = tf.random.stateless_normal([2, 6, 3], [1, 2])
    outputs, h = layer((inputs, tf.zeros([2, 5]))), layer.lstm(inputs)
    share = tf.reduce_sum(outputs * h) / tf.reduce_sum(h * h)
    assert 0.6 < float(share) < 0.9


TOPICS = 2
LAYERS = {
    "lstm": lambda: FastLSTM(UNITS, return_sequences=True),
    "tcnlm": lambda: TopicCompositionalLSTM(UNITS, TOPICS, return_sequences=True),
}


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(tf_function, "on_gpu", lambda: True)


def outputs_and_gradients(name):
    """Return what a layer makes of fixed inputs, and every gradient."""
    tf.keras.utils.set_random_seed(1)
    layer, rng = LAYERS[name](), np.random.default_rng(1)
    inputs, weighing, topics = (
        tf.constant(rng.normal(size=shape), tf.float32)
        for shape in (SHAPE, (*SHAPE[:2], UNITS), (SHAPE[0], TOPICS))
    )

    @tf.function
    def taken():
        with tf_function.compiled_loops(), tf.GradientTape() as tape:
            tape.watch([inputs, topics])
            outputs = layer(inputs) if name == "lstm" else layer(inputs, topics)
            loss = tf.reduce_sum(outputs * weighing)
            sources = [inputs, *([topics] if name == "tcnlm" else [])]
            return outputs, tape.gradient(loss, [*sources, *layer.trainable_variables])

    layer.build(SHAPE)
    return tf.nest.flatten(taken()), taken.get_concrete_function().graph.as_graph_def()


def has_compiled(graph):
    """Whether XLA is to compile a function that a graph calls."""
    functions = graph.library.function
    return any(function.attr["_XlaMustCompile"].b for function in functions)


@pytest.mark.parametrize("name", LAYERS)
def test_outputs_and_every_gradient_are_those_of_loops_not_compiled(name, request):
    expected, plain = outputs_and_gradients(name)
    request.getfixturevalue("gpu")
    found, graph = outputs_and_gradients(name)
    assert [has_compiled(graph), has_compiled(plain)] == [True, False]
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_training_compiles_its_steps_and_nothing_of_what_is_exported(
    toy_data, tmp_path, gpu
):
    trainer = make_trainer(toy_data, tmp_path / "RUN", "tcnlm", epochs=1)
    trainer.train()
    steps = trainer.step.get_concrete_function().graph.as_graph_def()
    export(trainer.model, tmp_path / "saved_model")
    saved = SavedModel.FromString(
        (tmp_path / "saved_model/saved_model.pb").read_bytes()
    )
    exported = saved.meta_graphs[0].graph_def
    assert [has_compiled(steps), has_compiled(exported)] == [True, False]
