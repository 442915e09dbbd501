"""`python -m preprocessing` stopped at work, killed, or run twice at once."""

import signal
import subprocess
import sys
import time
from functools import partial

import pytest
import toy

from tcnlm.programs.preprocess import main


@pytest.fixture
def working(tmp_path):
    """A command in the midst of tokenizing, on two processes."""
    corpus = tmp_path / "long.txt"
    corpus.write_text(("A sentence of some words. " * 200 + "\n") * 9000)
    options = ["--format", "text", "--input", str(corpus), "--processes", "2"]
    command = [sys.executable, "-m", "preprocessing", *options]
    command += ["--out", str(tmp_path / "DATA")]
    with subprocess.Popen(
        command,
        cwd=toy.ROOT,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, they were told to ignore Ctrl-C.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        end = time.monotonic() + 200
        while not any(file.stat().st_size for file in tmp_path.glob(".*/tokens.tmp")):
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.05)
        yield process


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupted_command_leaves_nothing(working, tmp_path, number):
    working.send_signal(number)
    _, error = working.communicate(timeout=200)
    # On a busy machine tokenizing takes long enough for a line on how far it is.
    lines = [line.strip() for line in error.splitlines()]
    said = [line for line in lines if line and not line.startswith("tokenizing:")]
    assert (working.returncode, said) == (130, ["interrupted: nothing written"])
    assert [path.name for path in tmp_path.iterdir()] == ["long.txt"]


def test_a_second_command_on_the_same_out_is_refused(working, tmp_path, capsys):
    options = ["--format", "lee", "--out", str(tmp_path / "DATA")]
    assert main(options) == 2
    assert f"DATA: process {working.pid} is writing it" in capsys.readouterr().err
    working.kill()
    working.communicate(timeout=200)


def test_a_killed_command_leaves_no_process_and_what_the_next_one_clears(
    working, tmp_path
):
    working.kill()
    # Their common error stream ends only when the last of the processes has ended.
    working.communicate(timeout=200)
    assert not (tmp_path / "DATA").exists()
    toy.make_data(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["DATA", "long.txt", "toy.txt"]
