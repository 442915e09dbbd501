"""A DATA folder: documents of its splits, their words as targets, their contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tcnlm.common.errors import InputError
from tcnlm.preprocessing import data_folder
from tcnlm.preprocessing.collect import Arrays
from tcnlm.preprocessing.data_folder import DATES, IDS, LABELS
from tcnlm.preprocessing.vocabulary import EOS, GO, PAD, Vocabulary

NO_WORD = -1  # padding of contexts and preceding sentences
RULES = ("others", "preceding", "read", "leak", "all")

Bounds = tuple[np.ndarray, np.ndarray]
Tokens = list[list[str]]  # a document: sentences of words


class Dataset:
    """A DATA folder written by `python -m preprocessing`; InputError if damaged.

    context: the rule of `Contexts` for all its splits; "data" is the one that it was
    made with.
    """

    def __init__(self, path: str | Path, context: str = "data"):
        self.path = Path(path)
        self.meta, self.vocabulary = data_folder.open_data(self.path)
        # Whether documents are texts; else a document's words are in any order.
        self.word_order = self.meta.get("word_order", True)
        self.use_context(context)

    def use_context(self, rule: str) -> None:
        """Set the rule of the contexts; "data" is the one that it was made with."""
        if not self.word_order and rule not in ("data", "all"):
            raise InputError(
                f"{self.path}: holds bags of words, one per document, and "
                f"context={rule} is about sentences; leave it out"
            )
        self.rule = self.meta["settings"]["context"] if rule == "data" else rule

    def split(self, name: str) -> Split:
        """Return one of train, valid and test."""
        preprocessing = {**self.meta["settings"], "context": self.rule}
        folder = self.path / name
        arrays = data_folder.load_arrays(folder)
        marks = {LABELS: data_folder.read_labels(folder)}
        marks |= {file: data_folder.read_marks(folder / file) for file in (IDS, DATES)}
        for file, entries in marks.items():  # of which the fingerprint does not tell
            if entries is not None and len(entries) != len(arrays.documents) - 1:
                raise InputError(
                    f"{folder / file}: {len(entries):,} entries for "
                    f"{len(arrays.documents) - 1:,} documents; make {self.path} again "
                    "with python -m preprocessing"
                )
        return Split(arrays, self.vocabulary, preprocessing, name, *marks.values())


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
        self.num_documents = len(self.documents) - 1  # those without a word included
        self.num_targets = len(self.tokens) + len(self.sentences) - 1  # words, `<eos>`
        self.num_topic_words = len(vocabulary.topic_words)
        self.name, self.labels, self.ids, self.dates = name, labels, ids, dates
        self.length = preprocessing["sequence_length"]
        rule, size = preprocessing["context"], preprocessing["context_words"]
        self.contexts = Contexts(arrays, vocabulary.topic_ids, rule, size)
        self.stream = Stream(self.tokens, self.sentences)

    def document(self, index: int) -> list[list[int]]:
        """Return a document's sentences as word ids."""
        first, last = self.documents[index : index + 2]
        bounds = self.sentences[first : last + 1]
        return [self.tokens[a:b].tolist() for a, b in zip(bounds[:-1], bounds[1:])]

    def content(self, index: int) -> np.ndarray:
        """Return all content words of a document as topic-word ids, in order."""
        first = self.contexts.first
        return self.contexts.words[first[index] : first[index + 1]]

    def document_contexts(self, batch_size: int) -> Iterator[np.ndarray]:
        """Yield the contexts [B, 300] of whole documents, in order."""
        for rows in cut(np.arange(self.num_documents), batch_size):
            contents = [self.content(row)[: self.contexts.size] for row in rows]
            yield pad(contents, NO_WORD, self.contexts.size)


def split_of(
    documents: Sequence[Tokens],
    vocabulary: Vocabulary,
    preprocessing: Mapping[str, Any],
) -> Split:
    """Return documents as a split; preprocessing: settings as in DATA/meta.json."""
    sentences = [sentence for document in documents for sentence in document]
    words = [word for sentence in sentences for word in sentence]
    arrays = Arrays(
        np.array(vocabulary.ids(words), np.int32),
        np.cumsum([0, *map(len, sentences)]),
        np.cumsum([0, *map(len, documents)]),
    )
    return Split(arrays, vocabulary, preprocessing)


