"""The plain LSTM: the state that it carries, and TCNLM's start that it can be given.

What is carried is tested of Transformer-XL's memory too.
"""

import shutil

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import read_history
from trained import train_toy

from tcnlm.common.errors import InputError
from tcnlm.generation.decoding import SentenceDecoder
from tcnlm.generation.requests import write_sentences
from tcnlm.generation.saved_model import export
from tcnlm.layers.topic_compositional_lstm import TopicCompositionalLSTM
from tcnlm.metrics.scores import score
from tcnlm.models.lstm import multiply_out
from tcnlm.preprocessing.vocabulary import EOS, GO

CARRYING = pytest.mark.parametrize("name", ["lstm", "transformer_xl"])
STARTED = pytest.mark.parametrize(
    "name", ["lstm", "lda_lstm", "bag_lstm", "topic_lstm"]
)

SLOW = pytest.mark.slow


def make_model(few, name="lstm", **settings):
    chosen = {"layers": 1, "cutoffs": (9,), **settings}
    return tiny.untrained(name, few.vocabulary, **chosen)


def test_a_product_multiplied_out_is_the_same_lstm():
    factored = TopicCompositionalLSTM(6, 1, return_sequences=True)
    inputs = tf.random.stateless_normal([2, 7, 5], [1, 2])
    expected = factored(inputs, tf.ones([2, 1]))
    for seed, weight in enumerate(factored.trainable_variables):
        weight.assign(tf.random.stateless_normal(weight.shape, [3, seed]))
    different = factored(inputs, tf.ones([2, 1]))
    plain = tf.keras.layers.LSTM(6, return_sequences=True)
    plain.build(inputs.shape)
    multiply_out(factored.cell, plain)
    np.testing.assert_allclose(plain(inputs), different, rtol=1e-4, atol=1e-5)
    assert not np.allclose(expected, different, atol=1e-2)


@STARTED
def test_it_starts_at_a_cells_product_if_asked(few, name):
    model = make_model(few, name, recurrent_start="product")
    tf.keras.utils.set_random_seed(4)
    model.prepare(few)
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


# --- The state carried through a document ---------------------------------------------


def carrying(few, name="lstm", rng=None, **settings):
    model = make_model(few, name, carry=True, layers=2, dropout=0.0, **settings)
    for weight in model.trainable_variables if rng else ():
        weight.assign(rng.normal(scale=0.5, size=weight.shape))
    return model


def log_probs_by_document(model, split):
    """Return -log p of every document's targets, in one pass over the whole of it."""
    total = 0.0
    for document in map(split.document, range(split.num_documents)):
        inputs = [word for sentence in document for word in (GO, *sentence)]
        targets = [word for sentence in document for word in (*sentence, EOS)]
        if targets:
            batch = {"inputs": tf.constant([inputs]), "targets": tf.constant([targets])}
            total -= float(tf.reduce_sum(model(batch)))
    return total


@CARRYING
@pytest.mark.parametrize(
    ("window", "size"),
    [(1, 5), (4, 2), *(pytest.param(*s, marks=SLOW) for s in ((7, 64), (1000, 3)))],
)
def test_windows_of_any_length_give_the_probabilities_of_one_long_pass(
    few, name, rng, window, size
):
    model, split = carrying(few, name, rng, window=window), few.split("test")
    found = score(model, model.batching.rows(split), size)
    expected = log_probs_by_document(model, split)
    assert found.targets == split.num_targets
    assert found.nll * found.targets == pytest.approx(expected, rel=1e-5)
    zero = make_model(few, name, layers=2, dropout=0.0)
    zero.set_weights(model.get_weights())
    by_sentence = score(zero, zero.batching.rows(split))
    assert by_sentence.nll != pytest.approx(found.nll, rel=1e-3)


@CARRYING
def test_scoring_leaves_the_state_that_training_carries(few, name, rng):
    model = carrying(few, name, rng, window=3)
    batches = list(model.batching.rows(few.split("train")).batches(4))
    model.compute_loss(batches[0], training=True)
    before = [v.numpy() for v in tf.nest.flatten(model.carried.nest)]
    score(model, model.batching.rows(few.split("valid")), 7)
    for value, variable in zip(before, tf.nest.flatten(model.carried.nest)):
        np.testing.assert_array_equal(variable.numpy(), value)
        assert value.any()


@CARRYING
@pytest.mark.slow
def test_training_goes_on_in_the_middle_of_a_document_bit_for_bit(
    name, toy_data, tmp_path
):
    settings = ["carry=true", "window=4", "reset=never", "checkpoint_steps=3"]
    asked = {"model": name, "settings": settings}
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for run in (whole, cut):
        assert train_toy(toy_data, run, **asked).returncode == 0
    last = sorted((cut / "checkpoints").iterdir())[-1]
    shutil.rmtree(last)  # the one before is in the middle of the last epoch
    (cut / "model.weights.h5").unlink()
    assert train_toy(toy_data, cut, **asked).returncode == 0
    ours, theirs = read_history(whole), read_history(cut)
    assert ours.drop(columns="seconds").equals(theirs.drop(columns="seconds"))


@pytest.mark.parametrize("name", ["lstm", pytest.param("transformer_xl", marks=SLOW)])
def test_a_run_that_carries_is_loaded_exported_and_written_from(
    few, name, rng, tmp_path
):
    model = carrying(few, name, rng, window=3)
    model.save_weights(tmp_path / "model.weights.h5")
    other = carrying(few, name, window=3)
    other.load_weights(tmp_path / "model.weights.h5")
    export(other, tmp_path / "saved_model")
    served = tf.saved_model.load(str(tmp_path / "saved_model")).signatures
    text = "the ship of ."
    ids = few.vocabulary.ids(text.split())
    expected = tiny.log_prob(model, [*ids, EOS], ())
    for texts in ([text], [text, "bread .", text]):
        found = served["score"](
            sentences=tf.constant(texts), contexts=tf.fill([len(texts)], "")
        )
        assert found["log_probability"].numpy()[-1] == pytest.approx(expected, rel=1e-5)
    written = write_sentences(SentenceDecoder(other), None)
    assert written[0][0].words is not None


def test_a_product_to_start_from_is_of_an_lstm(few):
    with pytest.raises(InputError, match="is for cell=lstm only"):
        make_model(few, recurrent_start="product", cell="gru")
