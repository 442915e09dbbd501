"""Window counts in a .npz file, for topics that are yet to come."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tcnlm.coherence.windows import WINDOW, WindowCounts
from tcnlm.common.errors import InputError, reading
from tcnlm.common.files import write_arrays

FORMAT_VERSION = 1
SCALARS = ("windows", "window", "documents", "tokens")
_NOT_COUNTS = (OSError, EOFError, ValueError, LookupError, TypeError, RuntimeError)
_NOT_COUNTS += (MemoryError, zipfile.BadZipFile, zlib.error)


def save_counts(path: Path, counts: WindowCounts) -> None:
    """Write window counts of words (strings) as arrays that NumPy can open."""
    write_arrays(path, as_arrays(counts))


def as_arrays(counts: WindowCounts) -> dict[str, Any]:
    """Return what is written of window counts."""
    pairs = counts.pairs
    return {
        "format_version": FORMAT_VERSION,
        "reference": counts.reference,
        "words": np.array(counts.words, dtype=np.str_),
        **{name: getattr(counts, name) for name in SCALARS},
        "indptr": pairs.indptr,
        "indices": _narrow(pairs.indices),
        "data": _narrow(pairs.data),
    }


def load_counts(
    path: Path, words: Iterable[str] = (), window: int = WINDOW
) -> WindowCounts:
    """Read window counts that `save_counts` wrote.

    Raises InputError, with the file's name, where it is no such file, or was counted
    without one of `words` or with another window.
    """
    counts = _read(path)
    if counts.window != window:
        raise InputError(
            f"{path}: counted with --window {counts.window}, not {window}; ask for "
            "that window, or count again"
        )
    missing = [word for word in dict.fromkeys(words) if word not in counts.index]
    if missing:
        named = ", ".join(map(repr, missing[:5])) + (", ..." if missing[5:] else "")
        raise InputError(
            f"{path}: not counted for {len(missing)} words of the topics ({named}); "
            "count the reference again, with these topics"
        )
    return counts


def _read(path: Path) -> WindowCounts:
    try:
        # Opened here, since NumPy leaves a file open that turns out to be damaged.
        with reading(path):
            opened = path.open("rb")
        with opened as file:
            arrays = np.load(file, allow_pickle=False)
            _check_version(path, int(arrays["format_version"]))
            return from_arrays(arrays)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except InputError:
        raise
    except _NOT_COUNTS:
        raise InputError(
            f"{path}: not a counts file, or damaged; make one with python -m "
            "tcnlm.coherence --save-counts"
        ) from None


def _check_version(path: Path, version: int) -> None:
    if version != FORMAT_VERSION:
        raise InputError(
            f"{path}: format version {version}, but this program reads version "
            f"{FORMAT_VERSION}; count the reference again"
        )


def from_arrays(arrays: Mapping[str, np.ndarray]) -> WindowCounts:
    """Return the counts; ValueError where no text can have them."""
    words = tuple(arrays["words"].tolist())
    parts = [_whole(arrays[name]) for name in ("data", "indices", "indptr")]
    pairs = sparse.csr_matrix(tuple(parts), (len(words), len(words)))
    pairs.check_format(full_check=True)
    scalars = {name: int(_whole(arrays[name])) for name in SCALARS}
    counts = WindowCounts(words, pairs, **scalars, reference=str(arrays["reference"]))
    if len(set(words)) < len(words) or not _possible(counts):
        raise ValueError("counts that no text has")
    return counts


def _whole(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "iu":
        raise ValueError("no whole numbers")
    return values.astype(np.int64)


def _possible(counts: WindowCounts) -> bool:
    """Whether there are as many windows as such documents have, and counts in them."""
    beyond = max(counts.window - 1, 0) * counts.documents
    windows = counts.tokens + beyond if counts.window else counts.documents
    data = counts.pairs.data
    return counts.windows == windows and (data >= 0).all() and (data <= windows).all()


def _narrow(values: np.ndarray) -> np.ndarray:
    """The same numbers (none negative) in as few bytes each as they need."""
    return values.astype(np.min_scalar_type(values.max(initial=0)))
