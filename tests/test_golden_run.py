"""What users trained before a change loads, scores and goes on as it did.

golden_run holds a RUN of commit 9ac0c67 on the toy corpus, interrupted after 20 of its
24 steps, with the weights and the figures that its uninterrupted twin ended with.
"""

import json
import shutil

import pytest
import toy

from tcnlm.common.errors import InputError
from tcnlm.common.settings import from_json
from tcnlm.data.dataset import Dataset
from tcnlm.layers.optimization import Training
from tcnlm.report.evaluate_run import evaluate
from tcnlm.runs.run_folder import RunFolder, make_model
from tcnlm.training.trainer import Trainer


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(toy.GOLDEN_RUN, tmp_path / "RUN")


def test_the_golden_run_has_the_figures_that_it_had(run, toy_data):
    dataset = Dataset(toy_data)
    assert dataset.meta["fingerprint"] == RunFolder(run).config["data"]["fingerprint"]
    _, found = evaluate(RunFolder(run).load(), dataset)
    then = json.loads((toy.GOLDEN_RUN / "evaluation.json").read_text())
    # NPMI hangs on which of two words as good as equal comes first.
    for key in ("perplexity", "targets", "parameters", "largest_proportion"):
        assert found[key] == pytest.approx(then[key], rel=1e-4), key


def test_an_unfinished_training_of_before_is_refused_in_a_line(run, toy_data):
    """Its checkpoint has the state of random draws, of which there is none now."""
    dataset, config = Dataset(toy_data), RunFolder(run).config
    loop = from_json(Training, config["training"])
    model = make_model(config, dataset.vocabulary)
    with pytest.raises(InputError, match="of another model, or of another version"):
        Trainer(model, dataset, run, loop, config["seed"]).train()
