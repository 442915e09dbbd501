"""A lock that ends with the process that holds it, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tcnlm.common.errors import InputError


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold the lock of `path`, the file .NAME.lock beside it, which goes afterwards.

    Raises InputError that names the process which holds it, or waits for that.
    """
    file = path.with_name(f".{path.name}.lock")
    with _acquire(file, path, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)) as handle:
        handle.truncate(0)
        print(os.getpid(), file=handle, flush=True)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def _acquire(file: Path, path: Path, kind: int) -> TextIO:
    while True:
        handle = file.open("a+", encoding="ascii")
        try:
            fcntl.flock(handle, kind)
        except BlockingIOError:
            raise InputError(
                f"{path}: process {_holder(handle)} is writing it; let that end first"
            ) from None
        if _is_still(file, handle):
            return handle
        handle.close()


def _holder(handle: TextIO) -> str:
    with handle:
        handle.seek(0)
        return handle.read().strip() or "of another run"


def _is_still(file: Path, handle: TextIO) -> bool:
    """Whether `handle` is the file of that name, and not one just removed."""
    try:
        return os.path.samestat(file.stat(), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False
