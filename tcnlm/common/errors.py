"""The one error that bad input raises, and how a program ends with it or another."""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from errno import ENOSPC

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
def errors_reported(*others: type[Exception]) -> Iterator[None]:
    """End the program with status 2 and one line for an `InputError` or another.

    So it ends for a file that the system refuses, and with status 1 for what nothing
    foresaw: the line names a file with the traceback, which --debug shows.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # and not closed from the start
            stream.reconfigure(errors="backslashreplace")
    try:
        _check_encoding(sys.argv)
        yield
        print(end="", flush=True)  # here, or Python would complain as it exits
    except (InputError, *others) as error:
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


def _check_encoding(arguments: Iterable[str]) -> None:
    """Refuse arguments in another encoding: no file could tell of them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
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
