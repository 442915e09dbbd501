"""Rows that are whole documents: bags of their content words, or all their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tcnlm.data.batching import CONTEXT, WORDS, Array, Batch, Batching, Rows, TargetRows
from tcnlm.data.dataset import NO_WORD, Split, pad


@dataclass(frozen=True)
class Documents(Batching):
    """A row is a document: all its content words in order, as topic-word ids.

    words [B, N]. Documents without such a word are left out.
    """

    arrays = {"words": Array((None,), NO_WORD)}

    def rows(self, split: Split) -> DocumentRows:
        """Return the documents of a split."""
        return DocumentRows(split)

    def of_texts(self, texts: Any, documents: Any) -> dict[str, Any]:
        """Return the words of given documents."""
        return {"words": texts.content(documents)}


class DocumentRows(Rows):
    """The documents of a split that have a content word."""

    def __init__(self, split: Split):
        lengths = split.contexts.lengths()
        documents = np.flatnonzero(lengths)
        super().__init__(split, lengths[documents], documents, int(lengths.sum()))

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the content words of these documents."""
        return _words(self.split, self.documents[rows])


@dataclass(frozen=True)
class DocumentContexts(Batching):
    """A row is a document: its first content words, as many as a context has.

    context [B, C]. Documents without such a word are left out.
    """

    arrays = CONTEXT

    def rows(self, split: Split) -> DocumentContextRows:
        """Return the documents of a split."""
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
        """Return the first content words of these documents."""
        words = [self.split.content(i)[: self.size] for i in self.documents[rows]]
        return {"context": pad(words, NO_WORD, self.size)}


@dataclass(frozen=True)
class WholeDocuments(Batching):
    """A row is a document from its first word to its last: inputs, targets [B, T].

    words [B, N]: its content words, as in `Documents`.
    """

    arrays = {**WORDS, **CONTEXT, **Documents.arrays}

    def rows(self, split: Split) -> WholeDocumentRows:
        """Return the documents of a split that have a sentence."""
        return WholeDocumentRows(split)


class WholeDocumentRows(TargetRows):
    """The documents of a split that have a sentence."""

    def __init__(self, split: Split):
        bounds = split.stream.starts[split.documents]
        documents = np.flatnonzero(np.diff(bounds))
        super().__init__(split, bounds[documents], bounds[documents + 1])

    def batch(self, rows: np.ndarray) -> Batch:
        """Return all words of these documents, and the content words by themselves."""
        return {**super().batch(rows), **_words(self.split, self.documents[rows])}


def _words(split: Split, documents: np.ndarray) -> Batch:
    return {"words": pad([split.content(i) for i in documents], NO_WORD, 1)}
