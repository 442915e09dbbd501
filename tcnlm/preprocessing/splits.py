"""Which documents make the training, validation and test split, and in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tcnlm.common.errors import InputError

SPLITS = ("train", "valid", "test")
DEFAULT_FRACTIONS = (0.8, 0.1, 0.1)


def assign(
    sizes: Mapping[str, int],
    fractions: Sequence[float] = DEFAULT_FRACTIONS,
    limit: Sequence[int] | None = None,
    seed: int = 0,
    valid_from_train: float | None = None,
) -> dict[str, np.ndarray]:
    """Numbers of the documents of every split, in the order in which they are written.

    sizes: documents of every part of the corpus (see `Corpus`), numbered through the
    parts. valid_from_train: documents of the part training that make valid, a share of
    them if below 1. Raises InputError where a split would be empty.
    """
    # All else is shuffled.
    as_given = SPLITS if limit is None and "test" in sizes else ()
    random = np.random.default_rng(seed)
    first, splits = 0, {}
    for part, size in sizes.items():
        numbers = np.arange(first, first + size)
        first += size
        order = numbers if part in as_given else random.permutation(numbers)
        splits.update(_cut(part, order, fractions, valid_from_train))
    if limit is not None:
        splits = {name: splits[name][:most] for name, most in zip(SPLITS, limit)}
    read = ", ".join(f"{part} {size}" for part, size in sizes.items())
    for name in SPLITS:
        if not len(splits[name]):
            raise InputError(
                f"the {name} split has no document (documents read: {read}); give "
                "more, or other --split, --valid-from-train or --limit"
            )
    return {name: splits[name] for name in SPLITS}


def _cut(
    part: str,
    numbers: np.ndarray,
    fractions: Sequence[float],
    valid_from_train: float | None,
) -> dict[str, np.ndarray]:
    if part == "training":
        share = valid_from_train < 1
        valid = round(valid_from_train * len(numbers)) if share else valid_from_train
        return {"valid": numbers[:valid], "train": numbers[valid:]}
    if part == "heldout":
        return dict(zip(SPLITS[1:], np.split(numbers, [len(numbers) // 2])))
    if part == "all":
        ends = np.round(np.cumsum(fractions[:2]) * len(numbers)).astype(int)
        return dict(zip(SPLITS, np.split(numbers, ends)))
    return {part: numbers}
