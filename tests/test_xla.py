"""Loops that XLA compiles, as where there is a GPU, do what they do elsewhere."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from trained import make_trainer

from tcnlm.generation.saved_model import export
from tcnlm.layers import xla
from tcnlm.layers.lstm import LSTM
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTM

SHAPE, UNITS, TOPICS = (3, 5, 4), 6, 2  # sentences, words, numbers a word
LAYERS = {
    "lstm": lambda: LSTM(UNITS, return_sequences=True),
    "tcnlm": lambda: TopicCompositionalLSTM(UNITS, TOPICS, return_sequences=True),
}


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(xla, "on_gpu", lambda: True)


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
        with xla.compiled_loops(), tf.GradientTape() as tape:
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
