"""The training loop: resume, seeds, early stop, broken losses (train.py as run)."""

import shutil

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
import tiny
from trained import assert_same_weights, last_checkpoint, make_trainer, train_toy

from tcnlm.common.errors import NotFiniteError
from tcnlm.data.dataset import Dataset
from tcnlm.metrics.features import DocumentTopics
from tcnlm.models import MODELS
from tcnlm.preprocessing.vocabulary import Vocabulary
from tcnlm.programs import train
from tcnlm.training.validation import collapse


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_goes_on_from_a_checkpoint_to_the_very_same_end(
    model, toy_data, tmp_path
):
    loop = {"epochs": 1, "checkpoint_steps": 2, "decay": "cosine"}
    whole = make_trainer(toy_data, tmp_path, model, **loop)
    end = whole.train()
    if whole.model.trainable_variables:
        last = last_checkpoint(tmp_path)
        shutil.rmtree(last)
        assert 0 < int(last_checkpoint(tmp_path).name) < int(last.name)
    resumed = make_trainer(toy_data, tmp_path, model, **loop)
    again = resumed.train()
    for ours, theirs in zip(resumed.model.weights, whole.model.weights):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.name)
    assert len(again.history) == len(end.history)
    for ours, theirs in zip(again.history, end.history):
        assert ours | {"seconds": 0} == theirs | {"seconds": 0}


def test_a_finished_run_is_not_trained_or_exported_again(toy_data, whole_run):
    def written():
        files = (path for path in whole_run.rglob("*") if path.is_file())
        times = {path: path.stat().st_mtime_ns for path in files}
        return {k: t for k, t in times.items() if "tensorboard" not in k.parts}

    before = written()
    result = train_toy(toy_data, whole_run, settings=["checkpoint_steps=3"])
    assert result.returncode == 0
    assert "after 2 epochs" in result.stdout
    assert written() == before


def test_a_finished_run_without_weights_or_saved_model_gets_them_back(
    toy_data, whole_run, tmp_path
):
    run = shutil.copytree(whole_run, tmp_path / "RUN")
    (run / "model.weights.h5").unlink()
    (run / "saved_model/saved_model.pb").unlink()
    result = train_toy(toy_data, run, settings=["checkpoint_steps=3"])
    assert result.returncode == 0, result.stderr
    assert_same_weights(run, whole_run)
    assert (run / "saved_model/saved_model.pb").exists()


def test_a_run_with_other_settings_is_refused(toy_data, whole_run):
    result = train_toy(toy_data, whole_run, settings=["dropout=0.1"])
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert "(dropout 0.4 -> 0.1);" in line
    assert f"`python train.py --resume {whole_run}`" in line


def test_contexts_that_leak_are_told_of_and_with_a_carried_state_refused(
    toy_data, tmp_path, capsys
):
    run, dataset = tmp_path / "RUN", Dataset(toy_data)
    result = train_toy(toy_data, run, model="topic_lstm", settings=["carry=true"])
    assert result.returncode == 2
    assert "error: context=others: contexts hold words" in result.stderr
    assert not run.exists()
    train.check_leak(tiny.untrained("rgbn_rnn", dataset.vocabulary), dataset)
    assert capsys.readouterr().err.startswith("warning: context=others: contexts hold")


def test_a_loss_that_is_not_finite_stops_with_step_and_term(toy_data, tmp_path):
    trainer = make_trainer(toy_data, tmp_path / "RUN", "neural_topics", epochs=1)
    objective = trainer.model.compute_loss

    def broken(batch, training):
        terms = objective(batch, training)
        spoilt = tf.where(trainer.model.steps >= 4, float("nan"), terms["kl"])
        return {**terms, "kl": spoilt}

    trainer.model.compute_loss = broken
    with pytest.raises(NotFiniteError, match="step 5: kl is not finite"):
        trainer.train()
    assert last_checkpoint(tmp_path / "RUN").name == "00000000"


def test_training_stops_when_validation_stops_improving(toy_data, tmp_path):
    trainer = make_trainer(toy_data, tmp_path / "RUN", model="lstm", patience=2)
    perplexities = iter([9.0, 7.0, 8.0, 7.5, 6.0])
    trainer.validation.scores = lambda valid: {
        "valid_perplexity": next(perplexities),
        "valid_nll": 0.0,
    }
    assert trainer.train().epoch == 4
    assert trainer.state.best == 7.0


@pytest.mark.parametrize("model", ["lstm", "tcnlm"])
def test_training_learns_the_toy_corpus(toy_data, tmp_path, model):
    trainer = make_trainer(toy_data, tmp_path / "RUN", model=model, epochs=14)
    history = pd.DataFrame(trainer.train().history)
    words = len(Vocabulary.load(toy_data).words)
    assert history.train_perplexity.iloc[0] < words
    assert history.valid_perplexity.iloc[-1] < 0.8 * history.valid_perplexity.iloc[0]


def test_collapse_is_said():
    def used(rows):
        rows = np.array(rows)
        return DocumentTopics(rows, np.ones(len(rows), bool))

    one, few = np.eye(20)[[3] * 50], np.eye(4)[[3] * 12]
    even = np.full((50, 20), 0.05)
    even[np.arange(50), np.arange(50) % 20] += 0.01
    alive = np.eye(20)[np.arange(50) % 20]
    assert "only 1 of 20" in collapse(used(one))
    assert "only 1 of 4 topics" in collapse(used(few))
    assert collapse(used(few[:5])) == ""
    assert collapse(used(np.eye(200)[:12])) == ""
    assert "alike" in collapse(used(even))
    assert collapse(used(alive)) == ""
    assert collapse(used(np.ones([50, 1]))) == ""
    assert collapse(DocumentTopics(one, np.zeros(len(one), bool))) == ""
