"""Products in bfloat16: which ones, how near to float32's, and what stays float32."""

import json
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import read_history
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from trained import last_checkpoint, train_toy, trained_lstm

from tcnlm.data.dataset import Dataset
from tcnlm.layers import tf_function
from tcnlm.layers.mixed_precision import products_in
from tcnlm.layers.tf_function import compiled_loops
from tcnlm.models import MODELS

OPERATIONS = {"MatMul", "BatchMatMulV2", "Einsum", "Conv2D"}
# Where not all are bfloat16: the float32 products of the graph of a step's gradients.
DIVERSITY = 3  # of topics, a term of the loss: with its gradients
FLOAT32 = {
    "gbn_rnn": 5,  # the shapes of priors, and with them posteriors
    "lclm": 68,  # Keras's own LSTMs over the sentences before, and attention
    "lda_lstm": 2,  # inference of LDA, which is not trained
    "naive_moe": DIVERSITY,
    "neural_topics": DIVERSITY,
    "rgbn_rnn": 9,
    "tcnlm": DIVERSITY,
    "topic_lstm": DIVERSITY,
    "topic_transformer_xl": DIVERSITY,
}
QUICK = {"tcnlm", "lstm"}
TRAINED = [
    pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow)
    for name in sorted(set(MODELS) - {"lda", "nmf"})
]


def products(graph):
    """Return how many products a graph has, those of its loops too, by type."""
    functions = [node for f in graph.library.function for node in f.node_def]
    kinds = [n.attr["T"].type for n in [*graph.node, *functions] if n.op in OPERATIONS]
    return Counter(tf.dtypes.as_dtype(kind).name for kind in kinds)


def learned(name, data, precision):
    """Return the loss and gradients of a model as it starts, and its products."""
    tf.keras.utils.set_random_seed(1)
    model = tiny.untrained(name, data.vocabulary)
    rows = model.batching.rows(data.split("train"))

    @tf.function(input_signature=[model.batching.signature()], autograph=False)
    def learn(batch):
        with compiled_loops(), products_in(precision):
            return model.compute_gradients(batch)

    terms, gradients = learn(next(rows.batches(16, 1)))
    every = [tf.convert_to_tensor(g) for g in gradients if g is not None]
    assert {g.dtype for g in [*every, *model.trainable_variables]} == {tf.float32}
    flat = tf.concat([tf.reshape(g, [-1]) for g in every], axis=0).numpy()
    graph = learn.get_concrete_function().graph.as_graph_def()
    return float(terms["loss"]), flat, products(graph)


def assert_near(found, exact, loss=1e-3, gradients=0.03):
    """Hold a loss and gradients to float32's: bfloat16 rounds by up to .004."""
    assert found[0] == pytest.approx(exact[0], rel=loss)
    off = np.linalg.norm(found[1] - exact[1])
    assert 0 < off < gradients * np.linalg.norm(exact[1])


@pytest.mark.parametrize("name", TRAINED)
def test_products_are_bfloat16_and_the_loss_and_gradients_nearly_the_same(
    name, toy_data
):
    exact, found = (
        learned(name, Dataset(toy_data), kind) for kind in ("float32", "bfloat16")
    )
    assert set(exact[2]) == {"float32"}
    assert found[2]["bfloat16"] == sum(exact[2].values()) - FLOAT32.get(name, 0) > 0
    assert found[2]["float32"] == FLOAT32.get(name, 0)
    hinge = {"loss": 5e-3, "gradients": 0.1} if name == "ntm" else {}
    assert_near(found, exact, **hinge)


@pytest.mark.slow
def test_compiled_loops_multiply_in_what_is_asked_for_each_time(toy_data, monkeypatch):
    monkeypatch.setattr(tf_function, "on_gpu", lambda: True)
    kinds = ("float32", "bfloat16", "float32")
    exact, found, again = (learned("tcnlm", Dataset(toy_data), kind) for kind in kinds)
    assert_near(found, exact)
    assert again[2] == exact[2]
    np.testing.assert_array_equal(again[1], exact[1])


@pytest.mark.slow
def test_training_in_bfloat16_comes_as_far_and_goes_on_as_if_it_had_not_ended(
    toy_data, tmp_path
):
    """To .2 % of float32's perplexity; what is kept and evaluated is float32."""
    trained_lstm(toy_data, tmp_path / "exact", epochs=2, precision="float32")
    whole = trained_lstm(toy_data, tmp_path / "whole", epochs=2, precision="bfloat16")
    trained_lstm(toy_data, tmp_path / "half", epochs=1, precision="bfloat16")
    rest = trained_lstm(toy_data, tmp_path / "half", epochs=2, precision="bfloat16")
    for ours, theirs in zip(rest.model.get_weights(), whole.model.get_weights()):
        np.testing.assert_array_equal(ours, theirs)
    perplexity = read_history(tmp_path / "whole").valid_perplexity
    expected = read_history(tmp_path / "exact").valid_perplexity
    assert list(perplexity) == pytest.approx(list(expected), rel=2e-3)
    assert list(perplexity) != list(expected)
    slots = [slot for adam in whole.optimizer.adams for slot in adam.weights]
    assert {each.dtype for each in slots if each.dtype.is_floating} == {tf.float32}
    saved = tf.train.load_checkpoint(last_checkpoint(tmp_path / "whole") / "weights")
    assert tf.bfloat16 not in saved.get_variable_to_dtype_map().values()
    graph = whole.model.evaluated.get_concrete_function().graph.as_graph_def()
    assert set(products(graph)) == {"float32"}


def test_precision_is_the_runs_and_what_it_exports_is_float32(toy_data, tmp_path):
    settings = {"model": "lstm", "settings": ["epochs=1", "precision=bfloat16"]}
    run = tmp_path / "RUN"
    assert train_toy(toy_data, run, **settings).returncode == 0
    config = json.loads((run / "config.json").read_text())
    assert config["training"]["precision"] == "bfloat16"
    exported = (run / "saved_model" / "saved_model.pb").read_bytes()
    graph = SavedModel.FromString(exported).meta_graphs[0].graph_def
    assert set(products(graph)) == {"float32"}
    settings["settings"].pop()
    other = train_toy(toy_data, run, **settings)
    assert "precision bfloat16 -> float32" in other.stderr
