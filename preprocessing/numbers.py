"""Whole numbers within bounds, as the programs' options take them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

LARGEST = 2**31 - 1  # that a shape or a count may be


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Return the `type` of an argument that is a whole number within bounds."""

    def parsed(text: str) -> int:
        try:
            number = int(text)
        except ValueError:  # also of thousands of digits
            number = most + 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(
                f"must be a whole number from {least} to {most}, not {text[:30]}"
            )
        return number

    return parsed
