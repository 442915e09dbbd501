"""Every test starts from the same seed, with deterministic kernels and quiet logs."""

import os
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
import toy
from hypothesis import HealthCheck, settings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
SEED = 20180409
# The same examples in every run, however slow and busy the machine.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture
def rng():
    return np.random.default_rng(SEED)


@pytest.fixture(autouse=True)
def _reproducible():
    """Seed TensorFlow where a test uses it; tests of preprocessing never import it."""
    tf = sys.modules.get("tensorflow")
    if tf is not None:
        tf.config.experimental.enable_op_determinism()
        tf.keras.utils.set_random_seed(SEED)


@pytest.fixture(scope="module")
def undrawn():
    """Leave figures blank, for all of a module: drawing takes most of an evaluation."""
    from tcnlm.drawing import figures  # imports matplotlib

    blank = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    with mock.patch.object(figures, "_contents", return_value=blank):
        yield


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory):
    """A DATA folder of a toy corpus of three themes."""
    return toy.make_data(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="session")
def few(tmp_path_factory):
    """A smaller one, opened, for what goes through a split word by word."""
    from tcnlm.data.dataset import Dataset

    return Dataset(toy.make_data(tmp_path_factory.mktemp("few"), documents=20))


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    """A DATA folder whose documents have labels and ids."""
    return toy.make_labelled_data(tmp_path_factory.mktemp("labelled"))


@pytest.fixture(scope="session")
def whole_run(toy_data, tmp_path_factory):
    """A run of two epochs, never interrupted."""
    from trained import train_toy  # imports TensorFlow

    run = tmp_path_factory.mktemp("whole") / "RUN"
    result = train_toy(toy_data, run, settings=["checkpoint_steps=3"])
    assert result.returncode == 0, result.stderr
    return run


@pytest.fixture(scope="session")
def whole_run_apart(toy_data, tmp_path_factory):
    """The same of a process of its own, with its own threads, for those killed."""
    run = tmp_path_factory.mktemp("apart") / "RUN"
    command = toy.train_command(toy_data, run, settings=["checkpoint_steps=3"])
    subprocess.run(command, check=True, capture_output=True)
    return run
