"""The option --runner: where the work is done that can be done on many machines."""

from __future__ import annotations

import argparse
from itertools import takewhile
from typing import TYPE_CHECKING

from tcnlm.common.errors import InputError

if TYPE_CHECKING:
    from tcnlm.common.beam import Beam

PACKAGE = "'/path/to/tcnlm[beam]'"
RUNNERS = ("DirectRunner", "FlinkRunner", "DataflowRunner")


def add_runner(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add --runner, which takes the rest of the command line."""
    purpose = "Apache Beam's, then its own options, with the same result: "
    purpose += ", ".join(RUNNERS)
    parser.add_argument("--runner", nargs="...", help=purpose)


def without_runner(arguments: list[str]) -> list[str]:
    """Return the arguments before --runner."""
    return list(takewhile(lambda a: a.partition("=")[0] != "--runner", arguments))


def on_runner(arguments: list[str]) -> Beam:
    """Return the pipelines that --runner asks for; InputError where Beam has none."""
    if not arguments or arguments[0] not in RUNNERS:
        named = f"{arguments[0]!r}" if arguments else "nothing"
        raise InputError(f"--runner: {named} is none of {', '.join(RUNNERS)}")
    try:
        from tcnlm.common.beam import Beam
    except ModuleNotFoundError as error:
        raise InputError(
            f"--runner: {error.name} is not installed; pip install {PACKAGE}"
        ) from None
    return Beam(arguments)
