"""Folders may be called as other programs write patterns of names."""

import shutil

import pytest
import toy
from trained import call, train_toy

from tcnlm.runs.run_folder import RunFolder
from tcnlm.serving.model import Served, find


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k[1]", r"a:\b*c?{d}"])
def test_every_program_takes_folders_named_like_patterns(
    name, toy_data, whole_run, tmp_path, monkeypatch
):
    """The folder that the pattern would find has the same run with other weights."""
    place = tmp_path / name
    place.mkdir()
    data, run, out = toy.make_data(place), place / "RUN", place / "out.csv"
    shutil.copytree(whole_run, tmp_path / "k1/RUN")
    assert train_toy(data, run, settings=["epochs=1"]).returncode == 0
    again = call("train", "--resume", run, "--set", "epochs=2")
    assert "continuing from step 12" in again.stdout, again.stderr
    history, whole = (RunFolder(each).history() for each in (run, whole_run))
    assert history["valid_nll"].tolist() == whole["valid_nll"].tolist()
    assert call("evaluate", run).returncode == 0
    (place / "text.txt").write_text("the ship .\n")
    line = ["--input", place / "text.txt", "--out", out]
    assert call("infer", run, *line).returncode == 0
    assert out.read_text().startswith("document,words,")
    assert call("export", run, "--out", place / "saved/1").returncode == 0
    for found in (run, place / "saved/1"):
        assert "score" in Served(find(found)).definitions
