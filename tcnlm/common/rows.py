"""Rows of a table to a file, one after the other: .csv or .jsonl, by its name."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from tcnlm.common import files
from tcnlm.common.errors import InputError
from tcnlm.common.replacing import replacing

Row = dict[str, Any]  # column to value; None where there is none


def check_writable(path: Path) -> None:
    """Refuse a file that is of no known kind or cannot be written."""
    if path.suffix not in WRITERS:
        raise InputError(f"{path}: its name must end in {' or '.join(WRITERS)}")
    files.check_writable(path)


@contextlib.contextmanager
def row_writer(path: Path) -> Iterator[Callable[[Row], None]]:
    """Give a function that writes a row, all rows with the same columns.

    The file is there as a whole, when all have been written, or not at all.
    """
    check_writable(path)
    with files.writing(path), replacing(path) as aside, _open(aside) as file:
        yield WRITERS[path.suffix](file)


def _open(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="")  # whose ends csv writes itself


def _csv(file: TextIO) -> Callable[[Row], None]:
    writer, titles = csv.writer(file, lineterminator="\n"), []

    def write(row: Row) -> None:
        if not titles:
            titles.extend(row)
            writer.writerow(titles)
        writer.writerow(row.values())

    return write


def _jsonl(file: TextIO) -> Callable[[Row], None]:
    return lambda row: print(json.dumps(row, ensure_ascii=False), file=file)


WRITERS = {".csv": _csv, ".jsonl": _jsonl}
