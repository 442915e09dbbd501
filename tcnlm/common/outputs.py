"""What a program is asked to write: in the place of nothing that is needed, by rows."""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from itertools import combinations
from pathlib import Path
from typing import Any, TextIO

from tcnlm.common import files
from tcnlm.common.errors import InputError

# A folder is one if it has these; what it calls its own cannot be given as an output.
FOLDERS = {
    "DATA": (("meta.json", "vocabulary.txt"), ("*",)),
    "RUN": (
        ("config.json", "vocabulary.txt"),
        ("config.*", "*vocabulary.txt", "model.weights.*", "history.csv", "checkpoints")
        + ("evaluation.*", "report.html", "report.*.html", "figures*", "saved_model")
        + ("tensorboard", "topics.csv"),
    ),
}


def check_outputs(options: argparse.Namespace, *names: str) -> None:
    """Raise InputError where an output is an input, another, a RUN's or DATA's."""
    outputs = list(paths_of({name: getattr(options, name) for name in names}))
    rest = {name: v for name, v in vars(options).items() if name not in names}
    for output in outputs:
        if any(_same(output, path) for path in paths_of(rest)):
            raise InputError(
                f"{output}: is an input and would be overwritten; give another"
            )
        _check_free(output)
    for one, other in combinations(outputs, 2):
        if _same(one, other):
            raise InputError(f"{other}: is named for two outputs; give another")


def paths_of(options: dict[str, Any]) -> Iterator[Path]:
    """Yield the paths among options, those of lists too."""
    for value in options.values():
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path):
                yield path


def _same(one: Path, other: Path) -> bool:
    try:
        if one.exists() and other.exists():
            return os.path.samefile(one, other)
        return one.resolve() == other.resolve()
    except (OSError, ValueError):  # no name that a file can have
        return False


def _check_free(path: Path) -> None:
    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: not a possible file name; give another")
    for place in dict.fromkeys([path.absolute(), path.resolve()]):
        for folder in [place, *place.parents]:
            inside = place.relative_to(folder).parts
            for kind, (has, own) in FOLDERS.items():
                is_one = all((folder / name).is_file() for name in has)
                taken = not inside or any(fnmatch(inside[0], name) for name in own)
                if is_one and taken:
                    raise InputError(
                        f"{path}: belongs to the {kind} {folder}, of which it would "
                        "take a place; give another"
                    )


# --- Rows of a table to a file, .csv or .jsonl by its name ----------------------------

Row = dict[str, Any]  # column to value; None where there is none

FORMULA = re.compile(r"[-=+@\t\r\n]")
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
ENDINGS = (".csv", ".jsonl")


def check_writable(path: Path) -> None:
    """Refuse a file that is of no known kind or cannot be written."""
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: its name must end in {' or '.join(ENDINGS)}")
    files.check_writable(path)


def write_rows(path: Path, rows: Iterable[Row], quote: bool = True) -> None:
    """Write rows with the same columns, all or no file; quote: as `quoted`."""
    check_writable(path)
    with files.writing(path), files.replacing(path) as aside, _open(aside) as file:
        if path.suffix == ".jsonl":
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
            return
        writer = csv.writer(file, lineterminator="\n")
        for number, row in enumerate(rows):
            if number == 0:
                writer.writerow(row)
            writer.writerow(map(quoted, row.values()) if quote else row.values())


def _open(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="")  # whose ends csv writes itself


def quoted(value: Any) -> Any:
    """Return a cell that no spreadsheet runs: an apostrophe before a formula."""
    is_text = isinstance(value, str) and not NUMBER.fullmatch(value)
    return f"'{value}" if is_text and FORMULA.match(value) else value