class Stream:
    """The targets of a split, one after another: each sentence's words and `<eos>`.

    A sentence w1 .. wn is `<go> w1 .. wn` -> `w1 .. wn <eos>`: n + 1 targets. Place p
    of the stream belongs to a sentence s, and p - s is the place of its word among the
    tokens (for `<eos>`, of the next sentence's first).
    """

    def __init__(self, tokens: np.ndarray, sentences: np.ndarray):
        self.tokens, self.sentences = tokens, sentences
        self.starts = sentences + np.arange(len(sentences))  # of each sentence

    def sentence_of(self, places: np.ndarray) -> np.ndarray:
        """Return the sentences that places are in."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def words(self, first: np.ndarray, last: np.ndarray) -> dict[str, np.ndarray]:
        """Return the inputs and targets [B, T] of the places first .. last - 1 each."""
        places = first[:, None] + np.arange(max(1, (last - first).max(initial=0)))
        inside = places < last[:, None]
        at = places[inside]
        sentence = self.sentence_of(at)
        inputs, targets = (np.full(places.shape, PAD, np.int32) for _ in range(2))
        begins = at == self.starts[sentence]
        ends = at + 1 == self.starts[sentence + 1]
        token = at - sentence
        before, after = (np.full(len(at), mark, np.int32) for mark in (GO, EOS))
        before[~begins] = self.tokens[token[~begins] - 1]
        after[~ends] = self.tokens[token[~ends]]
        inputs[inside], targets[inside] = before, after
        return {"inputs": inputs, "targets": targets}

    def bounds(self, first: np.ndarray, last: np.ndarray) -> tuple[Bounds, Bounds]:
        """Return bounds of the tokens of all sentences touched, and of the targets."""
        begin, end = self.sentence_of(first), self.sentence_of(last - 1)
        touched = self.sentences[begin], self.sentences[end + 1]
        return touched, (first - begin, np.minimum(last - end, touched[1]))


class Contexts:
    """The content words of a split's documents, as topic-word ids; a row has the first
    `size` that the rule leaves it.

    rule: "others" (all sentences of the document but those that the row touches; the
    paper), "preceding" (only those before), "read" (all words before the row's own,
    its sentence's among them), "leak" (all but the row's own words, as the
    predecessor's code does: the rest of a long sentence stays in its own context),
    "all" (nothing is left out: what a model that sees its own answer would gain).
    """

    def __init__(self, arrays: Arrays, topic_ids: np.ndarray, rule: str, size: int):
        self.rule, self.size = rule, size
        ids = topic_ids[arrays.tokens]
        self.words = ids[ids >= 0]
        self.before = np.zeros(len(ids) + 1, np.int64)  # content words before a token
        np.cumsum(ids >= 0, out=self.before[1:])
        self.first = self.before[arrays.sentences[arrays.documents]]  # each document's

    def lengths(self) -> np.ndarray:
        """Return the number of content words of every document."""
        return np.diff(self.first)

    def counts(self, num_words: int) -> sparse.csr_matrix:
        """Return how often each content word is in every document, [N, num_words]."""
        parts = np.ones(len(self.words)), self.words, self.first
        bags = sparse.csr_matrix(parts, (len(self.first) - 1, num_words), copy=True)
        bags.sum_duplicates()
        return bags

    def of(self, documents: np.ndarray, touched: Bounds, own: Bounds) -> np.ndarray:
        """Return the contexts [B, size] of rows of documents [B] by `Stream.bounds`."""
        low, high = self.first[documents], self.first[documents + 1]
        nothing = own[0], own[0]
        removed = {"leak": own, "read": own, "all": nothing}.get(self.rule, touched)
        left, right = (self.before[bound] for bound in removed)
        if self.rule in ("preceding", "read"):
            high = left
        places = low[:, None] + np.arange(self.size)
        places += np.where(places < left[:, None], 0, (right - left)[:, None])
        inside = places < high[:, None]
        words = np.full(places.shape, NO_WORD, np.int32)
        words[inside] = self.words[places[inside]]
        return words


def cut(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """Return the rows in pieces of `size`, the last one what is left."""
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def pad(rows: list[np.ndarray], value: int, width: int = 0) -> np.ndarray:
    """Return rows of any length as int32 [B, width or more], padded with `value`."""
    width = max([width, *map(len, rows)])
    padded = np.full((len(rows), width), value, np.int32)
    for row, padded_row in zip(rows, padded):
        padded_row[: len(row)] = row
    return padded
