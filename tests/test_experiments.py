"""The experiments' own parts: what is frozen stays frozen, what is seen is new."""

import argparse
import itertools
import json
import sys

import numpy as np
import pytest
import tensorflow as tf
import tiny

from experiments import (
    context_gain,
    other_tokens,
    record,
    sentences,
    topic_boost,
    topic_recovery,
    topic_worth,
    topics_alone,
)
from preprocessing.errors import InputError
from preprocessing.sources import read_lines, split_tdlm
from tcnlm import losses
from tcnlm.coherence.__main__ import main as coherence
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
    rows = context_gain.train(model, *splits, options(blind=blind))
    for weight, value in zip(model.weights, before):
        np.testing.assert_array_equal(weight.numpy(), value)
    printed = capsys.readouterr().out
    assert printed.count("nats a target") == 2
    assert " 0.0000 nats" not in printed  # it does learn
    assert [row["steps"] for row in rows] == [30, 60]
    for row in rows:
        assert f" {row['saved']:.4f} nats a target" in printed


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
    kept = []
    monkeypatch.setattr(record, "write", lambda *given: kept.append(given[-1]))
    finds = np.eye(4)[[0, 1, 3, 3]]
    monkeypatch.setattr(topic_recovery, "inferred", lambda *_: finds)
    topic_recovery.main(asked)
    printed = capsys.readouterr().out
    assert "3 of 4 topics recovered from 4 sentences each (75.0%; at random 25.0%)" in (
        printed
    )
    assert [line.split()[3:5] for line in printed.splitlines()[3:4]] == [["as", "3"]]
    assert kept[0]["figures"]["inferred"] == [0, 1, 3, 3]


def test_what_topics_wrote_is_read_as_a_document_of_the_training_s_size():
    model = tiny.make_model()
    words = topic_recovery.written_words(model, 30, seed=1)
    assert len(words) == 4
    assert min(map(len, words)) > 10
    again = topic_recovery.inferred(model, words, 10)
    context = np.array([ids[:10] for ids in words], np.int32)
    np.testing.assert_allclose(again, model.infer_context(context), rtol=1e-6)


def alone(data, **settings):
    kind = model_class("tcnlm")
    sizes = {**SIZES, "num_topics": 3, "encoder_units": (4, 4)}
    model = kind(kind.Config(**sizes, **settings), data.vocabulary, seed=1)
    model.build_weights()
    return model


def test_the_bound_of_a_model_that_ignores_documents_is_that_of_its_one_topic(data):
    model, split = alone(data), data.split("valid")
    for weight in (*model.encoder.weights, *model.proportions.weights):
        weight.assign(tf.zeros_like(weight))  # mu = 0, sigma^2 = 1, t even
    found = topics_alone.bound(model, split)
    words = np.concatenate([split.content(i) for i in range(split.num_documents)])
    log_probs = np.log(model.topics().numpy().mean(axis=0))[words]
    expected = pytest.approx(np.exp(-log_probs.mean()), rel=1e-4)
    assert found == {"perplexity": expected, "words_perplexity": expected, "kl": 0.0}


def test_the_bound_counts_the_divergence_once_a_document(data):
    model, split = alone(data, prior_variance=4.0), data.split("valid")
    mean, log_variance = model.encoder(model.bag(next(split.document_contexts(999))))
    kl = tf.reduce_mean(losses.gaussian_kl(mean, log_variance, 0.0, 4.0))
    found = topics_alone.bound(model, split)
    assert found["kl"] == pytest.approx(float(kl), rel=1e-5)
    assert found["perplexity"] > found["words_perplexity"]


