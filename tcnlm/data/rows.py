"""Rows: sequences, alone or in groups, whole documents, and windows of documents."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
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
from tcnlm.data.dataset import NO_WORD, Split, cut, pad
from tcnlm.preprocessing.vocabulary import PAD


@dataclass(frozen=True)
class Sequences(Batching):
    """A row is a sequence: at most 30 targets of one sentence, and its context.

    preceding: how many sentences before its own, of the same document, each sequence
    comes with, word ids [n, W], oldest first. of_document: names in OF_DOCUMENT of what
    else it comes with.
    """

    preceding: int = 0
    of_document: tuple[str, ...] = ()

    @property
    def arrays(self) -> dict[str, Array]:
        """inputs, targets [B, T], context [B, C]; if asked preceding [B, n, W]."""
        before = {"preceding": Array((self.preceding, None), NO_WORD)}
        asked = {name: OF_DOCUMENT[name] for name in self.of_document}
        return {**WORDS, **CONTEXT, **(before if self.preceding else {}), **asked}

    @property
    def reads_before(self) -> bool:
        return self.preceding > 0

    def rows(self, split: Split) -> SequenceRows:
        return SequenceRows(split, self.preceding, self.of_document)

    def of_texts(self, texts: Any, documents: Any) -> dict[str, Any]:
        arrays = super().of_texts(texts, documents)
        if self.preceding:
            arrays["preceding"] = texts.last_sentences(documents, self.preceding)
        return arrays


class SequenceRows(TargetRows):
    """The sequences of a split: a sentence each, or a piece of a long one."""

    def __init__(
        self, split: Split, preceding: int = 0, of_document: Iterable[str] = ()
    ):
        starts = split.stream.starts
        self.sentence, *bounds = pieces(starts[:-1], starts[1:], split.length)
        super().__init__(split, *bounds, of_document)
        self.preceding = preceding

    def batch(self, rows: np.ndarray) -> Batch:
        batch = super().batch(rows)
        if self.preceding:
            batch["preceding"] = self._preceding(rows)
        return batch

    def _preceding(self, rows: np.ndarray) -> np.ndarray:
        """Return the words [B, n, W] of n sentences before each, then empty ones."""
        split, words = self.split, []
        firsts = split.documents[self.documents[rows]]
        for sentence, first in zip(self.sentence[rows], firsts):
            before = range(max(first, sentence - self.preceding), sentence)
            words += [split.tokens[slice(*split.sentences[i : i + 2])] for i in before]
            words += [split.tokens[:0]] * (self.preceding - len(before))
        return pad(words, NO_WORD, 1).reshape(len(rows), self.preceding, -1)


@dataclass(frozen=True)
class SequencesAndStretches(Sequences):
    """Batches of sequences and, in between at random, of content words; for training.

    A row of the latter is a stretch of `size` content words of a document, "content"
    [B, S] as topic-word ids, and its "context" begins that whole document, the stretch
    included; it has no targets. A sequence has no content. Every content word is in one
    stretch: the last of a document may be shorter.
    """

    size: int = 3

    @property
    def arrays(self) -> dict[str, Array]:
        """inputs, targets [B, T], context [B, C], content [B, S]."""
        return {**super().arrays, "content": Array((self.size,), NO_WORD)}

    def rows(self, split: Split) -> MixedRows:
        return MixedRows(split, self.size)


class MixedRows(SequenceRows):
    """The sequences of a split and, numbered after them, its stretches."""

    def __init__(self, split: Split, size: int):
        super().__init__(split)
        self.size, first = size, split.contexts.first
        self.document, self.begin, self.end = pieces(first[:-1], first[1:], size)

    def order(self, batch_size: int, seed: int | None, epoch: int) -> list[np.ndarray]:
        """Return the rows of every batch; all are of one kind."""
        rng = np.random.default_rng([seed or 0, epoch, 1])
        stretches = rng.permutation(len(self.begin)) + len(self)
        batches = super().order(batch_size, seed, epoch) + cut(stretches, batch_size)
        return [batches[i] for i in rng.permutation(len(batches))]

    def num_batches(self, size: int, seed: int | None = None, epoch: int = 0) -> int:
        stretches = -(-len(self.begin) // size)
        return super().num_batches(size, seed, epoch) + stretches

    def batch(self, rows: np.ndarray) -> Batch:
        if rows[0] >= len(self):
            return self._stretches(rows - len(self))
        content = np.full([len(rows), self.size], NO_WORD, np.int32)
        return {**super().batch(rows), "content": content}

    def _stretches(self, rows: np.ndarray) -> Batch:
        contexts, content = self.split.contexts, self.split.content
        documents = [content(i)[: contexts.size] for i in self.document[rows]]
        stretches = [contexts.words[self.begin[i] : self.end[i]] for i in rows]
        batch = {name: np.full([len(rows), 1], PAD, np.int32) for name in WORDS}
        batch["context"] = pad(documents, NO_WORD, 1)
        return {**batch, "content": pad(stretches, NO_WORD, self.size)}


@dataclass(frozen=True)
class Groups(Batching):
    """A row is `size` sequences of one document in their order, each with its context.

    inputs, targets [B, J, T], context [B, J, C]. A document of more sequences makes
    several rows; where one has fewer the last are empty. What is asked of a sentence by
    itself comes as ever, [B, T] and [B, C].
    """

    size: int
    unit = "document"

    @property
    def arrays(self) -> dict[str, Array]:
        """Those of sequences, J of them a row."""
        return {
            name: Array((self.size, *array.shape), array.padding)
            for name, array in {**WORDS, **CONTEXT}.items()
        }

    def sequences(self, batch: Batch) -> int:
        """Return the number of sequences that are no padding."""
        return int(np.count_nonzero(batch["targets"][:, :, 0] != PAD))

    def rows(self, split: Split) -> GroupRows:
        return GroupRows(split, self.size)


class GroupRows(Rows):
    """Groups of consecutive sequences of a document."""

    def __init__(self, split: Split, size: int):
        self.sequences, self.size = SequenceRows(split), size
        places = np.searchsorted(self.sequences.sentence, split.documents)
        documents, self.first, self.last = pieces(places[:-1], places[1:], size)
        super().__init__(split, self.last - self.first, documents, split.num_targets)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places in the split's stream of these groups' targets."""
        each = [np.arange(self.first[row], self.last[row]) for row in rows]
        return self.sequences.places(np.concatenate(each))

    def batch(self, rows: np.ndarray) -> Batch:
        places = self.first[rows][:, None] + np.arange(self.size)
        inside = places < self.last[rows][:, None]
        places = np.minimum(places, len(self.sequences) - 1)
        batch = self.sequences.batch(places.ravel())
        for name, array in {**WORDS, **CONTEXT}.items():
            batch[name] = batch[name].reshape(*places.shape, -1)
            batch[name][~inside] = array.padding
        return batch


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
