"""The two stacks: which one `make` installs where, and that their files agree."""

import os
import re
import stat
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


@pytest.mark.parametrize("stack", STACKS)
def test_extras_name_the_versions_that_are_tried_here(stack):
    project = (toy.ROOT / "pyproject.toml").read_text()
    for line in required(f"requirements-optional{STACKS[stack]}.txt"):
        assert f'"{line}' in project


@pytest.fixture
def false_uv(tmp_path):
    """A folder with a program uv that writes down what it is asked for."""

    def make(status=0):
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "uv"
        asked = tmp_path / "asked.txt"
        made = tmp_path / ".venv" / "bin"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {asked}\n'
            f"/bin/mkdir -p {made}\n/bin/ln -s /bin/true {made}/python\nexit {status}\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return folder

    return make


def run_as(python, folder, path, *arguments, **more):
    given = [".venv", *arguments]
    return subprocess.run(
        [sys.executable, "-c", PRETEND.format(python.replace(".", ", "), given)],
        cwd=folder,
        env={**os.environ, "PATH": str(path), **more},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("python", "chosen", "stack", "wanted"),
    [
        ("3.14", [], "current", "3.13"),
        ("3.13", ["pinned"], "pinned", "3.11"),
        ("3.9", ["current"], "current", "3.13"),
    ],
)
def test_uv_makes_the_environment_where_this_python_does_not_fit(
    python, chosen, stack, wanted, tmp_path, false_uv
):
    done = run_as(python, tmp_path, false_uv(), *chosen)
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / "asked.txt").read_text().split()
    assert asked == f"venv --python {wanted} --seed --allow-existing .venv".split()
    assert f"This is Python {python}" in done.stdout
    assert f"uv makes .venv with Python {wanted}" in done.stdout
    assert (tmp_path / ".venv" / "stack").read_text() == f"{stack}\n"


def test_it_says_what_to_install_where_uv_can_have_no_python(tmp_path, false_uv):
    done = run_as("3.14", tmp_path, false_uv(status=2))
    assert done.returncode == 1
    assert "uv found no Python 3.13" in done.stderr
    assert "make demo PYTHON=python3.13" in done.stderr


@pytest.mark.slow
def test_it_says_what_to_install_where_uv_cannot_be_had(tmp_path):
    nowhere = {"PIP_INDEX_URL": "file:///nowhere", "PIP_NO_INDEX": "1"}
    done = run_as("3.14", tmp_path, tmp_path, **nowhere)
    assert done.returncode == 1
    assert "uv, which would fetch one, can't be had" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_stack_that_there_is_not_is_refused(tmp_path):
    done = run_as("3.11", tmp_path, tmp_path, "newest")
    assert done.returncode == 1
    assert "STACK=newest: must be pinned or current" in done.stderr


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


def test_keras_2_is_chosen_where_tensorflow_has_keras_3(tmp_path):
    done = with_modules(tmp_path, "2.21.0", "2.21.3")
    assert done.stdout.split() == ["1", "2.21.3"], done.stderr


def test_nothing_is_chosen_where_tensorflow_has_keras_2(tmp_path):
    done = with_modules(tmp_path, "2.15.1", "2.21.0")
    assert done.stdout.split()[0] == "None", done.stderr


@pytest.mark.parametrize("keras", [None, "2.20.1"])
def test_a_tf_keras_of_another_minor_version_is_refused(keras, tmp_path):
    done = with_modules(tmp_path, "2.99.0", keras)
    assert "pip install tf-keras~=2.99.0" in done.stderr


def test_keras_3_in_use_before_the_import_is_refused(tmp_path):
    done = with_modules(tmp_path, "2.21.0", "2.21.0", "keras._tf_keras.keras")
    assert "import tcnlm before TensorFlow" in done.stderr
