"""Progress of long work: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

FIRST_SECONDS, LOG_SECONDS = 10, 60  # before the first line of a log, between others


def progress_bar(*arguments: Any, **options: Any) -> tqdm:
    """Return `tqdm` of these arguments; where stderr is no terminal, one of lines."""
    if not sys.stderr.isatty():
        options |= {"delay": FIRST_SECONDS, "mininterval": LOG_SECONDS, "ascii": True}
        options |= {"maxinterval": 2 * LOG_SECONDS, "leave": False}
        options |= {"bar_format": "{l_bar}{bar}{r_bar}\n"}
    return tqdm(*arguments, **options)
