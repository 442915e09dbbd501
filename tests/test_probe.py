"""The probe: what topics a state holds, against loops, and what it may not see."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import randomise
from trained import call

from tcnlm.data.dataset import Dataset
from tcnlm.metrics import probe
from tcnlm.runs.run_folder import write_config

pytestmark = pytest.mark.usefixtures("undrawn")


def moments_of(x, y):
    halves = np.array_split(np.arange(len(x)), 3)
    return probe.Moments.of((x[rows], y[rows]) for rows in halves)


def test_ridge_and_r2_are_those_of_loops_over_the_rows(rng):
    x, y = rng.normal(size=[40, 5]) + 3, rng.normal(size=[40, 3]) - 1
    penalty = 0.3
    centred, wanted = x - x.mean(0), y - y.mean(0)
    added = penalty * np.mean([np.var(column) for column in x.T])
    gram = sum(np.outer(row, row) for row in centred) / 40 + added * np.eye(5)
    expected = np.linalg.inv(gram) @ sum(map(np.outer, centred, wanted)) / 40
    W, b = probe.ridge(moments_of(x, y), penalty)
    np.testing.assert_allclose(W, expected)
    others, truth = rng.normal(size=[20, 5]) + 3, rng.normal(size=[20, 3])
    left, whole = np.zeros(3), np.zeros(3)
    for row, t in zip(others, truth):
        left += (t - row @ W - b) ** 2
        whole += (t - truth.mean(0)) ** 2
    r2, by_topic = probe.r_squared(moments_of(others, truth), W, b)
    np.testing.assert_allclose(by_topic, 1 - left / whole)
    assert r2 == pytest.approx(1 - left.sum() / whole.sum())


def test_a_state_that_holds_topics_predicts_them_and_one_that_does_not_does_not(rng):
    mixing = rng.normal(size=[6, 3])
    holds, lacks = [], []
    for size in (400, 200, 200):
        x, noise = rng.normal(size=[size, 6]), rng.normal(size=[size, 3])
        holds.append(moments_of(x, x @ mixing + 0.1 * noise))
        lacks.append(moments_of(x, noise))
    assert probe.fit(*holds)["r2"] > 0.99
    assert abs(probe.fit(*lacks)["r2"]) < 0.1
    assert probe.fit(*lacks)["penalty"] > probe.fit(*holds)["penalty"]


def test_a_topic_that_never_varies_has_no_r2(rng):
    x, y = rng.normal(size=[30, 2]), rng.normal(size=[30, 2])
    y[:, 1] = 0
    found = probe.fit(*[moments_of(x, y)] * 3)
    assert found["by_topic"][1] is None


def read_by_hand(data, split, rows, row):
    """Return the topic-word ids of the inputs of a document up to a row's last."""
    document = rows.documents[row]
    stream = split.stream
    start = stream.starts[split.documents[document]]
    words = [
        stream.words(np.array([p]), np.array([p + 1]))["inputs"][0, 0]
        for p in range(start, rows.last[row])
    ]
    return [i for i in data.vocabulary.topic_ids[words] if i >= 0]


@pytest.mark.parametrize("settings", [{}, {"carry": True, "window": 4}])
def test_a_target_is_of_the_words_that_the_state_has_read(toy_data, settings):
    data = Dataset(toy_data)
    split = data.split("valid")
    rows = tiny.untrained("lstm", data.vocabulary, **settings).batching.rows(split)
    found = list(probe.read_words(rows))
    assert len(found) == len(rows)
    for row in range(0, len(rows), 7):
        assert found[row].tolist() == read_by_hand(data, split, rows, row)
    assert sum(map(len, found))


def stepped(model, words):
    """Return h and c of every layer after words, read one by one from zero."""
    state, _ = model.initial_state((), 1)
    for word in words:
        _, state = model.step(tf.constant([word]), state, ())
    return np.concatenate([np.ravel(part) for part in tf.nest.flatten(state)])


def test_a_carried_state_is_the_one_after_all_words_before_the_last_target(
    few_data, rng
):
    """Nothing of a row's last target, or of later words, is in state or target."""
    data = Dataset(few_data)
    model = tiny.untrained("lstm", data.vocabulary, carry=True, window=4)
    randomise(model, rng, 0.5)
    rows = model.batching.rows(data.split("valid"))
    checked = 0
    for chosen, found in probe.states(model, rows, 5):
        for row, state in list(zip(chosen, found))[:2]:
            document = rows.documents[row]
            first = rows.bounds[document]
            places = [np.array([rows.first[first]]), np.array([rows.last[row]])]
            read = rows.split.stream.words(*places)["inputs"][0]
            np.testing.assert_allclose(state, stepped(model, read), atol=1e-5)
            checked += row > first
    assert checked > 5


def test_targets_are_centred_logs_of_the_topics(toy_data):
    data = Dataset(toy_data)
    topics = tiny.untrained("ntm", data.vocabulary)
    rows = tiny.untrained("lstm", data.vocabulary).batching.rows(data.split("valid"))
    found = probe.targets(topics, rows)
    for row, words in list(enumerate(probe.read_words(rows)))[:9]:
        t = topics.infer(words[None].astype(np.int32)).numpy()[0]
        logs = np.log(t + 1.2e-7)
        np.testing.assert_allclose(found[row], logs - logs.mean(), atol=1e-5)


@pytest.mark.slow
def test_the_command_probes_a_state_and_refuses_what_has_none(toy_data, tmp_path):
    lstm = tiny.make_run_on(toy_data, tmp_path / "lstm", "lstm", carry=True, window=4)
    ntm = tiny.make_run_on(toy_data, tmp_path / "ntm", "ntm")
    done = call("evaluate", lstm, "--probe", ntm)
    assert done.returncode == 0, done.stderr
    found = json.loads((lstm / "evaluation.json").read_text())["probe"]
    assert f"{found['r2']:.3f}" in done.stdout
    assert len(found["by_topic"]) == 3
    assert found["shuffled"] < max(found["r2"], 0.05)
    assert "Topics in the state" in (lstm / "report.html").read_text()
    refused = call("evaluate", ntm, "--probe", ntm)
    assert refused.returncode == 2
    assert refused.stderr == (
        "error: --probe is of models whose state can go on through a document; ntm "
        "does not\n"
    )
    refused = call("evaluate", lstm, "--probe", lstm)
    assert "is a lstm; wanted are models with topics" in refused.stderr


def test_the_command_refuses_topics_of_other_data(toy_data, tmp_path):
    lstm = tiny.make_run_on(toy_data, tmp_path / "lstm", "lstm", carry=True, window=4)
    ntm = tiny.make_run_on(toy_data, tmp_path / "ntm", "ntm")
    config = json.loads((ntm / "config.json").read_text())
    config["data"]["fingerprint"] = "another"
    write_config(ntm, config)
    refused = call("evaluate", lstm, "--probe", ntm)
    assert refused.returncode == 2
    assert f"not of the DATA that {lstm} is of" in refused.stderr
