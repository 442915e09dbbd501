"""Where a model gains on another: target by target, class by class."""

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
import tiny
from helpers import randomise

from tcnlm.common.errors import InputError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.scores import score
from tcnlm.preprocessing.vocabulary import EOS, GO
from tcnlm.programs import gains as command
from tcnlm.programs.gains import gains, standard_error, target_nats
from tcnlm.runs.run_folder import RunFolder


@pytest.mark.parametrize(
    ("name", "settings"),
    [("lstm", {}), ("lstm", {"carry": True, "window": 4}), ("rgbn_rnn", {})],
    ids=["sequences", "windows", "groups"],
)
def test_every_target_has_its_nats_once_in_the_order_of_the_text(few, name, settings):
    model = tiny.untrained(name, few.vocabulary, **settings)
    randomise(model, np.random.default_rng(5), 0.5)
    split = few.split("valid")
    nats, place = target_nats(model, split, batch_size=5), 0
    assert nats.shape == (split.num_targets,)
    whole = score(model, model.batching.rows(split))
    assert nats.mean() == pytest.approx(whole.nll, rel=1e-5)
    if name != "lstm":
        return
    for index in range(3):
        state, _ = model.initial_state((), 1)
        for sentence in split.document(index):
            state = state if settings else model.initial_state((), 1)[0]
            for before, word in zip([GO, *sentence], [*sentence, EOS]):
                following, state = model.step(tf.constant([before]), state, ())
                log_p = float(following.log_probs()[0, word])
                assert nats[place] == pytest.approx(-log_p, 1e-4)
                place += 1


def test_gains_are_those_of_loops_over_targets(toy_data, rng):
    data = Dataset(toy_data)
    split, vocabulary = data.split("test"), data.vocabulary
    baseline, model = rng.uniform(1, 5, [2, split.num_targets])
    table = pd.DataFrame(gains(baseline, model, split, vocabulary))
    found = table.set_index(["classes", "name"])
    rows = [
        (vocabulary.topic_ids[word] >= 0, position)
        for index in range(split.num_documents)
        for sentence in split.document(index)
        for position, word in enumerate([*sentence, EOS], 1)
    ]
    topical, position = map(np.array, zip(*rows))
    for key, inside in (
        (("kind", "topic words"), topical),
        (("place in the sentence", "2"), position == 2),
        (("all", "all targets"), position > 0),
    ):
        gain, row = (baseline - model)[inside], found.loc[key]
        assert row.targets == len(gain)
        assert row.gain == pytest.approx(gain.mean())
        assert row.ratio == pytest.approx(np.exp(-gain.mean()))
        assert row.share_of_gain == pytest.approx(gain.sum() / (baseline - model).sum())
    sums = table.groupby("classes")[["targets", "share_of_gain"]].sum()
    assert set(sums.targets) == {split.num_targets}
    np.testing.assert_allclose(sums.share_of_gain, 1)
    alone = table.documents == 1
    assert (table.error.isna() == alone).all()


@pytest.mark.parametrize("number", [3, 12])
def test_the_error_is_that_of_means_over_documents(number):
    rng, documents = np.random.default_rng(1), np.repeat(np.arange(number), 4)
    errors, means = [], []
    for _ in range(4000):
        shift = rng.normal(size=number)[documents]  # shared by a document
        means.append(shift.mean())
        errors.append(standard_error(shift - means[-1], documents)[1] ** 2)
    assert np.mean(errors) == pytest.approx(np.var(means), rel=0.1)


def test_the_command_prints_and_writes_the_table(toy_data, tmp_path, capsys):
    runs = [
        tiny.make_run_on(toy_data, tmp_path / name, name) for name in ("lstm", "tcnlm")
    ]
    out = tmp_path / "gains.csv"
    command.main([*map(str, runs), "--out", str(out)])
    printed = capsys.readouterr().out
    assert "place in the sentence" in printed
    row = pd.read_csv(out).iloc[0]
    assert row["name"] == "all targets"
    assert f"{row.gain:.4f}" in printed


def test_runs_that_cannot_be_compared_are_refused(toy_data, tmp_path, monkeypatch):
    runs = [
        str(tiny.make_run_on(toy_data, tmp_path / name, "lstm"))
        for name in ("lstm", "other")
    ]
    with pytest.raises(InputError, match="is also the baseline; give two runs"):
        command.main([runs[0], f"{runs[0]}/../lstm"])
    silent = str(tiny.make_run_on(toy_data, tmp_path / "silent", "neural_topics"))
    monkeypatch.setattr(command, "target_nats", lambda *_: pytest.fail("scored"))
    with pytest.raises(InputError, match="silent: predicts no sentences"):
        command.main([runs[0], silent])
    other = Dataset(toy_data)
    other.meta = {**other.meta, "fingerprint": "another"}
    data = iter([Dataset(toy_data), other])
    monkeypatch.setattr(RunFolder, "data", lambda *_: next(data))
    with pytest.raises(InputError, match="trained on different DATA"):
        command.main(runs)
