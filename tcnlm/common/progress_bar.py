"""Progress of long work: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from tqdm import tqdm

LOG_SECONDS = 300  # between two lines


class _Lines:
    """A file to which tqdm writes each state of a bar as a line of its own."""

    def __init__(self, file: TextIO):
        self.file = file

    def write(self, text: str) -> None:
        line = text.strip()
        if line:
            self.file.write(f"{line}\n")

    def flush(self) -> None:
        self.file.flush()


def progress_bar(*arguments: Any, **options: Any) -> tqdm:
    """Return `tqdm` of these arguments; where stderr is no terminal, one of lines.

    The first of them comes after LOG_SECONDS, so that short work says nothing.
    """
    if not sys.stderr.isatty():
        often = {"mininterval": LOG_SECONDS, "maxinterval": 2 * LOG_SECONDS}
        options |= {**often, "delay": LOG_SECONDS, "ascii": True}
        options["file"] = _Lines(sys.stderr)
    return tqdm(*arguments, **options)
