"""The package as pip installs it: complete, and usable from any folder."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys

import pytest
import toy
from trained import ENVIRONMENT

from tcnlm.programs import launch


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the installed package."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    unused = shutil.ignore_patterns("__pycache__")
    shutil.copytree(toy.ROOT / "tcnlm", source / "tcnlm", ignore=unused)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(toy.ROOT / name, source)
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", site]
    subprocess.run([*map(str, command), str(source)], check=True, capture_output=True)
    return site


def test_every_program_has_a_console_script():
    """In pyproject.toml, beside preprocessing's."""
    text = (toy.ROOT / "pyproject.toml").read_text()
    scripts = re.findall(r'^tcnlm-(\w+) = "([\w.]+):(\w+)"$', text, re.MULTILINE)
    assert dict.fromkeys(launch.PROGRAMS, launch.__name__) == {
        name: module for name, module, _ in scripts
    }
    assert all(callable(getattr(launch, function)) for *_, function in scripts)


@pytest.mark.slow
def test_one_package_is_installed_with_all_its_files(site):
    files = {
        path.relative_to(toy.ROOT)
        for path in (toy.ROOT / "tcnlm").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert all((site / path).is_file() for path in files)
    (told,) = site.glob("tcnlm-*.dist-info/top_level.txt")
    assert told.read_text().split() == ["tcnlm"]
    assert {path.name for path in site.iterdir()} == {"bin", "tcnlm", told.parent.name}


def test_tensorboard_of_a_fresh_environment_finds_what_it_imports():
    """A RUN writes for it, and newer setuptools lack or warn of pkg_resources."""
    for name in ("requirements.txt", "requirements-current.txt"):
        needed = (toy.ROOT / name).read_text()
        release = re.search(r"^setuptools==(\d+)\.(\d+)", needed, re.MULTILINE)
        assert tuple(map(int, release.groups())) < (80, 9)
    assert importlib.util.find_spec("pkg_resources")


@pytest.mark.slow
def test_programs_run_from_an_empty_folder(site, tmp_path, whole_run):
    run = shutil.copytree(whole_run, tmp_path / "RUN")
    (tmp_path / "text").write_text("the ship of the sea .")
    for words in (
        ["preprocess", "--format", "lee", "--limit", "9", "2", "2", "--min-count", "1"]
        + ["--topic-min-count", "1", "--out", "DATA"],
        ["evaluate", "RUN", "--export", "TABLES"],
        ["generate", "RUN", "--number", "1"],
        ["infer", "RUN", "--input", "text", "--out", "theta.csv"],
    ):
        program, *arguments = words
        result = subprocess.run(
            [sys.executable, str(site / "bin" / f"tcnlm-{program}"), *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**ENVIRONMENT, "PYTHONPATH": str(site)},
        )
        assert result.returncode == 0, result.stderr
    made = json.loads((run / "evaluation.json").read_text())
    assert made["command"] == "tcnlm-evaluate RUN --export TABLES"
    assert (tmp_path / "TABLES" / "comparison.csv").is_file()
    meta = json.loads((tmp_path / "DATA" / "meta.json").read_text())
    assert meta["command"].startswith("python -m preprocessing --format lee")
