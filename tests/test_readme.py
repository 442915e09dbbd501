"""The commands and settings that the README names exist."""

import re
import shlex
import subprocess
import sys

import pytest
import toy

import evaluate
import generate
import train
from preprocessing.arguments import parser as preprocessing_parser
from tcnlm.coherence.__main__ import parser as coherence_parser
from tcnlm.models import MODELS, model_class
from tcnlm.settings import Training, override

README = (toy.ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
LINES = [line.split("  #")[0].strip() for block in BLOCKS for line in block.split("\n")]
PARSERS = {
    "-m preprocessing": preprocessing_parser,
    "train.py": train.parser,
    "evaluate.py": evaluate.parser,
    "generate.py": generate.parser,
    "-m tcnlm.coherence": coherence_parser,
}
COMMANDS = [line for line in LINES if line.startswith("python ")]


def configs():
    return [model_class(name).Config() for name in MODELS]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_is_understood(command):
    program = next(name for name in PARSERS if command.startswith(f"python {name}"))
    arguments = shlex.split(command)[1 + len(program.split()) :]
    options = PARSERS[program]().parse_args(arguments)
    assert options
    if program == "train.py":
        assert override((model_class(options.model).Config(), Training()), options.set)


def test_the_readme_shows_the_whole_way():
    for program in PARSERS:
        assert any(command.startswith(f"python {program}") for command in COMMANDS)


def test_make_targets_of_the_readme_exist():
    makefile = (toy.ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:`|^)make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_settings_in_the_table_of_deviations_exist():
    table = README.split("## Deviations")[1].split("## Tests")[0]
    cells = [line.split("|")[-2] for line in table.split("\n") if line.startswith("|")]
    names = {n for cell in cells for n in re.findall(r"`(\w+)[=`]", cell)}
    known = {name for config in (*configs(), Training()) for name in vars(config)}
    assert len(names) > 10
    assert names <= known


@pytest.mark.parametrize("program", PARSERS)
def test_help_of_every_program_works(program):
    command = [sys.executable, *program.split(), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=toy.ROOT)
    assert result.returncode == 0
    assert "usage:" in result.stdout


def test_an_unsupported_python_is_refused_before_installing(tmp_path):
    script = (toy.ROOT / "tools/check_python.py").read_text()
    pretended = script.replace("sys.version_info", "(3, 12, 1)")
    result = subprocess.run([sys.executable, "-c", pretended], capture_output=True)
    assert result.returncode == 1
    assert b"python3.11" in result.stderr


def test_this_python_is_supported():
    command = [sys.executable, "tools/check_python.py"]
    assert subprocess.run(command, cwd=toy.ROOT).returncode == 0
