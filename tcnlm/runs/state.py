"""Where training stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass
class State:
    """Where training stands; saved with every checkpoint."""

    epoch: int = 0  # from 0
    position: int = 0  # batches of this epoch already taken
    evaluated: int = 0  # of these, before the last evaluation
    seconds: float = 0.0  # spent training
    nll: float = 0.0  # sums since the last evaluation: nats (or loss, of topics alone),
    targets: int = 0  # and targets (or content words)
    best: float = math.inf  # of the measure that judges, on validation
    waited: int = 0  # evaluations since the best
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> State:
        """Return what `asdict` and JSON made of one; else raise TypeError."""
        state = cls(**values)
        for each in fields(cls):
            _check(getattr(state, each.name), each.type)
        for row in state.history:
            for value in row.values():
                _check(value, "float")
        return state


def _check(value: Any, kind: str) -> None:
    kinds = {"int": int, "float": (int, float)}.get(kind, list)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no {kind}")
