"""Documents of tokens to window counts, in one pass, and these to a .npz file."""

from __future__ import annotations

import itertools
import zipfile
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError, reading
from tcnlm.common.files import write_arrays

WINDOW = 20  # tokens; Lau et al. 2014, the setting behind the published tables
CHUNK = 2_000_000  # tokens held at a time
PAIRS = 4_000_000  # pairs of neighbouring occurrences held at a time
FORMAT_VERSION = 1
SCALARS = ("windows", "window", "documents", "tokens")
_NOT_COUNTS = (OSError, EOFError, ValueError, LookupError, TypeError, RuntimeError)
_NOT_COUNTS += (MemoryError, zipfile.BadZipFile, zlib.error)


class Windows(NamedTuple):
    """Which windows are counted."""

    size: int = WINDOW  # tokens; 0: a window is a whole document
    complete: bool = False  # none partly outside; a shorter document is one window

    @property
    def described(self) -> str:
        """Say which they are."""
        if not self.size:
            return "whole documents"
        which = "complete ones only" if self.complete else "partial ones at ends too"
        return f"windows of {self.size} tokens, {which}"

    def places(self, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the first and the last window of documents [D] begin, [D]."""
        nowhere = np.zeros_like(lengths)
        if not self.size:
            return nowhere, nowhere
        if self.complete:
            return nowhere, np.maximum(lengths - self.size, 0)
        return nowhere + 1 - self.size, lengths - 1


@dataclass(frozen=True)
class WindowCounts:
    """In how many windows words occur, alone and together."""

    words: tuple[Hashable, ...]  # [W]
    pairs: sparse.csr_matrix  # [W, W] int64, symmetric; the diagonal: single counts
    windows: int
    window: int  # tokens; 0: a window is a whole document
    documents: int
    tokens: int
    reference: str = ""  # what was counted
    complete: bool = False  # as of `Windows`

    def __add__(self, other: WindowCounts) -> WindowCounts:
        """Return the counts of both texts; the same words and window are counted."""
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("pairs", "windows", "documents", "tokens")
        }
        return replace(self, **sums)

    @cached_property
    def index(self) -> dict[Hashable, int]:
        """Row of every word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def single(self) -> np.ndarray:
        """Number of windows that hold each word, [W]."""
        return self.pairs.diagonal()

    def absent(self, words: Iterable[Hashable] | None = None) -> list[Hashable]:
        """Words (default: all) that the reference never uses: no pair can have them."""
        asked = self.words if words is None else dict.fromkeys(words)
        return [word for word in asked if self.single[self.index[word]] == 0]


def count_windows(
    documents: Iterable[Sequence[Hashable]],
    words: Iterable[Hashable],
    window: int = WINDOW,
    reference: str = "",
) -> WindowCounts:
    """Count windows over documents of tokens in one pass, for `words` alone.

    Time is linear in the tokens, memory does not depend on them (the longest document
    must fit). reference: says in words what the documents are.
    """
    return count_kinds(documents, words, [Windows(window)], reference)[0]


def count_kinds(
    documents: Iterable[Sequence[Hashable]],
    words: Iterable[Hashable],
    kinds: Sequence[Windows],
    reference: str = "",
) -> list[WindowCounts]:
    """Count several kinds of windows in the one pass; see `count_windows`."""
    if any(kind.size < 0 for kind in kinds):
        sizes = ", ".join(str(kind.size) for kind in kinds)
        raise InputError(f"window must be 0 (whole document) or more, got {sizes}")
    index = {word: i for i, word in enumerate(dict.fromkeys(words))}
    nothing = sparse.csr_matrix((len(index), len(index)), dtype=np.int64)
    none = WindowCounts(tuple(index), nothing, 0, 0, 0, 0, reference)
    totals = [replace(none, window=k.size, complete=k.complete) for k in kinds]
    for chunk in _chunks(documents, index):
        lengths = np.array([len(document) for document in chunk])
        size = {"documents": len(lengths), "tokens": int(lengths.sum())}
        tokens = np.concatenate(chunk)
        for i, kind in enumerate(kinds):
            spans, ids, windows = _occurrences(tokens, lengths, kind)
            count = _cooccurrences if kind.size else _document_cooccurrences
            pairs = count(*spans, ids, len(index))
            pairs = (pairs + sparse.triu(pairs, k=1).T).tocsr()
            totals[i] += replace(totals[i], pairs=pairs, windows=windows, **size)
    return totals


def _chunks(
    documents: Iterable[Sequence[Hashable]], index: Mapping[Hashable, int]
) -> Iterator[list[np.ndarray]]:
    """Documents in lists of CHUNK tokens or more, as rows; -1 is not counted."""
    chunk, size = [], 0
    for document in documents:
        rows = map(index.get, document, itertools.repeat(-1))
        chunk.append(np.fromiter(rows, np.int32, len(document)))
        size += len(document)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _occurrences(
    tokens: np.ndarray, lengths: np.ndarray, kind: Windows
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, int]:
    """Each counted token's first window and the one after its last; words; all windows.

    Windows are numbered through all documents, by where they begin.
    """
    counted = np.flatnonzero(tokens >= 0)
    document = np.repeat(np.arange(len(lengths)), lengths)[counted]
    place = counted - (np.cumsum(lengths) - lengths)[document]
    first, last = kind.places(lengths)
    ends = np.cumsum(last - first + 1)
    before = (ends - last - 1)[document]  # windows: number - place where it begins
    size = kind.size or lengths.max()
    starts = np.maximum(place - size + 1, first[document]) + before
    stops = np.minimum(place, last[document]) + before + 1
    return (starts, stops), tokens[counted], int(ends[-1])


def _document_cooccurrences(
    starts: np.ndarray, stops: np.ndarray, ids: np.ndarray, size: int
) -> sparse.csr_matrix:
    """Documents that hold each word (diagonal) and each pair (upper half), [W, W]."""
    documents = stops[-1] if len(stops) else 0
    ones = np.ones(len(starts), np.int64)
    holds = sparse.csr_matrix((ones, (starts, ids)), (documents, size))
    holds.data[:] = 1
    return sparse.triu(holds.T @ holds, format="csr")


def _cooccurrences(
    starts: np.ndarray, stops: np.ndarray, ids: np.ndarray, size: int
) -> sparse.csr_matrix:
    """Windows that hold each word (diagonal) and each pair (upper half), [W, W].

    A window is credited to the last occurrence in it of either word. An occurrence is
    the last of its word from its own first window up to the next occurrence's, or to
    its own last; an earlier and a later occurrence thus share the windows from the
    later one's first to whichever of the two ends first. No window is ever looked at:
    the work is proportional to the pairs of neighbouring occurrences.
    """
    following = np.full(len(starts), np.iinfo(np.int64).max)  # of the same word
    order = np.argsort(ids, kind="stable")
    again = ids[order[1:]] == ids[order[:-1]]
    following[order[:-1][again]] = starts[order[1:][again]]
    ends = np.minimum(stops, following)
    total = sparse.csr_matrix((size, size), dtype=np.int64)
    for earlier, later in _neighbours(starts, stops):
        shared = np.minimum(ends[earlier], ends[later]) - starts[later]
        both = np.flatnonzero(shared > 0)
        first, second = ids[earlier[both]], ids[later[both]]
        entries = np.minimum(first, second), np.maximum(first, second)
        total = total + sparse.csr_matrix((shared[both], entries), total.shape)
    return total


def _neighbours(
    starts: np.ndarray, stops: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each occurrence with itself and later ones that share a window with it."""
    partners = np.searchsorted(starts, stops) - np.arange(len(starts))
    blocks = int(partners.sum()) // PAIRS + 1
    for block in np.array_split(np.arange(len(starts)), blocks):
        number = partners[block]
        earlier = np.repeat(block, number)
        first = np.repeat(np.cumsum(number) - number, number)
        yield earlier, earlier + np.arange(len(earlier)) - first


def save_counts(path: Path, counts: WindowCounts) -> None:
    """Write window counts of words (strings) as arrays that NumPy can open."""
    write_arrays(path, as_arrays(counts))


def as_arrays(counts: WindowCounts) -> dict[str, Any]:
    """Return what is written of window counts, in as few bytes as they need."""
    pairs = counts.pairs
    return {
        "format_version": FORMAT_VERSION,
        "reference": counts.reference,
        "words": np.array(counts.words, dtype=np.str_),
        **{name: getattr(counts, name) for name in SCALARS},
        "indptr": pairs.indptr,
        "indices": pairs.indices.astype(np.min_scalar_type(len(counts.words))),
        "data": pairs.data.astype(np.min_scalar_type(pairs.data.max(initial=0))),
    }


def load_counts(
    path: Path, words: Iterable[str] = (), window: int = WINDOW
) -> WindowCounts:
    """Read what `save_counts` wrote; InputError if made for other words or windows."""
    try:
        # Opened here, since NumPy leaves a file open that turns out to be damaged.
        with reading(path):
            opened = path.open("rb")
        with opened as file:
            arrays = np.load(file, allow_pickle=False)
            version, counts = int(arrays["format_version"]), from_arrays(arrays)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except InputError:
        raise
    except _NOT_COUNTS:
        raise InputError(
            f"{path}: not a counts file, or damaged; make one with python -m tcnlm "
            "coherence --save-counts"
        ) from None
    if version != FORMAT_VERSION:
        raise InputError(
            f"{path}: format version {version}, but this program reads version "
            f"{FORMAT_VERSION}; count the reference again"
        )
    if counts.window != window:
        raise InputError(
            f"{path}: counted with --window {counts.window}, not {window}; ask for "
            "that window, or count again"
        )
    missing = [word for word in dict.fromkeys(words) if word not in counts.index]
    if missing:
        raise InputError(
            f"{path}: not counted for {len(missing)} words of the topics "
            f"({missing[:5]} ...); count the reference again, with these topics"
        )
    return counts


def from_arrays(arrays: Mapping[str, np.ndarray]) -> WindowCounts:
    """Return the counts; ValueError where places are beyond the words."""
    words = tuple(arrays["words"].tolist())
    parts = [arrays[name].astype(np.int64) for name in ("data", "indices", "indptr")]
    pairs = sparse.csr_matrix(tuple(parts), (len(words), len(words)))
    pairs.check_format(full_check=True)
    scalars = {name: int(arrays[name]) for name in SCALARS}
    return WindowCounts(words, pairs, **scalars, reference=str(arrays["reference"]))
