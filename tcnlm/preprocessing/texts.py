"""Held-out documents as they came, for whoever reads a report of them.

DATA/valid and DATA/test have texts.jsonl: of each document a JSON string, its first
`KEPT` characters. Nothing is computed from it, so it is no part of the fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tcnlm.common.errors import InputError, reading
from tcnlm.preprocessing.documents import Document

FILE = "texts.jsonl"
KEPT = 2_000
HELD_OUT = ("valid", "test")


def held_out(splits: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the numbers of the documents whose texts are kept, ascending."""
    return np.sort(np.concatenate([splits[name] for name in HELD_OUT]))


def save_texts(
    folder: Path, splits: Mapping[str, np.ndarray], documents: Iterable[Document]
) -> None:
    """Write texts.jsonl of the held-out splits; documents: those of `held_out`."""
    kept = (json.dumps(document.text[:KEPT]) for document in documents)
    texts = dict(zip(held_out(splits), kept))
    for name in HELD_OUT:
        lines = (f"{texts[number]}\n" for number in splits[name])
        with (folder / name / FILE).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)


def read_texts(folder: Path, rows: Sequence[int]) -> list[str] | None:
    """Return the texts of some of a split's documents; None where none are kept.

    Raises InputError where one is missing or no text.
    """
    path = folder / FILE
    if not path.exists():
        return None
    with reading(path), path.open("rb") as file:
        wanted, found = set(rows), {}
        for row, line in enumerate(file):
            if row in wanted:
                found[row] = _text(line, f"{path}:{row + 1}")
    if len(found) < len(wanted):
        raise InputError(f"{path}: cut short; make DATA again, or remove the file")
    return [found[row] for row in rows]


def _text(line: bytes, where: str) -> str:
    try:
        text = json.loads(line)
    except ValueError:
        text = None
    if not isinstance(text, str):
        raise InputError(
            f"{where}: no JSON string; make DATA again, or remove the file"
        )
    return text
