"""Runs that tests train, by train.py or in this process, and what became of them."""

import os
import subprocess
import sys
from unittest import mock

import h5py
import numpy as np
import tensorflow as tf
import toy

from tcnlm.common.settings import names
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.models import model_class
from tcnlm.programs import train as program
from tcnlm.training.trainer import Trainer

ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}


def run_train(*arguments, **options):
    command = toy.train_command(*arguments, **options)
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)


def train(*arguments):
    command = [sys.executable, str(toy.ROOT / "train.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)


def train_here(*arguments):
    """Run train.py in this process, whose threads are as they are."""

    def seeded(seed, *_):
        tf.keras.utils.set_random_seed(seed)

    options = program.options_of(list(map(str, arguments)))
    with mock.patch.object(program, "make_reproducible", seeded):
        program.main(options, "train.py")


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
    dataset = Dataset(data)
    kind = model_class(model)
    held = {"mean_deviation": 1.0} if "mean_deviation" in names(kind.Config) else {}
    config = kind.Config(**{**kind.TINY, **held, **(chosen or {})})
    made = kind(config, dataset.vocabulary, seed=1)
    made.build_weights()
    run.mkdir(parents=True, exist_ok=True)
    loop = Training(batch_size=16, **settings)
    return Trainer(made, dataset, run, loop, seed=1)
