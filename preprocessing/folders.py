"""Folders that are there as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from preprocessing.errors import InputError


@contextmanager
def new_folder(path: Path, force: bool = False) -> Iterator[Path]:
    """Give a folder beside `path` to write to; it becomes `path` if all goes well.

    An existing `path` is refused with InputError, or with `force` replaced, provided
    that it is a DATA directory (or empty).
    """
    _check_free(path, force)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
        yield aside
        _replace(path, aside)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _check_free(path: Path, force: bool) -> None:
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(f"{path}: exists already; give another --out, or add --force")
    if not path.is_dir() or (any(path.iterdir()) and not (path / "meta.json").exists()):
        raise InputError(
            f"{path}: --force replaces a DATA directory, which this is not"
        )


def _replace(path: Path, aside: Path) -> None:
    old = aside.with_suffix(".old")
    if path.exists():
        path.rename(old)
    aside.rename(path)
    shutil.rmtree(old, ignore_errors=True)
