"""What is kept of an experiment: results/NAME.json, with all that repeats it."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from tcnlm.files import write_json
from tcnlm.runs import provenance


def new_parser(experiment: str, text: str) -> argparse.ArgumentParser:
    """Return the parser of an experiment's command line, with what all of them take.

    text: the module's docstring, whose first paragraph says what is measured.
    """
    parser = argparse.ArgumentParser(f"python -m experiments.{experiment}")
    parser.description = text.split("\n\n")[0]
    threads = "cores to use (default: 0, all)"
    parser.add_argument("--threads", type=int, default=0, help=threads)
    return parser


def recording_parser(experiment: str, text: str) -> argparse.ArgumentParser:
    """Return the parser of an experiment that keeps its figures in a file."""
    kept = "keep command, data and figures: results/NAME.json"
    parser = new_parser(experiment, text)
    parser.add_argument("--record", metavar="FILE", type=Path, help=kept)
    return parser


def command(parser: argparse.ArgumentParser) -> str:
    """Return the command line that runs now."""
    return shlex.join([*parser.prog.split(), *sys.argv[1:]])


def write(
    file: Path | None,
    parser: argparse.ArgumentParser,
    data: dict[str, Any],
    figures: dict[str, Any],
) -> None:
    """Write an experiment's record, whole or not at all; nothing without a file.

    data: a DATA folder's meta.json, which a RUN's config.json holds too.
    """
    if not file:
        return
    kept = {name: data[name] for name in ("command", "fingerprint", "splits")}
    made = {"command": command(parser), **provenance()}
    write_json(file, {"experiment": made, "data": kept, **figures})
    print(f"written to {file}")
