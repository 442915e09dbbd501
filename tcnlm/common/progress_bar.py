"""Progress of long work: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TextIO

from tqdm import tqdm

FIRST_SECONDS, LOG_SECONDS = 10, 300  # between lines of a log, at first and at most


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


class _Rarer(tqdm):
    """A bar whose lines come ever more rarely."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the items; tqdm's own loop counts them anew where the wait grows."""
        with self:
            for item in self.iterable:
                yield item
                self.update()

    def display(self, *arguments: Any, **options: Any) -> Any:
        """Write a line, and wait longer for the next."""
        self.mininterval = min(1.5 * self.mininterval, LOG_SECONDS)
        return super().display(*arguments, **options)


def progress_bar(*arguments: Any, **options: Any) -> tqdm:
    """Return `tqdm` of these arguments; where stderr is no terminal, one of lines."""
    if sys.stderr.isatty():
        return tqdm(*arguments, **options)
    often = {"mininterval": FIRST_SECONDS, "maxinterval": 2 * LOG_SECONDS}
    options |= {**often, "delay": FIRST_SECONDS, "ascii": True}
    return _Rarer(*arguments, **options, file=_Lines(sys.stderr))
