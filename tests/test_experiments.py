"""The experiments' own parts: what is frozen stays frozen, what is seen is new."""

import argparse

import numpy as np
import pytest
import tensorflow as tf
import tiny

from experiments import context_gain, topic_recovery, topic_worth
from tcnlm.dataset import Dataset
from tcnlm.models import model_class

SIZES = {"units": 6, "embedding_size": 5, "cutoffs": (9,)}


@pytest.fixture
def data(toy_data):
    return Dataset(toy_data)


@pytest.fixture
def model(data):
    kind = model_class("lstm")
    made = kind(kind.Config(**SIZES), data.vocabulary, seed=1)
    made.build_weights()
    return made


def options(**changes):
    given = {"size": 3, "steps": 60, "every": 30, "seed": 1, "blind": False}
    return argparse.Namespace(**{**given, **changes})


@pytest.mark.parametrize("blind", [False, True])
def test_the_lstm_stays_frozen_while_the_context_is_learned(model, data, blind, capsys):
    before = [weight.numpy().copy() for weight in model.weights]
    splits = data.split("train"), data.split("valid")
    context_gain.train(model, *splits, options(blind=blind))
    for weight, value in zip(model.weights, before):
        np.testing.assert_array_equal(weight.numpy(), value)
    printed = capsys.readouterr().out
    assert printed.count("nats a target") == 2
    assert " 0.0000 nats" not in printed  # it does learn


def test_untrained_the_context_changes_nothing(model, data):
    gain = context_gain.Gain(model, 3, blind=False)
    batch = next(data.split("valid").batches(8))
    nats, targets = gain(batch, False)
    alone = -tf.reduce_sum(model.log_probs(batch["inputs"], batch["targets"], ()))
    assert float(nats) == pytest.approx(float(alone), rel=1e-5)
    assert float(targets) == np.count_nonzero(batch["targets"])


def test_a_blind_encoder_gives_every_sequence_the_same(model, data):
    gain = context_gain.Gain(model, 3, blind=True)
    batch = next(data.split("valid").batches(8))
    gain(batch, False)
    gain.shift.kernel.assign(tf.ones_like(gain.shift.kernel))
    other = {**batch, "context": np.zeros_like(batch["context"])}
    assert float(gain(batch, False)[0]) == float(gain(other, False)[0])


def test_unseen_documents_follow_those_of_the_run(toy_data, data, tmp_path):
    train = data.split("train")
    first = train.num_documents // 2

    class Half:
        vocabulary, meta = data.vocabulary, data.meta

        def split(self, name):
            return argparse.Namespace(num_documents=first)

    new = context_gain.unseen(toy_data, tmp_path / "new", Half(), 5)
    assert new.num_documents == 5
    for i in range(5):
        assert new.document(i) == train.document(first + i)


def test_perplexity_goes_by_the_contexts_it_is_given(data):
    kind = model_class("tcnlm")
    config = kind.Config(**SIZES, num_topics=3, encoder_units=(4, 4))
    model = kind(config, data.vocabulary, seed=1)
    model.build_weights()
    split = data.split("valid")
    own = topic_worth.perplexity(model, split, model.context)
    even = topic_worth.perplexity(
        model, split, lambda batch: tf.fill([tf.shape(batch["targets"])[0], 3], 1 / 3)
    )
    assert own > 1
    assert own != even


def test_a_topic_is_recovered_where_the_encoder_finds_it_again(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(topic_recovery, "make_reproducible", lambda *_: None)
    tiny.make_run(tmp_path / "run")
    asked = topic_recovery.parser().parse_args([str(tmp_path / "run"), "--number", "4"])
    finds = np.eye(4)[[0, 1, 3, 3]]
    monkeypatch.setattr(topic_recovery, "inferred", lambda *_: finds)
    topic_recovery.main(asked)
    printed = capsys.readouterr().out
    assert "3 of 4 topics recovered from 4 sentences each (75.0%; at random 25.0%)" in (
        printed
    )
    assert [line.split()[3:5] for line in printed.splitlines()[3:4]] == [["as", "3"]]


def test_what_topics_wrote_is_read_as_a_document_of_the_training_s_size():
    model = tiny.make_model()
    words = topic_recovery.written_words(model, 30, seed=1)
    assert len(words) == 4
    assert min(map(len, words)) > 10
    again = topic_recovery.inferred(model, words, 10)
    context = np.array([ids[:10] for ids in words], np.int32)
    np.testing.assert_allclose(again, model.infer_context(context), rtol=1e-6)
