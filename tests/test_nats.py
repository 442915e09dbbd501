"""What each document costs a model, kept beside its evaluation."""

import numpy as np
import pytest
import tiny

from tcnlm.report.evaluate_run import evaluate_run, nats_file
from tcnlm.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.mark.parametrize("name", ["lstm", "tcnlm"])
def test_documents_nats_are_kept_and_sum_to_the_perplexity(name, toy_data, tmp_path):
    run = tiny.make_run_on(toy_data, tmp_path / name, name)
    measured = evaluate_run(RunFolder(run), batch_size=7)
    with np.load(nats_file(run, "test"), allow_pickle=False) as file:
        nats, targets = file["nats"], file["targets"]
    np.testing.assert_array_equal(nats, measured.nats.nats)
    assert targets.sum() == measured.evaluation["targets"]
    assert nats.sum() / targets.sum() == pytest.approx(
        measured.evaluation["nll"], rel=1e-5
    )
    assert (nats > 0).all()
