"""Ctrl-C and SIGTERM in train.py: a checkpoint, one line, and the very same end."""

import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache, partial

import numpy as np
import pytest
import tensorflow as tf
import toy
from trained import (
    ENVIRONMENT,
    assert_same_weights,
    last_checkpoint,
    make_trainer,
    train_toy,
)

from tcnlm.common.errors import Interrupted, interrupts

pytestmark = pytest.mark.slow

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}


KILLED = """
import os, signal, sys
from types import SimpleNamespace
from tcnlm.common import files
from tcnlm.programs.launch import train
from tcnlm.training.validation import Validation

def kill_at(name, work):
    def killed(*arguments):
        if getattr(arguments[-1], "name", name) == name:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*arguments)
    return killed

name = sys.argv.pop(1)
files.os = SimpleNamespace(**{**vars(os), "replace": kill_at(name, os.replace)})
if name == "validation":
    Validation.scores = kill_at(name, Validation.scores)
train()
"""


@contextmanager
def training(command, until):
    """Give a running command as soon as there is a file."""
    # Where the tests run in the background, they were told to ignore Ctrl-C.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    how |= {"env": ENVIRONMENT, "preexec_fn": heed}
    with subprocess.Popen(command, **how) as process:
        while process.poll() is None and not until.exists():
            time.sleep(0.005)
        yield process


@pytest.mark.parametrize("number", STATUS)
def test_what_was_interrupted_goes_on_to_the_very_same_weights(
    number, toy_data, tmp_path, whole_run_apart
):
    run = tmp_path / "RUN"
    command = toy.train_command(toy_data, run, settings=["checkpoint_steps=3"])
    with training(command, run / "checkpoints" / "00000003") as process:
        process.send_signal(number)
        _, error = process.communicate(timeout=200)
    assert process.returncode == STATUS[number]
    [line], step = error.splitlines(), int(last_checkpoint(run).name)
    assert line.startswith("interrupted: `python ")
    assert line.endswith(f"` continues from step {step}")
    _, *words = shlex.split(line.split("`")[1])
    how = {"capture_output": True, "text": True, "env": ENVIRONMENT}
    again = subprocess.run([sys.executable, *words], **how)
    assert f"continuing from step {step}" in again.stdout
    assert_same_weights(run, whole_run_apart)


def test_a_run_has_one_training_and_after_a_kill_any_other(toy_data, tmp_path):
    run = tmp_path / "RUN"
    endless = ["topic_pretrain_steps=1000000"]
    command = toy.train_command(toy_data, run, settings=endless)
    how = {"capture_output": True, "text": True, "env": ENVIRONMENT}
    with training(command, run / "config.json") as process:
        second = subprocess.run(command, **how)
        process.kill()
        process.communicate(timeout=200)
    assert second.returncode == 2
    [line] = second.stderr.splitlines()
    assert f"RUN: process {process.pid} is writing it" in line
    other = train_toy(toy_data, run, model="lstm", settings=["epochs=1"])
    assert other.returncode == 0, other.stderr
    assert (run / "saved_model").exists()
    assert list(tmp_path.iterdir()) == [run]


def test_kills_in_the_first_write_the_validation_and_the_export_change_no_weight(
    toy_data, tmp_path, whole_run_apart
):
    run = tmp_path / "RUN"
    command = toy.train_command(toy_data, run, settings=["checkpoint_steps=3"])
    for place in ("config.json", "validation", "saved_model", "going on"):
        killed = [command[0], "-c", KILLED, place, *command[2:]]
        ended = subprocess.run(killed, capture_output=True, env=ENVIRONMENT)
        assert ended.returncode == (0 if place == "going on" else -signal.SIGKILL)
    assert_same_weights(run, whole_run_apart)
    assert list(tmp_path.iterdir()) == [run]
    ours, theirs = ({p.name for p in r.iterdir()} for r in (run, whole_run_apart))
    assert ours == theirs


@pytest.fixture(scope="module")
def ends(toy_data, tmp_path_factory):
    """Return the weights that models end with which nothing interrupts."""

    @cache
    def end(model):
        trainer = begin(toy_data, tmp_path_factory.mktemp("whole"), model)
        trainer.train()
        return trainer.model.get_weights()

    return end


def begin(data, run, model):
    tf.keras.utils.set_random_seed(1)
    chosen = {"carry": True} if model == "lstm" else {}
    return make_trainer(data, run, model, chosen, epochs=2)


def signal_after(work, calls=1):
    """Return the function with a signal at the end of one of its calls."""
    left = [calls]

    def interrupted(*arguments):
        result = work(*arguments)
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGTERM)
        return result

    return interrupted


def assert_goes_on_to(end, trainer, again):
    with interrupts.listen(), pytest.raises(Interrupted):
        trainer.train()
    again.train()
    for ours, theirs in zip(again.model.get_weights(), end):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("place", ["validation.scores", "_turn", "_account"])
def test_a_signal_at_any_place_leaves_a_checkpoint_with_the_very_same_end(
    place, toy_data, tmp_path, ends
):
    trainer = begin(toy_data, tmp_path, "tcnlm")
    *part, name = place.split(".")
    owner = getattr(trainer, *part) if part else trainer
    setattr(owner, name, signal_after(getattr(owner, name)))
    again = begin(toy_data, tmp_path, "tcnlm")
    assert_goes_on_to(ends("tcnlm"), trainer, again)


def test_a_signal_amidst_the_scoring_leaves_the_carried_state_as_it_was(
    toy_data, tmp_path, ends
):
    trainer = begin(toy_data, tmp_path, "lstm")
    scores, model = trainer.validation.scores, trainer.model

    def cut_short(valid):
        model.count_words = signal_after(model.count_words, calls=3)
        return scores(valid)

    trainer.validation.scores = cut_short
    assert_goes_on_to(ends("lstm"), trainer, begin(toy_data, tmp_path, "lstm"))


@pytest.mark.parametrize("model", ["tcnlm", "lstm"])
def test_steps_are_the_same_bits_however_many_a_call_has(model, toy_data, tmp_path):
    ends = {}
    for most in (1, 2, 20):
        tf.keras.utils.set_random_seed(1)
        trainer = make_trainer(toy_data, tmp_path / str(most), model, epochs=1)
        state = trainer.state
        trainer._until_due = lambda end, s=state, n=most: min(n, end - s.position)
        [row] = trainer.train().history
        weights = [w.numpy() for w in trainer.model.trainable_variables]
        ends[most] = {**row, "seconds": None}, weights
    row, weights = ends.pop(1)
    for same_row, same_weights in ends.values():
        assert same_row == row
        for ours, theirs in zip(weights, same_weights):
            np.testing.assert_array_equal(ours, theirs)
