"""Programs called in this process, and runs that tests train with them."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from unittest import mock

import h5py
import numpy as np
import tensorflow as tf
import tiny
import toy

from tcnlm.common import process
from tcnlm.common.errors import errors_reported
from tcnlm.common.settings import names
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.models import model_class
from tcnlm.training.trainer import Trainer

ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}


def seeded(seed, *_):
    """Stand in for what sets a process's threads, which here are as they are."""
    tf.keras.utils.set_random_seed(seed)


def call(name, *arguments):
    """Run a program here; return its status, output and errors, as subprocess does."""
    script = f"{name}.py" if (toy.ROOT / f"{name}.py").exists() else f"tcnlm-{name}"
    line, out, err = [script, *map(str, arguments)], io.StringIO(), io.StringIO()
    here = mock.patch.object(sys, "argv", line)
    as_they_are, status = mock.patch.object(process, "make_reproducible", seeded), 0
    with here, as_they_are, redirect_stdout(out), redirect_stderr(err):
        try:
            with errors_reported():
                status = import_module(f"tcnlm.programs.{name}").main(line[1:]) or 0
        except SystemExit as ended:
            status = ended.code
    return subprocess.CompletedProcess(line, status, out.getvalue(), err.getvalue())


def train_toy(*arguments, **options):
    """Train a tiny model on the toy corpus, by train.py."""
    return call("train", *toy.train_arguments(*arguments, **options))


def weights_of(run):
    weights = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            weights[name] = item[()]

    with h5py.File(run / "model.weights.h5") as file:
        file.visititems(collect)
    return weights


def last_checkpoint(run):
    return sorted((run / "checkpoints").glob("[0-9]*"))[-1]


def assert_same_weights(run, other):
    ours, theirs = weights_of(run), weights_of(other)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def make_trainer(data, run, model="tcnlm", chosen=None, **settings):
    """Return a trainer in this process; chosen: settings of the model."""
    dataset, kind = Dataset(data), model_class(model)
    held = {"mu_batchnorm_std": 1.0} if "mu_batchnorm_std" in names(kind.Config) else {}
    made = tiny.untrained(model, dataset.vocabulary, **{**held, **(chosen or {})})
    run.mkdir(parents=True, exist_ok=True)
    loop = Training(**{"batch_size": 16, **settings})
    return Trainer(made, dataset, run, loop, seed=1)


def trained_lstm(data, run, **settings):
    """Return a trainer after training that begins, or goes on, as train.py does."""
    tf.keras.utils.set_random_seed(1)
    trainer = make_trainer(data, run, "lstm", **settings)
    trainer.train()
    return trainer
