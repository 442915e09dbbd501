"""What a corpus tells of its documents beside their text: labels, ids and dates.

No model is trained on them, so they are no part of the fingerprint of DATA.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tcnlm.common.errors import InputError, unreadable
from tcnlm.preprocessing.encode import load_array

NO_LABEL = -1
IDS, DATES = "ids.txt", "dates.txt"


class Marks(NamedTuple):
    """The label, id and date of every document of a corpus, None where it has none."""

    labels: list[str | None]
    ids: list[str | None]
    dates: list[str | None]


def save_marks(
    folder: Path, splits: Mapping[str, np.ndarray], marks: Marks
) -> dict[str, list[str]]:
    """Write labels.npy, ids.txt and dates.txt of every split, if a document has one.

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
    for file, lines in ((IDS, marks.ids), (DATES, marks.dates)):
        if any(lines[n] for n in chosen):
            for split, numbers in splits.items():
                _write_lines(folder / split / file, (lines[n] for n in numbers))
    return {"labels": names} if names else {}


def read_labels(folder: Path) -> np.ndarray | None:
    """Read labels.npy of a split, int32 [documents]; None where there is none."""
    file = folder / "labels.npy"
    return np.array(load_array(file, np.int32)) if file.exists() else None


def _write_lines(file: Path, lines: Iterable[str | None]) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as written:
        written.writelines(f"{line or ''}\n" for line in lines)


def read_marks(file: Path) -> list[str] | None:
    """Read ids.txt or dates.txt, a line a document; None where there is none."""
    if not file.exists():
        return None
    try:
        *lines, rest = file.read_bytes().decode("utf-8").split("\n")
    except OSError as error:
        raise unreadable(file, error) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not readable as UTF-8 text: {error}") from None
    if rest:
        raise InputError(f"{file}:{len(lines) + 1}: cut short, without an end of line")
    return lines


def _numbers_first(name: str) -> tuple[bool, int, str]:
    """Order 2 before 10, so that classes that are numbers keep them."""
    return not name.isdecimal(), len(name) if name.isdecimal() else 0, name
