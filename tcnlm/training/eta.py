"""How long a training will take and what memory it has, said after its first steps."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

STEPS = 100  # until it is said


class Forecast:
    """Measures the pace of the first steps, those of the first call left out.

    That call holds what comes once: tracing, and the kernels' own preparations.
    """

    def __init__(self, left: Callable[[], int]):
        self.left = left  # how many steps there are still
        self.taken, self.said = 0, False
        self.begun: float | None = None

    def after(self, steps: int) -> str:
        """Count steps that were just taken; return what to say now, or nothing."""
        now = time.monotonic()
        if self.begun is None:
            self.begun = now
            return ""
        self.taken += steps
        if self.said or self.taken < STEPS:
            return ""
        self.said = True
        seconds = self.left() * (now - self.begun) / self.taken
        return f"about {_duration(seconds)} to go at most; memory {memory()}"


def memory() -> str:
    """Return the most that this process has had so far."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kilobytes = most / 1024 if sys.platform == "darwin" else most
    return f"{kilobytes / 1e6:.1f} GB"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} seconds"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
