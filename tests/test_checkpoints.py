"""Checkpoints and the best weights: damage is noticed, and recovered from or named."""

import json
import re
import shutil

import pytest
import tiny
from damage import damage, flip
from trained import last_checkpoint, make_trainer

from tcnlm.common.errors import InputError
from tcnlm.runs.new_run import open_run
from tcnlm.runs.run_folder import RunFolder, write_config
from tcnlm.runs.weights import DIGEST, WEIGHTS


@pytest.fixture(scope="module")
def ended(toy_data, tmp_path_factory):
    """A finished run whose two checkpoints are amidst its epoch and at its end."""
    run = tmp_path_factory.mktemp("ended") / "RUN"
    make_trainer(toy_data, run, "lstm", epochs=1, checkpoint_steps=8).train()
    return run


@pytest.fixture
def run(ended, tmp_path):
    return shutil.copytree(ended, tmp_path / "RUN")


@pytest.fixture
def again(toy_data, run):
    """Return what goes on with the run."""
    return make_trainer(toy_data, run, "lstm", epochs=1, checkpoint_steps=8)


def edit(path, pattern, replacement):
    text = path.read_text()
    edited = re.sub(pattern, replacement, text, count=1)
    assert edited != text
    path.write_text(edited)


@pytest.mark.parametrize("name", ["weights.data-00000-of-00001", "weights.index"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(name, run, again, capsys):
    last = last_checkpoint(run)
    flip(last / name, 1)
    assert again.checkpoints.restore().position > 0
    assert int(again.model.steps) < int(last.name)
    assert f"{last}: this checkpoint is damaged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        ('"best": [0-9.]*', '"best": 1.5'),
        ('"waited": 0', '"waited": 7'),
        ('"valid_nll": [0-9.]*', '"valid_nll": 1.5'),
        ('"state_sha256"', '"state_sha257"'),
        (', "state_sha256": "[0-9a-f]*"', ', "comment": ""'),
    ],
)
def test_a_state_that_was_edited_is_damaged(pattern, replacement, run, again):
    edit(last_checkpoint(run) / "state.json", pattern, replacement)
    assert again.checkpoints.restore().position > 0


def test_a_state_without_a_hash_of_an_old_run_is_taken(run, again):
    edit(last_checkpoint(run) / "state.json", ', "state_sha256": "[0-9a-f]*"', "")
    assert again.checkpoints.restore().epoch == 1


def test_where_every_checkpoint_is_damaged_training_is_refused(run, again):
    for state in run.glob("checkpoints/*/state.json"):
        state.write_text("{")
    with pytest.raises(InputError, match="every checkpoint is damaged; give another"):
        again.train()


def test_the_checkpoint_of_another_model_is_refused(run, toy_data):
    other = make_trainer(toy_data, run, "lstm", {"units": 9}, epochs=1)
    with pytest.raises(InputError, match="the checkpoint of another model"):
        other.train()


@pytest.mark.parametrize("harm", ["missing", "zeros", "cut off by a byte"])
def test_weights_that_are_harmed_are_recovered(harm, run, again, capsys):
    whole = (run / WEIGHTS).read_bytes()
    damage(run / WEIGHTS, harm)
    again.train()
    assert (run / WEIGHTS).read_bytes() == whole
    assert f"taken from {last_checkpoint(run)}" in capsys.readouterr().out


def test_the_only_checkpoint_comes_back_where_a_kill_left_it_aside(
    run, toy_data, tmp_path
):
    made = RunFolder(tiny.make_run_on(toy_data, tmp_path / "other", "lstm"))
    made.vocabulary.save(run)
    write_config(run, made.config)
    last = last_checkpoint(run)
    for other in set(run.glob("checkpoints/0*")) - {last}:
        shutil.rmtree(other)
    last.rename(last.with_name(f".123.old.{last.name}"))
    open_run(run, made.config, made.vocabulary)
    assert last_checkpoint(run) == last


def test_weights_that_no_checkpoint_holds_are_named(run, again):
    """As in a RUN from before checkpoints held any."""
    (run / WEIGHTS).unlink()
    for copy in run.glob(f"checkpoints/*/{WEIGHTS}"):
        state = copy.parent / "state.json"
        content = json.loads(state.read_text())
        del content["sha256"][WEIGHTS]
        state.write_text(json.dumps(content))
        copy.unlink()
    with pytest.raises(InputError, match="missing or damaged, and no checkpoint"):
        again.train()


def test_a_kill_between_weights_and_hash_leaves_no_false_hash(
    toy_data, run, again, monkeypatch
):
    again.checkpoints.restore()
    monkeypatch.setattr("tcnlm.runs.weights.seal", lambda *files: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        again._turn({"valid_perplexity": 1.0, "epoch": 1, "step": 1, "seconds": 0.0})
    assert not (run / DIGEST).exists()
