"""One training a RUN: its lock, and what killed trainings left in it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from preprocessing.locks import locked
from tcnlm.files import remove_leftovers, writing


@contextmanager
def owned(run: Path, written: tuple[str, ...]) -> Iterator[None]:
    """Hold RUN for one training, which writes these files of it.

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
