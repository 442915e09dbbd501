"""What a program is asked to write takes the place of nothing that is needed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import combinations
from pathlib import Path
from typing import Any

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
    """Raise InputError where an output is an input, another one, a RUN's or DATA's.

    names: those of the options that are outputs; every other path is an input. By any
    path or link to it.
    """
    outputs = list(_paths({name: getattr(options, name) for name in names}))
    rest = {name: v for name, v in vars(options).items() if name not in names}
    for output in outputs:
        if any(_same(output, path) for path in _paths(rest)):
            raise InputError(
                f"{output}: is an input and would be overwritten; give another"
            )
        _check_free(output)
    for one, other in combinations(outputs, 2):
        if _same(one, other):
            raise InputError(f"{other}: is named for two outputs; give another")


def _paths(options: dict[str, Any]) -> Iterator[Path]:
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
