"""What users trained before a change loads, scores and goes on as it did.

old_runs/NAME holds a RUN of commit 1f67b94 on the toy corpus, interrupted after 20 of
its 24 steps, with the weights and the figures that its uninterrupted twin ended with.
"""

import json
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
import toy
from helpers import read_history

from tcnlm.common.settings import from_json
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.measures.evaluate import Reference, evaluate
from tcnlm.training import runs
from tcnlm.training.trainer import Trainer

pytestmark = pytest.mark.slow

FOLDER = toy.ROOT / "tests" / "old_runs"
NAMES = sorted(path.name for path in FOLDER.iterdir())


def copy_of(name, tmp_path):
    return shutil.copytree(FOLDER / name, tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_run_has_the_figures_that_it_had(name, toy_data):
    dataset = Dataset(toy_data)
    fingerprint = runs.read_config(FOLDER / name)["data"]["fingerprint"]
    assert dataset.meta["fingerprint"] == fingerprint
    model = runs.load(FOLDER / name)
    found = evaluate(model, dataset, Reference())
    then = json.loads((FOLDER / name / "evaluation.json").read_text())
    fitted = len(model.parameters()) - len(model.trainable_variables)
    then["parameters"] += fitted * model.topics().numpy().size if fitted else 0
    # NPMI hangs on which of two words as good as equal comes first.
    for key in ("perplexity", "targets", "parameters", "largest_proportion"):
        assert found[key] == pytest.approx(then[key], rel=1e-4), key


# LDA is fitted at once; ntm learns from documents now, not from sequences' contexts.
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("lda", "ntm")])
def test_an_old_run_goes_on_to_the_end_that_its_twin_had(name, toy_data, tmp_path):
    run, dataset = copy_of(name, tmp_path), Dataset(toy_data)
    config = runs.read_config(run)
    loop = from_json(Training, config["training"])
    model = runs.make_model(config, dataset.vocabulary)
    Trainer(model, dataset, run, loop, config["seed"]).train()
    ours, then = read_history(run), read_history(FOLDER / name)
    assert ours.step.tolist() == then.step.tolist() == [12, 24]
    for column in (c for c in then.columns if c.startswith(("train_", "valid_"))):
        np.testing.assert_allclose(
            ours[column], then[column], rtol=1e-3, atol=1e-4, err_msg=column
        )


def test_the_command_of_an_old_run_goes_on_with_it(toy_data, tmp_path):
    run = copy_of("tcnlm", tmp_path)
    command = shlex.split(runs.read_config(run)["command"])
    then_data, then_run = command[2], command[command.index("--out") + 1]
    here = {"python": sys.executable, then_data: str(toy_data), then_run: str(run)}
    command = [here.get(word, word) for word in command]
    result = subprocess.run(command, capture_output=True, text=True, cwd=toy.ROOT)
    assert result.returncode == 0, result.stderr
    assert "going on from step 20" in result.stdout
    assert (run / "saved_model" / "saved_model.pb").exists()
