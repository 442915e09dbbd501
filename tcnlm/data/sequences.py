"""Rows that are sequences: a sentence each, or a piece of a long one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tcnlm.data.batching import (
    CONTEXT,
    WORDS,
    Array,
    Batch,
    Batching,
    TargetRows,
    pieces,
)
from tcnlm.data.contexts import NO_WORD
from tcnlm.data.dataset import Split
from tcnlm.data.stream import pad


@dataclass(frozen=True)
class Sequences(Batching):
    """A row is a sequence: at most 30 targets of one sentence, and its context.

    preceding: how many sentences before its own, of the same document, each sequence
    comes with, word ids [n, W], oldest first.
    """

    preceding: int = 0

    @property
    def arrays(self) -> dict[str, Array]:
        """inputs, targets [B, T], context [B, C]; if asked preceding [B, n, W]."""
        if not self.preceding:
            return {**WORDS, **CONTEXT}
        before = {"preceding": Array((self.preceding, None), NO_WORD)}
        return {**WORDS, **CONTEXT, **before}

    @property
    def reads_before(self) -> bool:
        """Whether rows come with the sentences before."""
        return self.preceding > 0

    def rows(self, split: Split) -> SequenceRows:
        """Return the sequences of a split."""
        return SequenceRows(split, self.preceding)

    def of_texts(self, texts: Any, documents: Any) -> dict[str, Any]:
        """Return the contexts of documents, and their last sentences if asked."""
        arrays = super().of_texts(texts, documents)
        if self.preceding:
            arrays["preceding"] = texts.last_sentences(documents, self.preceding)
        return arrays


class SequenceRows(TargetRows):
    """The sequences of a split: a sentence each, or a piece of a long one."""

    def __init__(self, split: Split, preceding: int = 0):
        starts = split.stream.starts
        self.sentence, *bounds = pieces(starts[:-1], starts[1:], split.length)
        super().__init__(split, *bounds)
        self.preceding = preceding

    def batch(self, rows: np.ndarray) -> Batch:
        """Return these sequences, with the sentences before if asked."""
        batch = super().batch(rows)
        if self.preceding:
            batch["preceding"] = self._preceding(self.sentence[rows])
        return batch

    def _preceding(self, sentences: np.ndarray) -> np.ndarray:
        """Return the words [B, n, W] of the n sentences before each, oldest first.

        Where a document has fewer of them, the last rows are empty.
        """
        split, words = self.split, []
        documents = np.searchsorted(split.documents, sentences, side="right") - 1
        for sentence, document in zip(sentences, documents):
            before = range(
                max(split.documents[document], sentence - self.preceding), sentence
            )
            words += [split.tokens[slice(*split.sentences[i : i + 2])] for i in before]
            words += [split.tokens[:0]] * (self.preceding - len(before))
        return pad(words, NO_WORD, 1).reshape(len(sentences), self.preceding, -1)
