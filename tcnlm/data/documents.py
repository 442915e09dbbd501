"""Rows that are whole documents, bags or texts, and rows that are windows of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcnlm.data.batching import (
    CONTEXT,
    OF_DOCUMENT,
    WORDS,
    Array,
    Batch,
    Batching,
    Rows,
    TargetRows,
    pieces,
)
from tcnlm.data.dataset import NO_WORD, Split, pad


@dataclass(frozen=True)
class Documents(Batching):
    """A row is a document with a content word: words [B, N], all of them in order."""

    arrays = {"words": Array((None,), NO_WORD)}

    def rows(self, split: Split) -> DocumentRows:
        return DocumentRows(split)

    def of_texts(self, texts: Any, documents: Any) -> dict[str, Any]:
        return {"words": texts.content(documents)}


class DocumentRows(Rows):
    """The documents of a split that have a content word."""

    def __init__(self, split: Split):
        lengths = split.contexts.lengths()
        documents = np.flatnonzero(lengths)
        super().__init__(split, lengths[documents], documents, int(lengths.sum()))

    def batch(self, rows: np.ndarray) -> Batch:
        return _words(self.split, self.documents[rows])


@dataclass(frozen=True)
class DocumentContexts(Batching):
    """A row is a document's first content words, as many as a context has [B, C]."""

    arrays = CONTEXT

    def rows(self, split: Split) -> DocumentContextRows:
        return DocumentContextRows(split)


class DocumentContextRows(DocumentRows):
    """The documents of a split that have a content word, as contexts."""

    def __init__(self, split: Split):
        super().__init__(split)
        self.size = split.contexts.size
        self.num_targets = int(np.minimum(self.lengths, self.size).sum())
        # That of a context for all: short documents stand among long.
        self.lengths = np.full(len(self), self.size)

    def batch(self, rows: np.ndarray) -> Batch:
        words = [self.split.content(i)[: self.size] for i in self.documents[rows]]
        return {"context": pad(words, NO_WORD, self.size)}


@dataclass(frozen=True)
class WholeDocuments(Batching):
    """A row is a document: inputs, targets [B, T], and the words of `Documents`."""

    arrays = {**WORDS, **CONTEXT, **Documents.arrays}

    def rows(self, split: Split) -> WholeDocumentRows:
        return WholeDocumentRows(split)


class WholeDocumentRows(TargetRows):
    """The documents of a split that have a sentence."""

    def __init__(self, split: Split):
        bounds = split.stream.starts[split.documents]
        documents = np.flatnonzero(np.diff(bounds))
        super().__init__(split, bounds[documents], bounds[documents + 1])

    def batch(self, rows: np.ndarray) -> Batch:
        return {**super().batch(rows), **_words(self.split, self.documents[rows])}


def _words(split: Split, documents: np.ndarray) -> Batch:
    return {"words": pad([split.content(i) for i in documents], NO_WORD, 1)}


@dataclass(frozen=True)
class Windows(Batching):
    """A row is a window of `length` targets, the next in its document or a new one's.

    Row b of a batch goes on where row b of the batch before ended, so that a model can
    carry its state; "fresh" [B] is 1 where it must not: at a document's first window
    or, with reset="never", at a pass's first. A document ends its window, which is then
    shorter. Rows that have run out of documents are empty. of_document: names in
    OF_DOCUMENT of what a row comes with.
    """

    length: int
    reset: str = "document"
    of_document: tuple[str, ...] = ()
    unit = "document"

    @property
    def arrays(self) -> dict[str, Array]:
        """inputs, targets [B, T], context [B, C], fresh [B], and what was asked for."""
        found = {**WORDS, **CONTEXT, "fresh": Array((), 1)}
        return {**found, **{name: OF_DOCUMENT[name] for name in self.of_document}}

    def rows(self, split: Split) -> WindowRows:
        return WindowRows(split, self)


class WindowRows(TargetRows):
    """The windows through a split's documents."""

    def __init__(self, split: Split, windows: Windows):
        bounds = split.stream.starts[split.documents]
        document, first, last = pieces(bounds[:-1], bounds[1:], windows.length)
        super().__init__(split, first, last, windows.of_document)
        ends = np.searchsorted(document, np.arange(split.num_documents + 1))
        self.bounds = ends  # of each document's windows
        self.begins = first == bounds[document]
        self.windows = windows

    def order(self, batch_size: int, seed: int | None, epoch: int) -> list[np.ndarray]:
        """Return windows, -1 for none; a row that is done takes the next document."""
        documents = np.arange(self.split.num_documents)
        if seed is not None:
            documents = np.random.default_rng([seed, epoch]).permutation(documents)
        taken: list[list[np.ndarray]] = [[] for _ in range(batch_size)]
        queue = [(0, row) for row in range(batch_size)]
        for document in documents:
            low, high = self.bounds[document : document + 2]
            done, row = heapq.heappop(queue)
            taken[row].append(np.arange(low, high))
            heapq.heappush(queue, (done + high - low, row))
        rows = [np.concatenate([*windows, []]).astype(int) for windows in taken]
        return list(pad(rows, -1).T) if len(self) else []

    def num_batches(self, size: int, seed: int | None = None, epoch: int = 0) -> int:
        return len(self.order(size, seed, epoch))

    def batches(
        self, batch_size: int, seed: int | None = None, epoch: int = 0, skip: int = 0
    ) -> Iterator[Batch]:
        """Yield batches in which every row goes on with the one before it."""
        batches = super().batches(batch_size, seed, epoch, skip)
        for number, batch in enumerate(batches, skip):
            if number == 0:
                batch["fresh"][:] = 1
            yield batch

    def batch(self, rows: np.ndarray) -> Batch:
        batch, missing = super().batch(np.maximum(rows, 0)), rows < 0
        fresh = self.begins[rows] & (self.windows.reset == "document")
        batch["fresh"] = (fresh | missing).astype(np.int32)
        for name, array in self.windows.arrays.items():
            batch[name][missing] = array.padding
        return batch
