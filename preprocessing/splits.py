"""Which documents make the training, validation and test split, and in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from preprocessing.errors import InputError

SPLITS = ("train", "valid", "test")
DEFAULT_FRACTIONS = (0.8, 0.1, 0.1)


def assign(
    sizes: Mapping[str, int],
    fractions: Sequence[float] = DEFAULT_FRACTIONS,
    limit: Sequence[int] | None = None,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Numbers of the documents of every split, in the order in which they are written.

    sizes: documents of every part of the corpus; documents are numbered through the
    parts. Parts are either train, valid and test (kept in order unless there is a
    limit), or train and heldout (halved), or all (cut by `fractions`).
    """
    random = np.random.default_rng(seed)
    keep_order = set(sizes) == set(SPLITS) and limit is None
    first, splits = 0, {}
    for part, size in sizes.items():
        numbers = np.arange(first, first + size)
        splits.update(_cut(part, numbers if keep_order else random.permutation(numbers), fractions))
        first += size
    if limit is not None:
        splits = {name: splits[name][:most] for name, most in zip(SPLITS, limit)}
    _refuse_empty(splits)
    return {name: splits[name] for name in SPLITS}


def _cut(
    part: str, numbers: np.ndarray, fractions: Sequence[float]
) -> dict[str, np.ndarray]:
    if part == "heldout":
        half = len(numbers) // 2
        return {"valid": numbers[:half], "test": numbers[half:]}
    if part == "all":
        ends = np.round(np.cumsum(fractions[:2]) * len(numbers)).astype(int)
        return dict(zip(SPLITS, np.split(numbers, ends)))
    return {part: numbers}


def _refuse_empty(splits: Mapping[str, np.ndarray]) -> None:
    for name, numbers in splits.items():
        if not len(numbers):
            raise InputError(
                f"the {name} split has no document; give more documents, other "
                "fractions or a larger limit"
            )
