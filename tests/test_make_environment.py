"""`make` on a machine whose Python does not fit: what is made, and what is said."""

import os
import stat
import subprocess
import sys

import pytest
import toy

pytestmark = pytest.mark.slow

SCRIPT = toy.ROOT / "tools" / "make_environment.py"
PRETEND = (
    "import runpy, sys; sys.version_info = (3, 13, 0, 'final', 0); "
    "sys.argv[1:] = ['.venv']; "
    f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
)


@pytest.fixture
def false_uv(tmp_path):
    """A folder with a program uv that writes down what it is asked for."""

    def make(status=0):
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "uv"
        asked = tmp_path / "asked.txt"
        program.write_text(f'#!/bin/sh\necho "$@" > {asked}\nexit {status}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return folder

    return make


def run_as_python_3_13(folder, path, **more):
    return subprocess.run(
        [sys.executable, "-c", PRETEND],
        cwd=folder,
        env={**os.environ, "PATH": str(path), **more},
        capture_output=True,
        text=True,
    )


def test_uv_makes_the_environment_where_this_python_does_not_fit(tmp_path, false_uv):
    done = run_as_python_3_13(tmp_path, false_uv())
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / "asked.txt").read_text().split()
    assert asked == "venv --python 3.11 --seed --allow-existing .venv".split()
    assert "This is Python 3.13" in done.stdout
    assert "uv makes .venv with Python 3.11" in done.stdout


def test_it_says_what_to_install_where_uv_can_have_no_python(tmp_path, false_uv):
    done = run_as_python_3_13(tmp_path, false_uv(status=2))
    assert done.returncode == 1
    assert "uv found no Python 3.11" in done.stderr
    assert "make demo PYTHON=python3.11" in done.stderr


def test_it_says_what_to_install_where_uv_cannot_be_had(tmp_path):
    nowhere = {"PIP_INDEX_URL": "file:///nowhere", "PIP_NO_INDEX": "1"}
    done = run_as_python_3_13(tmp_path, tmp_path, **nowhere)
    assert done.returncode == 1
    assert "uv, which would fetch one, can't be had" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_fitting_python_makes_it_itself(tmp_path):
    command = [sys.executable, str(SCRIPT), str(tmp_path / "made")]
    assert subprocess.run(command, env={**os.environ, "PATH": ""}).returncode == 0
    assert (tmp_path / "made" / "bin" / "python").exists()
