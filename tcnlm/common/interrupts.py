"""Ctrl-C and SIGTERM: an exception, where what is half done may be left as it is."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NUMBERS = (signal.SIGINT, signal.SIGTERM)


def end_at_once() -> None:
    """Let a signal end the process in one line: where nothing is lost by it."""

    def end(number: int, frame: Any) -> None:
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(128 + number)

    for number in NUMBERS:
        signal.signal(number, end)


class Interrupted(KeyboardInterrupt):
    """The process is asked to end; `status` is what it then ends with."""

    def __init__(self, number: int):
        super().__init__(number)
        self.status = 128 + number


class Interrupts:
    """Raises `Interrupted` for a signal, once nothing is going that must be whole."""

    def __init__(self) -> None:
        self.holding = False
        self.waiting: int | None = None  # the number of a signal

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Catch the signals inside."""
        before = {number: signal.signal(number, self._arrive) for number in NUMBERS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let a signal wait until the end of this block."""
        outer, self.holding = self.holding, True
        try:
            yield
        finally:
            self.holding = outer
        if self.waiting is not None and not outer:
            self.end(self.waiting)

    def _arrive(self, number: int, frame: Any) -> None:
        if self.holding:
            self.waiting = number
        else:
            self.end(number)

    def end(self, number: int) -> None:
        """Raise `Interrupted` for a signal."""
        self.waiting = None
        raise Interrupted(number)


interrupts = Interrupts()
