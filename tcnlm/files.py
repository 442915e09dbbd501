"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to, which takes the place of `path` only if all goes well.

    A file or a folder. Its name ends like `path`'s, for writers that go by the ending.
    """
    aside = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield aside
        if aside.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        os.replace(aside, path)
    finally:
        if aside.is_dir():
            shutil.rmtree(aside)
        aside.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write JSON aside, then rename."""
    with replacing(path) as aside:
        aside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
