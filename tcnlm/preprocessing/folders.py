"""Folders that are there as a whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcnlm.common.errors import InputError
from tcnlm.common.locks import locked
from tcnlm.common.replacing import remove_leftovers, replacing
from tcnlm.preprocessing.encode import CONTENTS


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
            remove_leftovers(place.parent, re.escape(place.name))
            _check_free(path, force)
            with replacing(place) as aside:
                aside.mkdir()
                yield aside
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error}") from error


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
