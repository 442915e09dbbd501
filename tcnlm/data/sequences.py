"""Rows that are sequences, a sentence or a piece of one each, or groups of them."""

from __future__ import annotations

from collections.abc import Iterable
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
