"""What a corpus tells of its documents beside their text: labels and ids.

No model is trained on them, so they are no part of the fingerprint of DATA.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preprocessing.encode import load_array
from tcnlm.common.errors import InputError, unreadable

NO_LABEL = -1


class Marks(NamedTuple):
    """The label and the id of every document of a corpus, None where it has none."""

    labels: list[str | None]
    ids: list[str | None]


def save_marks(
    folder: Path, splits: Mapping[str, np.ndarray], marks: Marks
) -> dict[str, list[str]]:
    """Write labels.npy and ids.txt of every split, each only if a document has one.

    splits: numbers of documents. Returns what meta.json has to say of them: "labels",
    the names of the classes 0, 1, ...
    """
    chosen = [number for numbers in splits.values() for number in numbers]
    names = sorted({marks.labels[n] for n in chosen} - {None}, key=_numbers_first)
    if names:
        classes = {name: index for index, name in enumerate(names)}
        for split, numbers in splits.items():
            labels = [classes.get(marks.labels[n], NO_LABEL) for n in numbers]
            labels = np.array(labels, dtype=np.int32)
            np.save(folder / split / "labels.npy", labels, allow_pickle=False)
    if any(marks.ids[n] for n in chosen):
        for split, numbers in splits.items():
            with (folder / split / "ids.txt").open(
                "w", encoding="utf-8", newline="\n"
            ) as file:
                file.writelines(f"{marks.ids[n] or ''}\n" for n in numbers)
    return {"labels": names} if names else {}


def read_labels(folder: Path) -> np.ndarray | None:
    """Read labels.npy of a split, int32 [documents]; None where there is none."""
    file = folder / "labels.npy"
    return np.array(load_array(file, np.int32)) if file.exists() else None


def read_ids(folder: Path) -> list[str] | None:
    """Read ids.txt of a split, a line a document; None where there is none."""
    file = folder / "ids.txt"
    if not file.exists():
        return None
    try:
        *ids, rest = file.read_bytes().decode("utf-8").split("\n")
    except OSError as error:
        raise unreadable(file, error) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not readable as UTF-8 text: {error}") from None
    if rest:
        raise InputError(f"{file}:{len(ids) + 1}: cut short, without an end of line")
    return ids


def _numbers_first(name: str) -> tuple[bool, int, str]:
    """Order 2 before 10, so that classes that are numbers keep them."""
    return not name.isdecimal(), len(name) if name.isdecimal() else 0, name
