"""train.py --seeds: a run a seed, one after the other, each as it would be alone."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy

from tcnlm.common.errors import InputError
from tcnlm.common.process import one_by_one
from tcnlm.programs.evaluate import _first
from tcnlm.programs.train import commands, options_of
from tcnlm.runs.folders import runs_of

PROGRAM = """
import sys, time
print(*sys.argv[1:], flush=True)
if sys.argv[1] == "fail":
    sys.exit(2)
if sys.argv[1] == "wait":
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("ended well", flush=True)
        sys.exit(130)
"""
RUNNER = """
import sys
from tcnlm.common.process import one_by_one
sys.argv = [sys.argv[1]]
sys.exit(one_by_one([["wait"], ["second"]]))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    monkeypatch.setattr(sys, "argv", [str(path)])
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    yield path
    for number, handler in before.items():
        signal.signal(number, handler)


def test_each_seed_has_the_same_command_but_for_its_folder():
    line = "data --model lstm --out runs --seeds 3 5 --threads 1 --embeddings train"
    options = options_of([*line.split(), "--set", "units=8", "epochs=2"])
    for seed, command in zip((3, 5), commands(options)):
        alone = options_of(command)
        assert (alone.seed, alone.out) == (seed, f"runs/seed-{seed}")
        assert (alone.data, alone.model, alone.threads) == ("data", "lstm", 1)
        assert alone.set == ["units=8", "epochs=2", "embeddings=train"]
        assert alone.seeds is None


@pytest.mark.parametrize(
    "wrong",
    ["--out r --seed 1 --seeds 2", "--resume r --seeds 2", "--out r --seeds 2 2"],
)
def test_seeds_that_say_two_things_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        options_of(["data", *wrong.split()])
    assert ended.value.code == 2
    assert "--seeds" in capsys.readouterr().err


def test_runs_follow_each_other_until_one_fails(program, capfd):
    assert one_by_one([["first"], ["fail"], ["never"]]) == 2
    assert capfd.readouterr().out.split() == ["first", "fail"]
    assert one_by_one([["first"], ["second"]]) == 0


def test_a_signal_ends_the_run_that_is_on_and_those_that_wait(program):
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(program)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=toy.ROOT,
    ) as process:
        assert process.stdout.readline() == "wait\n"
        time.sleep(0.2)  # until it sleeps, too
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert (said, process.returncode) == ("ended well\n", 130)


def test_a_signal_while_a_run_is_being_started_reaches_it(program, monkeypatch, capfd):
    start = subprocess.Popen

    def interrupted(command, **options):
        process = start(command, **options)
        while not capfd.readouterr().out:
            time.sleep(0.2)  # and until it sleeps, too
        signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    assert one_by_one([["wait"], ["second"]]) == 130
    assert "second" not in capfd.readouterr().out


def test_a_folder_of_seeds_stands_for_its_runs_by_number(tmp_path):
    for name in ("seed-10", "seed-2", "seed-x", "other"):
        (tmp_path / name).mkdir()
    assert runs_of(tmp_path) == [tmp_path / "seed-2", tmp_path / "seed-10"]
    (tmp_path / "config.json").touch()
    assert runs_of(tmp_path) == [tmp_path]


def test_the_seeds_of_a_baseline_come_before_all_others():
    paths = [Path("a"), Path("b/seed-1"), Path("b/seed-2")]
    assert _first(Path("b/seed-2"), paths) == [paths[2], paths[0], paths[1]]
    with pytest.raises(InputError, match="--baseline c: is none of the RUNs a"):
        _first(Path("c"), paths)


def test_all_seeds_of_a_folder_are_a_baseline(tmp_path):
    seeds = [tmp_path / "b" / f"seed-{seed}" for seed in (1, 2)]
    for seed in seeds:
        seed.mkdir(parents=True)
    assert _first(tmp_path / "b", [Path("a"), *seeds]) == [*seeds, Path("a")]
