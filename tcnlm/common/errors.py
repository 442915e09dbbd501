"""The one error that bad input raises, and how a program ends by it or a signal."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from typing import Any

DEBUG = "--debug"
INTERRUPTED, CLOSED = 130, 141  # 128 + SIGINT, SIGPIPE: as if the signal had ended it


class InputError(ValueError):
    """Bad input: the message names the file, line or setting, and what is right."""


class NotFiniteError(ArithmeticError):
    """A term of the objective, or a gradient, that is not a finite number."""


class UnreadableError(InputError):
    """A file that the system does not let be read, whatever is in it."""


@contextmanager
def reading(path: str | os.PathLike) -> Iterator[None]:
    """Raise what `unreadable` says where the system does not let a file be read."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: str | os.PathLike, error: OSError) -> InputError:
    """Return what to raise for a file that the system does not let be read."""
    kind = InputError if isinstance(error, IsADirectoryError) else UnreadableError
    return kind(f"{path}: cannot be read: {error.strerror or error}")


@contextmanager
def errors_reported() -> Iterator[None]:
    """End the program with one line, and status 2, for what it refuses.

    So it ends for a file that the system refuses, and with status 1 for what nothing
    foresaw: the line names a file with the traceback, which --debug shows.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # and not closed from the start
            stream.reconfigure(errors="backslashreplace")
    try:
        for argument in sys.argv:
            _check_encoding(argument)
        yield
        print(end="", flush=True)  # here, or Python would complain as it exits
    except (InputError, NotFiniteError) as error:
        _end(2, f"error: {error}")
    except BrokenPipeError:
        _end(CLOSED)
    except KeyboardInterrupt:
        _end(INTERRUPTED, "interrupted")
    except Exception as error:
        if DEBUG in sys.argv:
            raise
        if isinstance(error, OSError) and (error.filename or error.errno == ENOSPC):
            _end(2, f"error: {error.filename or 'output'}: {error.strerror}")
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        _end(1, f"error: {reason} ({_traceback_in()}; or add {DEBUG})")


def _check_encoding(argument: str) -> None:
    try:
        argument.encode()
    except UnicodeEncodeError:  # no file could tell of it
        raise InputError(
            f"argument {argument!r}: is not in UTF-8; write or rename it so, and "
            "where the terminal's encoding is another, set PYTHONUTF8=1"
        ) from None


def add_debug(parser: argparse.ArgumentParser) -> None:
    """Add --debug to a program whose errors are reported."""
    purpose = "show the traceback of an error that nothing foresaw"
    parser.add_argument(DEBUG, action="store_true", help=purpose)


def _end(status: int, line: str = "") -> None:
    if line:
        print(line, file=sys.stderr)
    try:
        print(end="", flush=True)
    except OSError:  # what is left to be written would fail again as Python exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _traceback_in() -> str:
    kept = {"prefix": "traceback-", "suffix": ".txt", "delete": False}
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", **kept) as file:
            file.write(traceback.format_exc())
    except OSError as error:
        return f"no room for its traceback: {error}"
    return f"not foreseen; its traceback is in {file.name}"


# --- Ctrl-C and SIGTERM: an exception, where what is half done may be left as it is ---

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
    def listen(self, farewell: Callable[[], str] | None = None) -> Iterator[None]:
        """Catch the signals inside; end the process by one, if there is a farewell."""
        before = {number: signal.signal(number, self._arrive) for number in NUMBERS}
        try:
            yield
        except Interrupted as interrupted:
            if farewell is None:
                raise
            print(farewell(), file=sys.stderr, flush=True)
            sys.stdout.flush()
            os._exit(interrupted.status)  # TensorFlow takes a second to take leave
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
