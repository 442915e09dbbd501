"""Rows that are windows through documents, for models that carry their state."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tcnlm.data.batching import (
    CONTEXT,
    OF_DOCUMENT,
    WORDS,
    Array,
    Batch,
    Batching,
    TargetRows,
    pieces,
)
from tcnlm.data.dataset import Split, pad


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
        """Return the windows of a split."""
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
        """Return the windows of every batch, -1 for an empty row.

        Each of the batch's rows takes the next document when it has done with one.
        """
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

    def num_batches(
        self, batch_size: int, seed: int | None = None, epoch: int = 0
    ) -> int:
        """Return the number of batches in an epoch, which depends on the order."""
        return len(self.order(batch_size, seed, epoch))

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
        """Return the windows with these indices, and which of them begin anew."""
        batch, missing = super().batch(np.maximum(rows, 0)), rows < 0
        fresh = self.begins[rows] & (self.windows.reset == "document")
        batch["fresh"] = (fresh | missing).astype(np.int32)
        for name, array in self.windows.arrays.items():
            batch[name][missing] = array.padding
        return batch
