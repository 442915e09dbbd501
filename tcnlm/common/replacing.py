"""Files and folders that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to, which takes the place of `path` only if all goes well.

    A file or a folder. Its name ends like `path`'s, for writers that go by the ending.
    """
    aside = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield aside
        _put(aside, path)
    finally:
        remove(aside)


def _put(aside: Path, path: Path) -> None:
    """Rename; a folder takes the place of another when that has gone aside whole."""
    old = path.with_name(f".{os.getpid()}.old.{path.name}")
    if aside.is_dir() and path.exists():
        os.replace(path, old)
    os.replace(aside, path)
    remove(old)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_leftovers(folder: Path, names: str = ".+") -> None:
    """Remove what processes that were killed had written aside in a folder.

    What one had moved aside is moved back, where nothing has taken its place. names: a
    regular expression of the files meant, which no other process may be writing.
    """
    pattern = re.compile(rf"\.[0-9]+\.(old\.)?({names})")
    for left in sorted(folder.glob(".*")):
        found = pattern.fullmatch(left.name)
        if found and found[1] and not (folder / found[2]).exists():
            left.rename(folder / found[2])
        elif found:
            remove(left)
