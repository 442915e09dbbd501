"""Rows of a table to a file, one after the other: .csv or .jsonl, by its name."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from tcnlm.common import files
from tcnlm.common.errors import InputError
from tcnlm.common.files import replacing

Row = dict[str, Any]  # column to value; None where there is none

FORMULA = re.compile(r"[-=+@\t\r\n]")
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def check_writable(path: Path) -> None:
    """Refuse a file that is of no known kind or cannot be written."""
    if path.suffix not in WRITERS:
        raise InputError(f"{path}: its name must end in {' or '.join(WRITERS)}")
    files.check_writable(path)


@contextlib.contextmanager
def row_writer(path: Path, quote: bool = True) -> Iterator[Callable[[Row], None]]:
    """Give a function that writes a row, all rows with the same columns.

    The file is there as a whole, when all have been written, or not at all. quote: the
    cells of .csv, as `quoted` does.
    """
    check_writable(path)
    with files.writing(path), replacing(path) as aside, _open(aside) as file:
        yield WRITERS[path.suffix](file, quoted if quote else lambda value: value)


def _open(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="")  # whose ends csv writes itself


def quoted(value: Any) -> Any:
    """Return a value as a cell that no spreadsheet takes for a formula to run.

    A text like one gets an apostrophe before it; numbers stay, those in texts too.
    """
    is_text = isinstance(value, str) and not NUMBER.fullmatch(value)
    return f"'{value}" if is_text and FORMULA.match(value) else value


def _csv(file: TextIO, cell: Callable[[Any], Any]) -> Callable[[Row], None]:
    writer, titles = csv.writer(file, lineterminator="\n"), []

    def write(row: Row) -> None:
        if not titles:
            titles.extend(row)
            writer.writerow(titles)
        writer.writerow(map(cell, row.values()))

    return write


def _jsonl(file: TextIO, cell: Callable[[Any], Any]) -> Callable[[Row], None]:
    return lambda row: print(json.dumps(row, ensure_ascii=False), file=file)


WRITERS = {".csv": _csv, ".jsonl": _jsonl}
