"""Folders that are there as a whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from preprocessing.encode import CONTENTS
from preprocessing.errors import InputError
from preprocessing.locks import locked


@contextmanager
def new_folder(path: Path, force: bool = False) -> Iterator[Path]:
    """Give a folder beside `path` to write to; it becomes `path` if all goes well.

    An existing `path` is refused with InputError, or with `force` replaced, provided
    that it holds nothing but what a DATA directory holds. So is one that another
    process writes. Of a symbolic link the folder that it points to is replaced.
    """
    _check_free(path, force)
    place = Path(os.path.realpath(path))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place):
            _clear(place)
            _check_free(path, force)
            yield from _aside(place)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error}") from error


def _aside(place: Path) -> Iterator[Path]:
    aside = place.with_name(f".{place.name}.{os.getpid()}.partial")
    try:
        aside.mkdir()
        yield aside
        _replace(place, aside)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _check_free(path: Path, force: bool) -> None:
    if not path.exists():
        return
    if not force:
        raise InputError(f"{path}: exists already; give another --out, or add --force")
    if not path.is_dir() or (any(path.iterdir()) and not (path / "meta.json").exists()):
        raise InputError(
            f"{path}: --force replaces a DATA directory, which this is not"
        )
    for file in sorted(path.rglob("*")):
        if str(file.relative_to(path)) not in CONTENTS:
            raise InputError(
                f"{file}: no part of a DATA directory, so that --force does not remove "
                f"it; move it away, or give another --out"
            )


def _clear(place: Path) -> None:
    """Remove what killed processes left beside `place`, whose lock none of them holds.

    A DATA that was moved aside when its process was killed is moved back.
    """
    name = re.compile(rf"\.{re.escape(place.name)}\.[0-9]+\.(partial|old)")
    for left in place.parent.iterdir():
        found = name.fullmatch(left.name)
        if found and found[1] == "old" and not place.exists():
            left.rename(place)
        elif found:
            shutil.rmtree(left, ignore_errors=True)


def _replace(place: Path, aside: Path) -> None:
    old = aside.with_suffix(".old")
    if place.exists():
        place.rename(old)
    aside.rename(place)
    shutil.rmtree(old, ignore_errors=True)
