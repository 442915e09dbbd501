"""A RUN may be called as other programs write patterns of names."""

import numpy as np
import pytest
import toy
from trained import train_here

from tcnlm.programs import evaluate, export, generate, infer
from tcnlm.serving.model import Served, find
from tcnlm.training import runs


def trained(data, run, *settings):
    line = toy.train_command(data, run, settings=settings)[2:]
    train_here(*line)
    return runs.read_history(runs.Path(run))


@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
@pytest.mark.parametrize("name", ["k[1]", r"a\b*c?{d}"])
def test_every_program_takes_a_folder_named_like_a_pattern(
    name, absolute, toy_data, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    run = str(tmp_path / name) if absolute else name
    trained(toy_data, "k1", "epochs=1")  # what the pattern would find
    trained(toy_data, run, "epochs=1")
    train_here("--resume", run, "--set", "epochs=2")
    assert "going on from step 12" in capsys.readouterr().out
    whole = trained(toy_data, "whole", "epochs=2")
    history = runs.read_history(runs.Path(run))
    np.testing.assert_array_equal(history["valid_nll"], whole["valid_nll"])
    evaluate.main(evaluate.parser().parse_args([run, "--export", "[out]"]), "")
    assert (tmp_path / "[out]" / "comparison.csv").exists()
    generate.main(generate.parser().parse_args([run, "--topic", "1"]))
    (tmp_path / "[t].txt").write_text("the ship .\n")
    line = [run, "--input", "[t].txt", "--out", "[t].csv"]
    infer.main(infer.parser().parse_args(line))
    export.main([run, "--out", "[saved]/1"])
    for place in (run, "[saved]/1"):
        served = Served(find(runs.Path(place)))
        assert "score" in served.definitions
