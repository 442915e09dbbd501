"""A run goes on: with more epochs, with data that was moved, never as another run."""

import shutil

import pytest
from trained import assert_same_weights, call, train_toy

from tcnlm.common.errors import InputError
from tcnlm.programs.train import options_of, resumed
from tcnlm.report.records import record
from tcnlm.runs import new_run as runs
from tcnlm.runs.folders import check_same
from tcnlm.runs.run_folder import RunFolder, write_config

SLOW = pytest.mark.slow  # those of a trained run

WAS = {"model": "tcnlm", "seed": 1, "DATA": "ab12", "cutoffs": [9], "dropout": 0.4}
WAS |= {"epochs": 2, "patience": 2, "decay": "constant"}


@pytest.fixture
def run(whole_run, tmp_path):
    """Return a copy of a finished run of two epochs."""
    return shutil.copytree(whole_run, tmp_path / "copied")


@SLOW
def test_two_epochs_and_two_more_end_with_the_weights_of_four(toy_data, tmp_path, run):
    at_once = tmp_path / "RUN"
    assert train_toy(toy_data, at_once, settings=["epochs=4"]).returncode == 0
    result = call("train", "--resume", run, "--set", "epochs=4")
    assert result.returncode == 0, result.stderr
    assert "continuing from step 24" in result.stdout
    assert_same_weights(run, at_once)
    config = RunFolder(run).config
    assert config["training"]["epochs"] == 4
    assert [c.split(" --set ")[1] for c in config["continued_by"]] == ["epochs=4"]


@SLOW
def test_a_run_tells_what_it_went_on_with_where_that_was_another(run):
    config = RunFolder(run).config
    for commit, told in (("b1", 1), ("b1", 1), ("b2", 2)):
        options = options_of(["--resume", str(run)])
        again, dataset = resumed(options, "python train.py")
        runs.open_run(run, {**again, "git_commit": commit}, dataset.vocabulary)
        since = RunFolder(run).config["continued_with"]
        assert len(since) == told
        assert since[-1]["git_commit"] == commit
        assert since[-1]["versions"] == config["versions"]
    kept = RunFolder(run).config
    assert {**config, "continued_with": since} == kept
    told = record(RunFolder(run), {"data": config["data"]})
    assert told["continued_with"] == since


@SLOW
def test_to_go_on_needs_nothing_but_the_run(run):
    options = options_of(["--resume", str(run), "--set", "patience=5"])
    config, dataset = resumed(options, "python train.py")
    old = RunFolder(run).config
    assert old["threads"] == 1
    for name in ("model", "seed", "threads", "settings", "data"):
        assert config[name] == old[name]
    assert config["training"] == {**old["training"], "patience": 5}
    assert str(dataset.path) == old["data"]["path"]


@SLOW
def test_data_that_was_moved_is_named_and_then_known(run, toy_data, tmp_path):
    config = RunFolder(run).config
    config["data"]["path"] = "/nowhere"
    write_config(run, config)
    with pytest.raises(InputError, match="/nowhere.*python train.py DATA --resume"):
        resumed(options_of(["--resume", str(run)]), "")
    moved = shutil.copytree(toy_data, tmp_path / "moved")
    config, dataset = resumed(options_of([str(moved), "--resume", str(run)]), "now")
    runs.open_run(run, config, dataset.vocabulary)
    assert RunFolder(run).config["data"]["path"] == str(moved)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--resume", "R", "--seed", "1"],
        ["--resume", "R", "--model", "lstm"],
        ["DATA", "--resume", "R", "--out", "R"],
        ["--out", "R"],
        ["DATA"],
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments):
    with pytest.raises(SystemExit) as ended:
        options_of(arguments)
    assert ended.value.code == 2


def test_a_run_of_other_settings_is_refused_by_what_differs_alone(tmp_path):
    now = {**WAS, "model": "lstm", "DATA": "cd34", "cutoffs": [7, 8], "carry": True}
    del now["dropout"]
    with pytest.raises(InputError) as refused:
        check_same(tmp_path, "python train.py data", WAS, {**now, "epochs": 9})
    message = str(refused.value)
    changes = "(model tcnlm -> lstm, DATA with other contents, cutoffs 9 -> 7,8)"
    assert changes in message
    assert "`python train.py data`" in message
    assert f"`python train.py --resume {tmp_path}`" in message


def test_where_rates_fall_the_number_of_epochs_is_the_run_s(tmp_path):
    was = {**WAS, "decay": "linear"}
    with pytest.raises(InputError, match="epochs 2 -> 9 cannot be: decay=linear made"):
        check_same(tmp_path, "", was, {**was, "epochs": 9})
