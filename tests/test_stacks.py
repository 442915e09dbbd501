"""The two stacks: which one `make` installs where, and that their files agree."""

import os
import re
import subprocess
import sys

import pytest
import toy
from packaging.requirements import Requirement

SCRIPT = toy.ROOT / "tools" / "make_environment.py"
STACKS = {"pinned": "", "current": "-current"}
PYTHONS = {"pinned": ("3.9", "3.11"), "current": ("3.11", "3.13")}
PRETEND = (
    "import runpy, sys; sys.version_info = ({}, 0, 'final', 0); "
    "sys.argv[1:] = {!r}; "
    f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
)


def required(name):
    """Return what a file of requirements names, without comments."""
    lines = (toy.ROOT / name).read_text().splitlines()
    stripped = [line.partition("#")[0].strip() for line in lines]
    return {line for line in stripped if line}


def locked(name):
    """Return what a lock file names."""
    text = (toy.ROOT / "locks" / f"{name}.txt").read_text().replace("\\\n", "")
    return [Requirement(line.partition("--hash")[0]) for line in text.splitlines()]


def holds(requirement, python):
    """Whether a requirement is one of a Python's, by its marker."""
    versions = {"python_version": python, "python_full_version": f"{python}.0"}
    return not requirement.marker or requirement.marker.evaluate(versions)


@pytest.mark.parametrize("optional", ["", "-optional"])
@pytest.mark.parametrize("stack", STACKS)
def test_a_lock_has_every_requirement_at_its_version_on_every_python(stack, optional):
    files = [f"requirements{STACKS[stack]}.txt", "requirements-dev.txt"]
    files += [f"requirements-optional{STACKS[stack]}.txt"] if optional else []
    for python in PYTHONS[stack]:
        found = {
            requirement.name: str(requirement.specifier)
            for requirement in locked(stack + optional)
            if holds(requirement, python)
        }
        for wanted in map(Requirement, set().union(*map(required, files))):
            version = str(wanted.specifier) if holds(wanted, python) else None
            assert found.get(wanted.name) == version, (python, wanted.name)


def test_the_lock_of_the_site_has_every_requirement_at_its_version():
    found = {f"{r.name}{r.specifier}" for r in locked("docs")}
    assert required("requirements-docs.txt") <= found


@pytest.mark.parametrize("path", sorted((toy.ROOT / "locks").iterdir()), ids=str)
def test_every_line_of_a_lock_has_a_hash(path):
    text = path.read_text().replace("\\\n", "")
    assert all("--hash=sha256:" in line for line in text.splitlines())


@pytest.mark.parametrize(
    ("python", "stack"),
    [("3.9", "pinned"), ("3.10", "pinned"), ("3.11", "pinned"), ("3.12", "current")],
)
def test_pip_installs_the_requirements_of_its_pythons_stack(python, stack):
    project = (toy.ROOT / "pyproject.toml").read_text()
    listed = re.search(
        r"^dependencies = \[\n(.*?)^\]", project, re.DOTALL | re.MULTILINE
    )
    lines = [line.strip(' ",') for line in listed[1].splitlines()]
    files = [lines, required(f"requirements{STACKS[stack]}.txt")]
    here, wanted = (
        {f"{r.name}{r.specifier}" for r in map(Requirement, each) if holds(r, python)}
        for each in files
    )
    assert here == wanted


def test_it_says_what_to_install_where_there_is_no_python_that_fits(tmp_path):
    uv = tmp_path / "uv"  # which asks for what it is given, and fetches nothing
    uv.write_text('#!/bin/sh\necho "$@"\nexit 2\n')
    uv.chmod(0o700)
    done = subprocess.run(
        [sys.executable, "-c", PRETEND.format("3, 14", [".venv"])],
        cwd=tmp_path,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "venv --python 3.13 --seed --allow-existing .venv" in done.stdout
    assert "uv found no Python 3.13" in done.stderr
    assert "make demo PYTHON=python3.13" in done.stderr


def with_modules(tmp_path, tensorflow, keras=None, loaded=None):
    """Import tcnlm where these versions are installed; return what came of it."""
    for name, release in (("tensorflow", tensorflow), ("tf_keras", keras)):
        if release:
            folder = tmp_path / f"{name}-{release}.dist-info"
            folder.mkdir()
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n"
            (folder / "METADATA").write_text(text)
    program = f"import os, sys, types; sys.path[:] = [{str(tmp_path)!r}, *sys.path]\n"
    if loaded:
        program += "tf = sys.modules['tensorflow'] = types.ModuleType('tensorflow')\n"
        program += f"tf.keras = types.ModuleType({loaded!r})\n"
    program += "import tcnlm.common.stack as s\n"
    program += "print(os.environ.get(s.CHOICE), s.keras_version())"
    environment = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    command = [sys.executable, "-c", program]
    options = {"capture_output": True, "text": True, "cwd": toy.ROOT}
    return subprocess.run(command, env=environment, **options)


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        (("2.21.0", "2.21.3"), "1 2.21.3"),
        (("2.15.1", "2.21.0"), "None "),  # whose own Keras is 2
        (("2.99.0", None), "pip install tf-keras~=2.99.0"),
        (("2.99.0", "2.20.1"), "pip install tf-keras~=2.99.0"),
        (("2.21.0", "2.21.0", "keras._tf_keras.keras"), "import tcnlm before TensorF"),
    ],
)
def test_keras_2_is_chosen_or_asked_for(versions, said, tmp_path):
    done = with_modules(tmp_path, *versions)
    assert said in done.stdout + done.stderr
