"""A RUN may be called as other programs write patterns of names."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from trained import call, train_toy

from tcnlm.programs import evaluate, export, generate, infer
from tcnlm.runs.run_folder import RunFolder
from tcnlm.serving.model import Served, find


@pytest.mark.slow
@pytest.mark.parametrize(("name", "absolute"), [("k[1]", False), (r"a\b*c?{d}", True)])
def test_every_program_takes_a_folder_named_like_a_pattern(
    name, absolute, toy_data, whole_run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run = str(tmp_path / name) if absolute else name
    shutil.copytree(whole_run, "k1")  # what the pattern would find
    done = train_toy(toy_data, run, settings=["epochs=1"])
    assert done.returncode == 0, done.stderr
    again = call("train", "--resume", run, "--set", "epochs=2")
    assert "going on from step 12" in again.stdout
    history, whole = (RunFolder(Path(each)).history() for each in (run, whole_run))
    np.testing.assert_array_equal(history["valid_nll"], whole["valid_nll"])
    evaluate.main(evaluate.parser().parse_args([run, "--export", "[out]"]), "")
    assert (tmp_path / "[out]" / "comparison.csv").exists()
    generate.main(generate.parser().parse_args([run, "--topic", "1"]))
    (tmp_path / "[t].txt").write_text("the ship .\n")
    line = [run, "--input", "[t].txt", "--out", "[t].csv"]
    infer.main(infer.parser().parse_args(line))
    export.main([run, "--out", "[saved]/1"])
    for place in (run, "[saved]/1"):
        served = Served(find(Path(place)))
        assert "score" in served.definitions