def test_topics_alone_trains_measures_and_keeps_a_record(
    toy_data, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(topics_alone, "make_reproducible", lambda *_: None)
    lists, text = tmp_path / "topics.txt", tmp_path / "reference.txt"
    lists.write_text("ship sea\n")
    text.write_text("the ship went to sea\nbread and butter\n")
    counts, file = tmp_path / "counts.npz", tmp_path / "kept.json"
    words = ["--vocabulary", str(toy_data), "--save-counts", str(counts)]
    coherence([str(lists), "--reference", str(text), *words])
    settings = ["num_topics=3", "head_start=30", "encoder_units=8,8"]
    given = [str(toy_data), "--counts", str(counts), "--record", str(file)]
    monkeypatch.setattr(sys, "argv", ["topics_alone.py", *given])
    asked = topics_alone.parser().parse_args([*given, "--set", *settings])
    topics_alone.main(asked)
    kept = json.loads(file.read_text())
    assert kept["settings"] == settings
    assert kept["experiment"]["command"].startswith(
        "python -m experiments.topics_alone"
    )
    assert 1 <= kept["figures"]["topics_in_use"] <= 3
    assert len(kept["figures"]["words"]) == 3
    assert f"{kept['figures']['perplexity']:.4g}" in capsys.readouterr().out


def test_named_topics_and_their_mixtures_write_both_ways(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sentences, "make_reproducible", lambda *_: None)
    monkeypatch.setattr(
        sentences.runs, "read_config", lambda _: {"data": dict.fromkeys(DATA, "x")}
    )
    tiny.make_run(tmp_path / "run")
    file = tmp_path / "kept.json"
    given = [str(tmp_path / "run"), "--name", "0=sea", "2=law", "--mix", "sea+law"]
    asked = sentences.parser().parse_args([*given, "--record", str(file)])
    monkeypatch.setattr(sentences.runs, "load", lambda _: tiny.make_model())
    sentences.main(asked)
    kept = json.loads(file.read_text())
    assert [row["topics"] for row in kept["sentences"]] == [[0], [2], [0, 2]]
    assert set(kept["words"]) == {"0", "2"}
    for row in kept["sentences"]:
        assert len(row["greedy"]) == len(sentences.BEGINNINGS)
        assert len(row["sampled"]) == 3
        assert row["greedy"][1].split()[0] == "the"
    assert "sea+law (" in capsys.readouterr().out


DATA = ("command", "fingerprint", "splits")


@pytest.mark.parametrize("value", ["4=sea", "sea", "1=", "x=sea"])
def test_a_topic_that_is_not_there_cannot_be_named(value):
    with pytest.raises(InputError, match="K from 0 to 3"):
        sentences.named_topics([value], 4)


def test_only_named_topics_are_mixed():
    with pytest.raises(InputError, match="no --name gives law"):
        sentences.mixed(["sea+law"], {"sea": 0})


def test_no_record_is_written_unasked(tmp_path):
    record.write(None, argparse.ArgumentParser(), {}, {})
    assert not list(tmp_path.iterdir())


@pytest.fixture
def two_sentences():
    sequence = np.array([[1, 14, 5, 15], [1, 9, 16, 0]], np.int32)
    batch = {"inputs": sequence[:, :-1], "targets": sequence[:, 1:]}
    batch["context"] = np.array([[0, 0, 0], [8, 9, 9]], np.int32)
    return {name: tf.constant(values) for name, values in batch.items()}


def test_a_boost_multiplies_content_words_and_normalises_again(two_sentences):
    model, topics = tiny.make_model("lstm"), tiny.make_model("tcnlm", seed=5)
    language = topic_boost.predictions(model)
    own, other, count = topic_boost.scorer(language, topics, (0.0, 0.5))(two_sentences)
    assert int(count) == 5
    assert float(own[0]) == pytest.approx(float(other[0]))
    alone = model.log_probs(two_sentences["inputs"], two_sentences["targets"], ())
    assert float(own[0]) == pytest.approx(-float(tf.reduce_sum(alone)), rel=1e-5)
    expected = boosted(by_steps(model), topics, two_sentences)
    assert float(own[1]) == pytest.approx(expected, rel=1e-5)
    assert float(own[1]) != pytest.approx(float(other[1]))


def test_frequencies_boosted_are_the_topics_shares_alone(two_sentences):
    topics = tiny.make_model("tcnlm", seed=5)
    language = topic_boost.frequencies(topics.vocabulary)
    own, _, _ = topic_boost.scorer(language, topics, (0.0, 0.5))(two_sentences)
    shares = topics.vocabulary.counts / topics.vocabulary.counts.sum()
    targets = two_sentences["targets"].numpy()
    expected = -np.log(shares[targets[targets > 0]]).sum()
    assert float(own[0]) == pytest.approx(expected, rel=1e-5)
    expected = boosted(lambda _: itertools.repeat(shares), topics, two_sentences)
    assert float(own[1]) == pytest.approx(expected, rel=1e-5)


def test_a_boost_across_different_data_names_both_runs_and_their_data(monkeypatch):
    made = {"a": "preprocessing --seed 0", "b": "preprocessing --seed 1"}
    config = {k: {"data": {"fingerprint": k, "command": made[k]}} for k in made}
    monkeypatch.setattr(topic_boost.runs, "read_config", config.get)
    with pytest.raises(InputError) as error:
        topic_boost.beside("a", "b")
    assert str(error.value) == (
        "a and b were trained on different data: "
        "`preprocessing --seed 0` and `preprocessing --seed 1`"
    )


def by_steps(model):
    """Words -> the probabilities [V] after each of them, one step at a time."""

    def probabilities(words):
        state = model.initial_state(1)
        for word in words:
            log_probs, state = model.step(tf.constant([word]), state, ())
            yield np.exp(log_probs.numpy()[0].astype(float))

    return probabilities


def boosted(language, topics, batch):
    """The same by a loop over words, every probability multiplied by hand."""
    ids, total = topics.vocabulary.topic_ids, 0.0
    counts = np.asarray(topics.vocabulary.topic_counts, float)
    for row, targets in enumerate(batch["targets"].numpy()):
        t = topics.infer_context(batch["context"][row : row + 1]).numpy()[0]
        share = t @ topics.topics().numpy() / (counts / counts.sum())
        for p, target in zip(language(batch["inputs"].numpy()[row]), targets):
            p = [x * share[i] ** 0.5 if i >= 0 else x for x, i in zip(p, ids)]
            total -= np.log(p[target] / sum(p)) if target else 0.0
    return total


def test_other_tokens_keep_documents_their_order_and_sentences(tmp_path):
    raw, out = tmp_path / "raw.jsonl", tmp_path / "other.txt"
    documents = ["I don't know...<br /><br />It's 9/10! So there.", "", "Bad film."]
    raw.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    given = [str(raw), "--out", str(out)]
    other_tokens.main(other_tokens.parser().parse_args(given))
    read = [split_tdlm(line) for line in read_lines(out)]
    sentences = ["i don ' t know ...", "it ' s 9 / 10 !", "so there ."]
    assert read == [[s.split() for s in sentences], [[]], [["bad", "film", "."]]]
