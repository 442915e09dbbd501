"""A DATA folder: the documents of its splits, opened read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.data.contexts import NO_WORD, Contexts
from tcnlm.data.stream import Stream, cut, pad
from tcnlm.preprocessing.checks import open_data
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.encode import load_arrays
from tcnlm.preprocessing.metadata import DATES, IDS, read_labels, read_marks
from tcnlm.preprocessing.vocabulary import Vocabulary


class Dataset:
    """A DATA folder written by `python -m preprocessing`; InputError if damaged.

    context: the rule of `Contexts` for all its splits; "data" is the one that it was
    made with.
    """

    def __init__(self, path: str | Path, context: str = "data"):
        self.path = Path(path)
        self.context = context
        self.meta, self.vocabulary = open_data(self.path)
        if not self.word_order and context not in ("data", "all"):
            raise InputError(
                f"{path}: holds bags of words, one a document, and context={context} "
                "is of sentences; leave it out"
            )

    @property
    def word_order(self) -> bool:
        """Whether documents are texts; else a document's words are in any order."""
        return self.meta.get("word_order", True)

    @property
    def rule(self) -> str:
        """The rule of the contexts, that of DATA or the one in its place."""
        made = self.meta["settings"]["context"]
        return made if self.context == "data" else self.context

    def split(self, name: str) -> Split:
        """Return one of train, valid and test."""
        preprocessing = {**self.meta["settings"], "context": self.rule}
        folder = self.path / name
        ids, dates = (read_marks(folder / file) for file in (IDS, DATES))
        named = name, read_labels(folder), ids, dates
        return Split(load_arrays(folder), self.vocabulary, preprocessing, *named)


class Split:
    """The documents of one split; a model's batching makes rows of them.

    `tokens` int32 [N] are all words; sentence i has those from `sentences[i]` to
    `sentences[i + 1]`, document j the sentences from `documents[j]` on. Where DATA has
    them, `labels` int32 [documents] are indices of the names in `Dataset.meta`, -1 for
    none, `ids` are the documents' names and `dates` their dates of ISO 8601, "" where
    a document has none; else None.
    """

    def __init__(
        self,
        arrays: Arrays,
        vocabulary: Vocabulary,
        preprocessing: Mapping[str, Any],
        name: str = "",
        labels: np.ndarray | None = None,
        ids: list[str] | None = None,
        dates: list[str] | None = None,
    ):
        self.tokens, self.sentences, self.documents = arrays
        self.num_topic_words = len(vocabulary.topic_words)
        self.name, self.labels, self.ids, self.dates = name, labels, ids, dates
        self.length = preprocessing["sequence_length"]
        self.contexts = Contexts(
            self.tokens,
            self.sentences,
            self.documents,
            vocabulary.topic_ids,
            preprocessing["context"],
            preprocessing["context_words"],
        )

    @cached_property
    def stream(self) -> Stream:
        """The split's words and `<eos>` as targets, one after another."""
        return Stream(self.tokens, self.sentences)

    @property
    def num_documents(self) -> int:
        """The number of documents, those without a word included."""
        return len(self.documents) - 1

    @property
    def num_targets(self) -> int:
        """The number of words and `<eos>` to predict."""
        return len(self.tokens) + len(self.sentences) - 1

    def document(self, index: int) -> list[list[int]]:
        """Return a document's sentences as word ids."""
        first, last = self.documents[index : index + 2]
        bounds = self.sentences[first : last + 1]
        return [self.tokens[a:b].tolist() for a, b in zip(bounds[:-1], bounds[1:])]

    def content(self, index: int) -> np.ndarray:
        """Return all content words of a document as topic-word ids, in order."""
        return self.contexts.document(index)

    def document_contexts(self, batch_size: int) -> Iterator[np.ndarray]:
        """Yield the contexts [B, 300] of whole documents, in order."""
        for rows in cut(np.arange(self.num_documents), batch_size):
            contents = [self.content(row)[: self.contexts.size] for row in rows]
            yield pad(contents, NO_WORD, self.contexts.size)
