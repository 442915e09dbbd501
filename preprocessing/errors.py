"""The one error that bad input raises, and how a program ends with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input: the message names the file, line or setting, and what is right."""


@contextmanager
def errors_reported(*others: type[Exception]) -> Iterator[None]:
    """End the program with status 2 and one line for an `InputError` or another."""
    try:
        yield
    except (InputError, *others) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
