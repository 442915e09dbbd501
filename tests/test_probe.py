"""The probe: what topics a state holds, against loops, and what it may not see."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tiny
from helpers import randomise
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from trained import call

from tcnlm.data.dataset import Dataset
from tcnlm.metrics import probe
from tcnlm.runs.run_folder import write_config

pytestmark = pytest.mark.usefixtures("undrawn")


def moments_of(x, y):
    halves = np.array_split(np.arange(len(x)), 3)
    return probe.Moments.of((x[rows], y[rows]) for rows in halves)


def test_ridge_and_r2_are_scikit_learns(rng):
    x, y = rng.normal(size=[40, 5]) + 3, rng.normal(size=[40, 3]) - 1
    W, b = probe.ridge(moments_of(x, y), 0.3)
    alpha = 40 * 0.3 * x.var(axis=0).mean()  # theirs is of a sum over the rows
    theirs = Ridge(alpha).fit(x, y)
    np.testing.assert_allclose(W, theirs.coef_.T)
    np.testing.assert_allclose(b, theirs.intercept_)
    others, truth = rng.normal(size=[20, 5]) + 3, rng.normal(size=[20, 3])
    r2, by_topic = probe.r_squared(moments_of(others, truth), W, b)
    predicted = theirs.predict(others)
    kinds = {"multioutput": "raw_values"}
    np.testing.assert_allclose(by_topic, r2_score(truth, predicted, **kinds))
    whole = r2_score(truth, predicted, multioutput="variance_weighted")
    assert r2 == pytest.approx(whole)


@pytest.mark.parametrize("settings", [{}, {"carry": True, "window": 4}])
def test_a_target_is_of_the_words_that_the_state_has_read(toy_data, settings):
    data = Dataset(toy_data)
    split = data.split("valid")
    rows = tiny.untrained("lstm", data.vocabulary, **settings).batching.rows(split)
    read = list(probe.read_words(rows))
    assert len(read) == len(rows)
    for row in range(0, len(rows), 7):
        start = split.stream.starts[split.documents[rows.documents[row]]]
        places = np.array([start]), np.array([rows.last[row]])
        ids = data.vocabulary.topic_ids[split.stream.words(*places)["inputs"][0]]
        assert read[row].tolist() == ids[ids >= 0].tolist()
    assert sum(map(len, read))
    model = tiny.untrained("ntm", data.vocabulary)
    for words, target in list(zip(read, probe.targets(model, rows)))[:9]:
        logs = np.log(model.infer(words[None].astype(np.int32)).numpy()[0] + 1.2e-7)
        np.testing.assert_allclose(target, logs - logs.mean(), atol=1e-5)


def stepped(model, words):
    """Return h and c of every layer after words, read one by one from zero."""
    state, _ = model.initial_state((), 1)
    for word in words:
        _, state = model.step(tf.constant([word]), state, ())
    return np.concatenate([np.ravel(part) for part in tf.nest.flatten(state)])


def test_a_carried_state_is_the_one_after_all_words_before_the_last_target(few, rng):
    """Nothing of a row's last target, or of later words, is in state or target."""
    model = tiny.untrained("lstm", few.vocabulary, carry=True, window=4)
    randomise(model, rng, 0.5)
    rows = model.batching.rows(few.split("valid"))
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


def test_the_command_refuses_states_and_topics_that_do_not_fit(toy_data, tmp_path):
    lstm = tiny.make_run_on(toy_data, tmp_path / "lstm", "lstm", carry=True, window=4)
    ntm = tiny.make_run_on(toy_data, tmp_path / "ntm", "ntm")
    no_state = "--probe is of models whose state can go on through a document; ntm does"
    for run, beside, said in (
        (ntm, ntm, f"error: {no_state} not\n"),
        (lstm, lstm, "is a lstm; wanted are models with topics"),
    ):
        refused = call("evaluate", run, "--probe", beside)
        assert refused.returncode == 2
        assert said in refused.stderr
    config = json.loads((ntm / "config.json").read_text())
    config["data"]["fingerprint"] = "another"
    write_config(ntm, config)
    refused = call("evaluate", lstm, "--probe", ntm)
    assert f"not of the DATA that {lstm} is of" in refused.stderr
