"""NPMI topic coherence from sliding windows over a reference corpus.

Reference: Lau, Newman and Baldwin, "Machine Reading Tea Leaves" (EACL 2014); the
TCNLM paper uses it in section 5.2 and Table 4. Counting knows nothing of topics and
scoring knows nothing of text: `WindowCounts` lies between them.

A window of 20 tokens moves one token at a time and also starts and ends partly outside
the document, so that every token lies in exactly 20 windows and a document of n tokens
has n + 19. A window is a set: a word in it counts once.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from preprocessing.errors import InputError

WINDOW = 20  # tokens; Lau et al. 2014, the setting behind the published tables
TOPS = (5, 10, 15, 20)  # TCNLM, section 5.2
CHUNK = 1_000_000  # tokens held at a time


@dataclass(frozen=True)
class WindowCounts:
    """In how many windows words occur, alone and together."""

    words: tuple[Hashable, ...]  # [W]
    pairs: sparse.csr_matrix  # [W, W] int64, symmetric; the diagonal: single counts
    windows: int
    window: int  # tokens; 0: a window is a whole document
    documents: int
    tokens: int

    @property
    def single(self) -> np.ndarray:
        """Number of windows that hold each word, [W]."""
        return self.pairs.diagonal()

    def absent(self) -> list[Hashable]:
        """Words that the reference never uses: every pair with them scores 0."""
        return [self.words[i] for i in np.flatnonzero(self.single == 0)]


def count_windows(
    documents: Iterable[Sequence[Hashable]],
    words: Iterable[Hashable],
    window: int = WINDOW,
) -> WindowCounts:
    """Count windows over documents, each a sequence of tokens, in one pass.

    Only `words` are counted; all other tokens merely take their place. Time is linear
    in the tokens, memory does not depend on them (the longest document must fit).
    """
    if window < 0:
        raise InputError(f"window must be 0 (whole document) or more, got {window}")
    index = {word: i for i, word in enumerate(dict.fromkeys(words))}
    pairs = sparse.csr_matrix((len(index), len(index)), dtype=np.int64)
    windows = number = tokens = 0
    for chunk in _chunks(documents):
        places, ids, rows = _occurrences(chunk, index, window)
        pairs = pairs + (
            _cooccurrences(places, ids, window, len(index))
            if window
            else _document_cooccurrences(places, ids, rows, len(index))
        )
        windows += rows
        number += len(chunk)
        tokens += sum(map(len, chunk))
    upper = sparse.triu(pairs, k=1)
    symmetric = (pairs + upper.T).tocsr()
    return WindowCounts(tuple(index), symmetric, windows, window, number, tokens)


def pairwise_npmi(counts: WindowCounts, words: Sequence[Hashable]) -> np.ndarray:
    """NPMI of every pair of words, [N, N], in -1 .. 1.

    log(p12 / (p1 p2)) / -log p12 with p = windows / all windows. A pair that never
    shares a window scores 0, as in the tool of Lau et al., and so does one that shares
    every window: its NPMI is 0/0, and it tells nothing.
    """
    index = {word: i for i, word in enumerate(counts.words)}
    missing = [word for word in words if word not in index]
    if missing:
        raise InputError(f"words that were not counted: {missing[:5]}")
    rows = [index[word] for word in words]
    joint = counts.pairs[rows][:, rows].toarray() / max(counts.windows, 1)
    single = counts.single[rows] / max(counts.windows, 1)
    defined = (joint > 0) & (joint < 1)
    safe = np.where(defined, joint, 0.5)
    expected = np.where(defined, np.outer(single, single), 1.0)
    return np.where(defined, np.log(safe / expected) / -np.log(safe), 0.0)


def topic_coherence(
    counts: WindowCounts, topic: Sequence[Hashable], tops: Sequence[int] = TOPS
) -> float:
    """NPMI of one topic: mean over the pairs of its N best words, mean over N.

    topic: words, best first; where it has fewer than N, all of them are taken. A word
    listed twice makes no pair with itself.
    """
    if len(set(topic)) < 2:
        raise InputError(f"a topic needs two different words, got {list(topic)}")
    scores = pairwise_npmi(counts, topic[: max(tops)])
    return float(np.mean([_mean_over_pairs(scores, topic[:top]) for top in tops]))


def _mean_over_pairs(scores: np.ndarray, words: Sequence[Hashable]) -> float:
    pairs = itertools.combinations(range(len(words)), 2)
    return float(np.mean([scores[i, j] for i, j in pairs if words[i] != words[j]]))


def _chunks(documents: Iterable[Sequence]) -> Iterator[list[Sequence]]:
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
    documents: list[Sequence], index: dict[Hashable, int], window: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Each counted token's first window and word, and the number of windows.

    Windows are numbered through all documents; a token lies in its first window and
    the window - 1 after it (window 0: in that of its document only).
    """
    places, ids, first = [], [], 0
    for document in documents:
        found = np.fromiter((index.get(t, -1) for t in document), int, len(document))
        counted = np.flatnonzero(found >= 0)
        places.append(first + (counted if window else np.zeros_like(counted)))
        ids.append(found[counted])
        first += len(document) + window - 1 if window else 1
    return np.concatenate(places), np.concatenate(ids), first


def _document_cooccurrences(
    rows: np.ndarray, ids: np.ndarray, documents: int, size: int
) -> sparse.csr_matrix:
    """Documents that hold each word (diagonal) and each pair (upper half), [W, W]."""
    ones = np.ones(len(rows), np.int64)
    holds = sparse.csr_matrix((ones, (rows, ids)), (documents, size))
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
    for lag in range(len(places)):
        earlier, later = slice(0, len(places) - lag), slice(lag, None)
        if not np.any(places[later] < places[earlier] + window):
            break
        shared = np.minimum(ends[earlier], ends[later]) - places[later]
        both = shared > 0
        low = np.minimum(ids[earlier], ids[later])[both]
        high = np.maximum(ids[earlier], ids[later])[both]
        total = total + sparse.csr_matrix((shared[both], (low, high)), total.shape)
    return total


def _next_place(places: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Where the word of each occurrence occurs next; beyond all places if never."""
    following = np.full(len(places), np.iinfo(np.int64).max)
    order = np.argsort(ids, kind="stable")
    again = ids[order[1:]] == ids[order[:-1]]
    following[order[:-1][again]] = places[order[1:][again]]
    return following
