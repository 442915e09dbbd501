"""Documents of tokens to window counts, in one pass."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError

WINDOW = 20  # tokens; Lau et al. 2014, the setting behind the published tables
CHUNK = 2_000_000  # tokens held at a time
PAIRS = 4_000_000  # pairs of neighbouring occurrences held at a time


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
    """Count windows over documents, each a sequence of tokens, in one pass.

    Only `words` are counted; all other tokens merely take their place. Time is linear
    in the tokens, memory does not depend on them (the longest document must fit).
    reference: says in words what the documents are.
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
    for chunk in _chunks(_encoded(documents, index)):
        lengths = np.array([len(document) for document in chunk])
        tokens = np.concatenate(chunk)
        found = (_counted(tokens, lengths, kind, len(index)) for kind in kinds)
        totals = [
            total + replace(total, pairs=pairs, windows=windows, **_size(lengths))
            for total, (pairs, windows) in zip(totals, found)
        ]
    return totals


def _size(lengths: np.ndarray) -> dict[str, int]:
    return {"documents": len(lengths), "tokens": int(lengths.sum())}


def _counted(
    tokens: np.ndarray, lengths: np.ndarray, kind: Windows, size: int
) -> tuple[sparse.csr_matrix, int]:
    """Return the counts [W, W] of one kind in documents, and how many windows."""
    spans, ids, windows = _occurrences(tokens, lengths, kind)
    count = _cooccurrences if kind.size else _document_cooccurrences
    pairs = count(*spans, ids, size)
    return (pairs + sparse.triu(pairs, k=1).T).tocsr(), windows


def _encoded(
    documents: Iterable[Sequence[Hashable]], index: Mapping[Hashable, int]
) -> Iterator[np.ndarray]:
    """Each document as int32 rows of its tokens, -1 for those that are not counted."""
    for document in documents:
        rows = map(index.get, document, itertools.repeat(-1))
        yield np.fromiter(rows, np.int32, len(document))


def _chunks(documents: Iterable[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """Documents in lists of at least CHUNK tokens (the last: what is left)."""
    chunk, size = [], 0
    for document in documents:
        chunk.append(document)
        size += len(document)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _occurrences(
    tokens: np.ndarray, lengths: np.ndarray, kind: Windows
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, int]:
    """Each counted token's first window and the one after its last, and its word.

    Windows are numbered through all documents, by where they begin; the last that is
    returned is how many they are.
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
    ends = np.minimum(stops, _next_start(starts, ids))
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
    """Every occurrence with itself and each later one that a window can share with it.

    They come as two arrays of about PAIRS indices, over and over.
    """
    partners = np.searchsorted(starts, stops) - np.arange(len(starts))
    blocks = int(partners.sum()) // PAIRS + 1
    for block in np.array_split(np.arange(len(starts)), blocks):
        number = partners[block]
        earlier = np.repeat(block, number)
        first = np.repeat(np.cumsum(number) - number, number)
        yield earlier, earlier + np.arange(len(earlier)) - first


def _next_start(starts: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Where the word of each occurrence occurs next; beyond all windows if never."""
    following = np.full(len(starts), np.iinfo(np.int64).max)
    order = np.argsort(ids, kind="stable")
    again = ids[order[1:]] == ids[order[:-1]]
    following[order[:-1][again]] = starts[order[1:][again]]
    return following
