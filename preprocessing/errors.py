"""The one error that bad input raises."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input: the message names the file, line or setting, and what is right."""
