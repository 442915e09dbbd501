"""A folder for one process alone; what killed ones left, the next start removes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "tcnlm-worker-"


@contextmanager
def own_folder() -> Iterator[Path]:
    """Give a temporary folder; before, remove those of this user's dead processes.

    A process holds its folder's lock, which ends with it, however it ends.
    """
    _remove_dead()
    folder, handle = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _make() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        handle = _lock(folder)
        if handle is not None:  # or another start has taken it for a dead one's
            return folder, handle


def _remove_dead() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        handle = _lock(folder)
        if handle is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _lock(folder: Path) -> int | None:
    """Return a handle that locks a folder of this user's; None where none may."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(handle)
        if held.st_uid == os.getuid() and os.path.samestat(os.lstat(folder), held):
            return handle
    except OSError:
        pass
    os.close(handle)
    return None
