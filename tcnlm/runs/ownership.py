"""One writer of a RUN: its lock, and what killed writers left in it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tcnlm.common.files import writing
from tcnlm.common.locks import locked
from tcnlm.common.replacing import remove_leftovers


@contextmanager
def owned(run: Path, written: tuple[str, ...]) -> Iterator[None]:
    """Hold RUN for one training or export, which writes these files of it.

    Raises InputError where another process holds it, or where it cannot be written.
    """
    place = Path(os.path.realpath(run))
    with ExitStack() as stack:
        with writing(run):
            place.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(place))
            remove_leftovers(place.parent, re.escape(place.name))
            if place.exists():
                remove_leftovers(place, "|".join(map(re.escape, written)))
                tempfile.TemporaryFile(dir=place).close()
        yield


@contextmanager
def owned_file(path: Path, *beside: Path) -> Iterator[None]:
    """Hold a file, and the files and folders beside it, for one writer at a time.

    Another waits: it has measured for hours. Training, which holds all of RUN as long
    as it goes, is not in the way.
    """
    with ExitStack() as stack:
        with writing(path):
            stack.enter_context(locked(path, wait=True))
            for left in (path, *beside):
                remove_leftovers(left.parent, re.escape(left.name))
                if left.is_dir():
                    remove_leftovers(left)
        yield
