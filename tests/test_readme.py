"""The commands, settings and links of the README, docs/ and results/ exist."""

import argparse
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import toy

from tcnlm.layers.optimization import Training
from tcnlm.models import MODELS, model_class
from tcnlm.preprocessing.collect import SPLITS
from tcnlm.preprocessing.data_folder import CONTENTS
from tcnlm.programs.train import chosen
from tcnlm.report.evaluate_run import kept_as, nats_file
from tcnlm.report.topic_numbers import PICTURE, TABLE
from tcnlm.runs.checkpoints import STATE
from tcnlm.runs.new_run import TRAINED

README = (toy.ROOT / "README.md").read_text()
DOCS = sorted((toy.ROOT / "docs").glob("*.md"))
PAGES = [toy.ROOT / f"{folder}/README.md" for folder in (".", "results", "benchmarks")]
PAGES += [*DOCS, toy.ROOT / "results/levels.md"]
ALL_PAGES = sorted({*PAGES, *(toy.ROOT / "results").glob("*.md")})
STEPS = {
    "-m preprocessing": "preprocess",
    "train.py": "train",
    "evaluate.py": "evaluate",
    "-m tcnlm infer": "infer",
    "generate.py": "generate",
}
OTHERS = ("coherence", "gains", "export", "reproduce", "serve")
PARSERS = {
    line: importlib.import_module(f"tcnlm.programs.{name}").parser
    for line, name in {**STEPS, **{f"-m tcnlm {n}": n for n in OTHERS}}.items()
}
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page):
    blocks = BLOCK.findall(page)
    lines = [line.split("  #")[0].strip() for b in blocks for line in b.split("\n")]
    return [line for line in lines if line.startswith("python ")]


COMMANDS = sorted({line for page in PAGES for line in commands(page.read_text())})


def settings_known():
    configs = [model_class(name).Config() for name in MODELS]
    return {name for config in (*configs, Training()) for name in vars(config)}


def inline_code(page):
    """Return what stands between backquotes in a page's text."""
    return re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", BLOCK.sub("", page.read_text()))


def parser_of(words):
    """Return the parser of the program that a command line starts, and the rest."""
    size = 1 + (words[0] == "-m") + (words[1] == "tcnlm")
    program = " ".join(words[:size])
    if program in PARSERS:
        return PARSERS[program](), words[size:]
    module = words[size - 1].removesuffix(".py").replace("/", ".")
    return importlib.import_module(module).parser(), words[size:]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_pages_is_understood(command):
    parser, arguments = parser_of(shlex.split(command)[1:])
    options = parser.parse_args(arguments)
    assert isinstance(options, argparse.Namespace)
    if "train.py" in command:
        assert chosen(options, 10**6)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}


def in_repository(page):
    return str(page.relative_to(toy.ROOT))


@pytest.mark.parametrize("page", ALL_PAGES, ids=in_repository)
def test_every_link_of_a_page_leads_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", page.read_text()))
    assert links
    for link in (link for link in links if not link.startswith("http")):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_page_of_files_tells_of_all_that_data_and_runs_hold():
    told = set(inline_code(toy.ROOT / "docs/files.md"))
    data = {re.sub("^(train|valid|test)/", "SPLIT/", name) for name in CONTENTS}
    assert data - set(SPLITS) <= told
    run = {*TRAINED, *(c.name for s in ("test", "valid") for c in kept_as(Path(), s))}
    run |= {nats_file(Path(), split).name for split in ("test", "valid")}
    assert run - {"checkpoints"} <= told
    assert {"checkpoints/STEP", STATE, TABLE, PICTURE} <= told


def test_readme_and_results_are_as_short_as_they_are_to_be():
    assert len(README.splitlines()) <= 175
    assert len(README.split()) <= 1000
    assert len((toy.ROOT / "results/README.md").read_text().splitlines()) <= 100
    assert len(list((toy.ROOT / "results").iterdir())) <= 30


def test_the_readme_shows_the_whole_way_a_command_a_step():
    lines = [command.removeprefix("python ") for command in commands(README)]
    steps = [next(s for s in STEPS if line.startswith(s)) for line in lines]
    assert steps == list(STEPS)


def test_the_readme_lists_systems_that_exist():
    table = README.split("## The systems")[1].split("##")[0]
    names = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert len(names) >= 10
    assert names <= set(MODELS)


def test_the_map_of_the_readme_has_every_room():
    rooms = set(re.findall(r"^  (\w+)/ +\w", README.split("## Code layout")[1], re.M))
    files = (toy.ROOT / "tcnlm").glob("*/*")
    assert rooms == {p.parent.name for p in files if p.suffix in (".py", ".toml")}


@pytest.mark.parametrize("page", PAGES, ids=in_repository)
def test_settings_and_options_in_the_text_of_a_page_exist(page):
    parsers = [parser() for parser in PARSERS.values()]
    options = {o for p in parsers for a in p._actions for o in a.option_strings}
    text = " ".join(inline_code(page))
    assert set(re.findall(r"(?<!\S)([a-z]\w*)=", text)) <= settings_known()
    assert set(re.findall(r"(?<!\S)--[\w-]+", text)) <= options


@pytest.mark.parametrize("program", PARSERS)
def test_help_of_every_program_works(program):
    command = [sys.executable, *program.split(), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=toy.ROOT)
    assert "usage:" in result.stdout
