"""Where a model gains on another: target by target, class by class."""

import csv
import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import randomise

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.gains import _gain, gains, target_nats
from tcnlm.metrics.scores import score
from tcnlm.preprocessing.vocabulary import EOS, GO, UNK
from tcnlm.programs import gains as command
from tcnlm.runs.run_folder import RunFolder


@pytest.fixture(scope="module")
def data(toy_data):
    return Dataset(toy_data)


@pytest.fixture(scope="module")
def few(few_data):
    return Dataset(few_data)


def made(data, name, **settings):
    model = tiny.untrained(name, data.vocabulary, **settings)
    return randomise(model, np.random.default_rng(5), 0.5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("lstm", {}), ("lstm", {"carry": True, "window": 7}), ("rgbn_rnn", {})],
    ids=["sequences", "windows", "groups"],
)
def test_every_target_has_its_nats_once(few, name, settings):
    model, split = made(few, name, **settings), few.split("valid")
    nats = target_nats(model, split, batch_size=5)
    assert nats.shape == (split.num_targets,)
    whole = score(model, model.batching.rows(split))
    assert nats.mean() == pytest.approx(whole.nll, rel=1e-5)


@pytest.mark.parametrize("carry", [False, True])
def test_nats_stand_in_the_order_of_the_text(few, carry):
    model = made(few, "lstm", **({"carry": True, "window": 4} if carry else {}))
    split = few.split("valid")
    nats, place = target_nats(model, split, batch_size=5), 0
    for index in range(3):
        state, _ = model.initial_state((), 1)
        for sentence in split.document(index):
            state = state if carry else model.initial_state((), 1)[0]
            for before, word in zip([GO, *sentence], [*sentence, EOS]):
                following, state = model.step(tf.constant([before]), state, ())
                log_p = float(following.log_probs()[0, word])
                assert nats[place] == pytest.approx(-log_p, 1e-4)
                place += 1


def test_gains_are_those_of_loops_over_targets(data, rng):
    split, vocabulary = data.split("test"), data.vocabulary
    baseline, model = rng.uniform(1, 5, [2, split.num_targets])
    found = {(g.classes, g.name): g for g in gains(baseline, model, split, vocabulary)}
    topic_words, second, place = [], [], 0
    for index in range(split.num_documents):
        sums = 0.0
        for sentence in split.document(index):
            for position, word in enumerate([*sentence, EOS], 1):
                difference = baseline[place] - model[place]
                if vocabulary.topic_ids[word] >= 0:
                    topic_words.append(difference)
                if position == 2:
                    second.append(difference)
                    sums += difference
                place += 1
    total = (baseline - model).sum()
    topics, position = found["kind", "topic words"], found["place in the sentence", "2"]
    assert topics.gain == pytest.approx(np.mean(topic_words))
    assert topics.share_of_gain == pytest.approx(sum(topic_words) / total)
    assert (position.targets, position.gain) == (len(second), np.mean(second))
    for classes in {classes for classes, _ in found}:
        parts = [gain for (title, _), gain in found.items() if title == classes]
        assert sum(gain.targets for gain in parts) == split.num_targets
        assert sum(gain.share_of_gain for gain in parts) == pytest.approx(1)
    assert found["all", "all targets"].ratio == pytest.approx(np.exp(-(total / place)))
    assert ("kind", "<unk>") not in found or UNK in split.tokens


def test_what_one_document_has_gains_without_an_error(data, rng):
    split, vocabulary = data.split("test"), data.vocabulary
    baseline, model = rng.uniform(1, 5, [2, split.num_targets])
    found = gains(baseline, model, split, vocabulary)
    alone = [gain for gain in found if gain.documents == 1]
    assert all((gain.error is None) == (gain in alone) for gain in found)
    assert found[0].documents == split.num_documents
    one = dataclasses.replace(found[0], documents=1, error=None)
    assert re.search(r" 1 .* \+- +- ", command.table([one]))


def test_the_error_of_few_documents_is_that_of_means_over_them(rng):
    documents = np.repeat(np.arange(3), 4)
    inside, errors, means = np.full(12, True), [], []
    for _ in range(4000):
        shift = rng.normal(size=3)[documents]
        found = _gain("", "", shift, np.zeros(12), documents, inside)
        errors.append(found.error**2)
        means.append(found.gain)
    assert np.mean(errors) == pytest.approx(np.var(means), rel=0.1)


def test_the_error_is_that_of_means_over_documents(data):
    split = data.split("test")
    rng, errors, means = np.random.default_rng(1), [], []
    document = np.repeat(
        np.arange(split.num_documents),
        np.diff(split.stream.starts[split.documents]),
    )
    for _ in range(300):
        shift = rng.normal(size=split.num_documents)[document]  # shared by a document
        whole = gains(shift, np.zeros_like(shift), split, data.vocabulary)[0]
        errors.append(whole.error)
        means.append(whole.gain)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.25)


def test_the_command_prints_and_writes_the_table(toy_data, tmp_path, capsys):
    runs = [
        tiny.make_run_on(toy_data, tmp_path / name, name) for name in ("lstm", "tcnlm")
    ]
    out = tmp_path / "gains.csv"
    command.main(command.parser().parse_args([*map(str, runs), "--out", str(out)]))
    printed = capsys.readouterr().out
    assert "by place in the sentence" in printed
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["name"] == "all targets"
    assert f"{float(rows[0]['gain']):.4f}" in printed


def test_runs_that_cannot_be_compared_are_refused(toy_data, tmp_path, monkeypatch):
    runs = [
        tiny.make_run_on(toy_data, tmp_path / name, "lstm")
        for name in ("lstm", "other")
    ]
    options = command.parser().parse_args(list(map(str, runs)))
    monkeypatch.setattr(RunFolder, "load", lambda _: object())
    with pytest.raises(InputError, match="lstm: predicts no sentences"):
        command.main(options)
    other = Dataset(toy_data)
    other.meta = {**other.meta, "fingerprint": "another"}
    data = iter([Dataset(toy_data), other])
    monkeypatch.setattr(RunFolder, "data", lambda *_: next(data))
    with pytest.raises(InputError, match="trained on different DATA"):
        command.main(options)


def test_a_run_is_not_compared_with_itself(toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / "RUN", "lstm")
    options = command.parser().parse_args([str(run), f"{run}/../RUN"])
    with pytest.raises(InputError, match="is the baseline too; give two runs"):
        command.main(options)


def test_two_runs_alike_have_no_gain_to_share(toy_data):
    data = Dataset(toy_data)
    split, nats = data.split("test"), np.ones(data.split("test").num_targets)
    found = gains(nats, nats, split, data.vocabulary)
    assert {each.share_of_gain for each in found} == {None}
    assert "nan" not in command.table(found)
