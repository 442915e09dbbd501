"""Training that has diverged: noticed by its figures, and ended in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MOST_NATS = 88.0  # a word: exp(88) is of the largest order that 32 bits hold


class NotFiniteError(ArithmeticError):
    """A term of the objective, or a gradient, that is not a finite number."""


def check_steps(taken: pd.DataFrame, first: int) -> None:
    """Raise NotFiniteError for the first of these steps with such a term."""
    broken = ~np.isfinite(taken)
    if broken.any(axis=None):
        row = int(broken.any(axis=1).argmax())
        raise _error(f"step {first + row}", taken.columns[broken.iloc[row]])


def check_terms(terms: Mapping[str, float], step: int) -> None:
    """Raise NotFiniteError where the validation split has such a term."""
    broken = [name for name, value in terms.items() if not math.isfinite(value)]
    if broken:
        raise _error(f"validation after step {step}", broken)


def check_perplexity(nats: float, step: int) -> None:
    """Raise NotFiniteError for nats a word that no perplexity can say in 32 bits."""
    if nats > MOST_NATS:
        raise _error(f"validation after step {step}", ["perplexity"])


def _error(place: str, names: Iterable[str]) -> NotFiniteError:
    return NotFiniteError(
        f"{place}: {', '.join(names)} is not finite; the last good checkpoint is kept; "
        "try a lower learning_rate or clip_norm in another --out"
    )
