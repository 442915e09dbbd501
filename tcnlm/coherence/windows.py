"""Documents of tokens to window counts, in one pass."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError

WINDOW = 20  # tokens; Lau et al. 2014, the setting behind the published tables
CHUNK = 2_000_000  # tokens held at a time
PAIRS = 4_000_000  # pairs of neighbouring occurrences held at a time


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
    if window < 0:
        raise InputError(f"window must be 0 (whole document) or more, got {window}")
    index = {word: i for i, word in enumerate(dict.fromkeys(words))}
    pairs = sparse.csr_matrix((len(index), len(index)), dtype=np.int64)
    windows = number = tokens = 0
    for chunk in _chunks(_encoded(documents, index)):
        lengths = np.array([len(document) for document in chunk])
        places, ids = _occurrences(np.concatenate(chunk), lengths, window)
        count = _cooccurrences if window else _document_cooccurrences
        pairs = pairs + count(places, ids, window, len(index))
        windows += int(np.sum(lengths + window - 1)) if window else len(chunk)
        number += len(chunk)
        tokens += int(lengths.sum())
    symmetric = (pairs + sparse.triu(pairs, k=1).T).tocsr()
    return WindowCounts(
        tuple(index), symmetric, windows, window, number, tokens, reference
    )


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
    tokens: np.ndarray, lengths: np.ndarray, window: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each counted token's first window and word.

    Windows are numbered through all documents; a token lies in its first window and
    the window - 1 after it (window 0: in that of its document only).
    """
    counted = np.flatnonzero(tokens >= 0)
    document = np.repeat(np.arange(len(lengths)), lengths)[counted]
    places = counted + (window - 1) * document if window else document
    return places, tokens[counted]


def _document_cooccurrences(
    places: np.ndarray, ids: np.ndarray, window: int, size: int
) -> sparse.csr_matrix:
    """Documents that hold each word (diagonal) and each pair (upper half), [W, W]."""
    documents = places[-1] + 1 if len(places) else 0
    ones = np.ones(len(places), np.int64)
    holds = sparse.csr_matrix((ones, (places, ids)), (documents, size))
    holds.data[:] = 1
    return sparse.triu(holds.T @ holds, format="csr")


def _cooccurrences(
    places: np.ndarray, ids: np.ndarray, window: int, size: int
) -> sparse.csr_matrix:
    """Windows that hold each word (diagonal) and each pair (upper half), [W, W].

    A window is credited to the last occurrence in it of either word. An occurrence is
    the last of its word from its own first window up to the next occurrence's, or for
    `window` windows; an earlier and a later occurrence thus share the windows from the
    later one's first to whichever of the two ends first. No window is ever looked at:
    the work is proportional to the pairs of neighbouring occurrences.
    """
    ends = np.minimum(places + window, _next_place(places, ids))
    total = sparse.csr_matrix((size, size), dtype=np.int64)
    for earlier, later in _neighbours(places, window):
        shared = np.minimum(ends[earlier], ends[later]) - places[later]
        both = np.flatnonzero(shared > 0)
        first, second = ids[earlier[both]], ids[later[both]]
        entries = np.minimum(first, second), np.maximum(first, second)
        total = total + sparse.csr_matrix((shared[both], entries), total.shape)
    return total


def _neighbours(
    places: np.ndarray, window: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every occurrence with itself and each later one that a window can share with it.

    They come as two arrays of about PAIRS indices, over and over.
    """
    partners = np.searchsorted(places, places + window) - np.arange(len(places))
    blocks = int(partners.sum()) // PAIRS + 1
    for block in np.array_split(np.arange(len(places)), blocks):
        number = partners[block]
        earlier = np.repeat(block, number)
        first = np.repeat(np.cumsum(number) - number, number)
        yield earlier, earlier + np.arange(len(earlier)) - first


def _next_place(places: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Where the word of each occurrence occurs next; beyond all places if never."""
    following = np.full(len(places), np.iinfo(np.int64).max)
    order = np.argsort(ids, kind="stable")
    again = ids[order[1:]] == ids[order[:-1]]
    following[order[:-1][again]] = places[order[1:][again]]
    return following
