"""The commands, settings and links of the README and of results/ exist."""

import argparse
import importlib
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
from tcnlm.settings import override
from tcnlm.training.settings import Training
from tools.results import PAGES

README = (toy.ROOT / "README.md").read_text()
PARSERS = {
    "-m preprocessing": preprocessing_parser,
    "train.py": train.parser,
    "evaluate.py": evaluate.parser,
    "generate.py": generate.parser,
    "-m tcnlm.coherence": coherence_parser,
}


BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page):
    blocks = BLOCK.findall(page)
    lines = [line.split("  #")[0].strip() for b in blocks for line in b.split("\n")]
    return [line for line in lines if line.startswith("python ")]


COMMANDS = commands(README)


def configs():
    return [model_class(name).Config() for name in MODELS]


def parser_of(words):
    """Return the parser of the program that a command line starts, and the rest."""
    size = 2 if words[0] == "-m" else 1
    program = " ".join(words[:size])
    if program in PARSERS:
        return PARSERS[program](), words[size:]
    return importlib.import_module(words[1]).parser(), words[size:]


def configs_of(command, options):
    """Return the settings that a command's --set must fit: none where it has none."""
    kinds = {"train.py": getattr(options, "model", "")}
    return [model_class(k).Config() for name, k in kinds.items() if name in command]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_pages_is_understood(command):
    parser, arguments = parser_of(shlex.split(command)[1:])
    options = parser.parse_args(arguments)
    assert isinstance(options, argparse.Namespace)
    for config in configs_of(command, options):
        assert override((config, Training()), options.set)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", page.read_text()))
    assert links
    for link in (link for link in links if not link.startswith("http")):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


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
