"""A DATA folder as batches: sequences of 30 targets, each with its context.

A sentence w1 .. wn becomes `<go> w1 .. wn` -> `w1 .. wn <eos>`, cut into sequences of
at most 30 targets, so that every word and every `<eos>` is a target exactly once. The
context of a sequence is the rest of its document: the content words (those of the
topic vocabulary) of the other sentences, in order, the first 300. A model that asks for
them has all words of the sentences just before, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.encode import read_meta
from preprocessing.vocabulary import EOS, GO, PAD, Vocabulary

SPLITS = ("train", "valid", "test")
NO_WORD = -1  # padding of contexts and preceding sentences
POOL_BATCHES = 100  # batches sorted by length together: little padding, still shuffled

Batch = dict[str, np.ndarray]


class Dataset:
    """A DATA folder written by `python -m preprocessing`, opened read-only."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.meta = read_meta(self.path)
        self.vocabulary = Vocabulary.load(self.path)

    def split(self, name: str, preceding: int = 0) -> Split:
        """Return one of train, valid and test; see `Split` for `preceding`."""
        settings = self.meta["settings"]
        return Split(self.path / name, self.vocabulary, settings, preceding)


class Split:
    """The documents of one split and the sequences that they make.

    preceding: how many sentences before its own, of the same document, each sequence
    comes with.
    """

    def __init__(
        self, folder: Path, vocabulary: Vocabulary, settings: dict, preceding: int = 0
    ):
        self.tokens, self.sentences, self.documents = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in ("tokens", "sentences", "documents")
        )
        self.length = settings["sequence_length"]
        self.preceding = preceding
        self.contexts = Contexts(self, vocabulary.topic_ids, settings)
        self.sequence_sentence, self.sequence_start = self._sequences()

    def _sequences(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each sequence's sentence and the index of its first target there."""
        targets = np.diff(self.sentences) + 1
        pieces = -(-targets // self.length)
        sentence = np.repeat(np.arange(len(targets)), pieces)
        first = np.repeat(np.cumsum(pieces) - pieces, pieces)
        return sentence, (np.arange(len(sentence)) - first) * self.length

    @property
    def num_documents(self) -> int:
        """The number of documents, those without a word included."""
        return len(self.documents) - 1

    @property
    def num_sequences(self) -> int:
        """The number of sequences of at most 30 targets."""
        return len(self.sequence_sentence)

    @property
    def num_targets(self) -> int:
        """The number of words and `<eos>` to predict."""
        return len(self.tokens) + len(self.sentences) - 1

    def sequence_lengths(self) -> np.ndarray:
        """Return the number of targets of every sequence."""
        targets = np.diff(self.sentences)[self.sequence_sentence] + 1
        return np.minimum(self.length, targets - self.sequence_start)

    def document(self, index: int) -> list[list[int]]:
        """Return a document's sentences as word ids."""
        first, last = self.documents[index : index + 2]
        bounds = self.sentences[first : last + 1]
        return [self.tokens[a:b].tolist() for a, b in zip(bounds[:-1], bounds[1:])]

    def content(self, index: int) -> np.ndarray:
        """Return all content words of a document as topic-word ids, in order."""
        return self.contexts.document(index)

    def batches(
        self, batch_size: int, seed: int | None = None, epoch: int = 0, skip: int = 0
    ) -> Iterator[Batch]:
        """Yield batches of sequences: all of them, once.

        With a seed the sequences are shuffled anew for every epoch and drawn together
        by similar length; the order depends on nothing but seed and epoch, so that
        `skip` batches on, a resumed run sees what an uninterrupted one would have.
        Without a seed they come by length, for evaluation.
        """
        for rows in self._order(batch_size, seed, epoch)[skip:]:
            yield self.batch(rows)

    def num_batches(self, batch_size: int) -> int:
        """Return the number of batches in an epoch."""
        return -(-self.num_sequences // batch_size)

    def _order(self, batch_size: int, seed: int | None, epoch: int) -> list[np.ndarray]:
        lengths = self.sequence_lengths()
        if seed is None:
            return _cut(np.argsort(lengths, kind="stable"), batch_size)
        rng = np.random.default_rng([seed, epoch])
        batches = []
        for pool in _cut(rng.permutation(len(lengths)), POOL_BATCHES * batch_size):
            batches += _cut(pool[np.argsort(lengths[pool], kind="stable")], batch_size)
        return [batches[i] for i in rng.permutation(len(batches))]

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the sequences with these indices as inputs, targets and context.

        And, where the split is to have them, the word ids of the preceding sentences.
        """
        sentences, starts = self.sequence_sentence[rows], self.sequence_start[rows]
        words = self._words(sentences, starts)
        targets = words[:, 1:]
        batch = {
            "inputs": np.where(targets == PAD, PAD, words[:, :-1]),
            "targets": targets,
            "context": self.contexts.of(sentences, starts, self.length),
        }
        if self.preceding:
            batch["preceding"] = self._preceding(sentences)
        return batch

    def _preceding(self, sentences: np.ndarray) -> np.ndarray:
        """Return the words [B, n, W] of the n sentences before each, oldest first.

        Where a document has fewer of them, the last rows are empty.
        """
        words = []
        for sentence in sentences:
            first = self.documents[self.contexts.document_of[sentence]]
            before = range(max(first, sentence - self.preceding), sentence)
            words += [self.tokens[slice(*self.sentences[i : i + 2])] for i in before]
            words += [self.tokens[:0]] * (self.preceding - len(before))
        return _pad(words, NO_WORD, 1).reshape(len(sentences), self.preceding, -1)

    def _words(self, sentences: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return at most 31 tokens of each `<go> w1 .. wn <eos>` from its start on."""
        low, high = self.sentences[sentences], self.sentences[sentences + 1]
        end = high - low + 1  # the place of <eos>; that of <go> is 0
        width = min(self.length, (end - starts).max()) + 1
        places, end = starts[:, None] + np.arange(width), end[:, None]
        inside = (places > 0) & (places < end)
        words = np.full(places.shape, PAD, np.int32)
        words[inside] = self.tokens[(low[:, None] + places - 1)[inside]]
        words[places == 0], words[places == end] = GO, EOS
        return words

    def document_contexts(self, batch_size: int) -> Iterator[np.ndarray]:
        """Yield the contexts [B, 300] of whole documents, in order."""
        for rows in _cut(np.arange(self.num_documents), batch_size):
            contents = [self.content(row)[: self.contexts.size] for row in rows]
            yield _pad(contents, NO_WORD, self.contexts.size)


class Contexts:
    """The content words around every sentence of a split, as topic-word ids.

    `settings["context"]`: "others" (all other sentences of the document; the paper),
    "preceding" (only those before), "leak" (all but the current sequence, as the
    predecessor's code does: the rest of a long sentence stays in its own context),
    "all" (nothing is left out: what a model that sees its own answer would gain).
    """

    def __init__(self, split: Split, topic_ids: np.ndarray, settings: dict):
        self.rule, self.size = settings["context"], settings["context_words"]
        self.split = split
        ids = topic_ids[split.tokens]
        self.words = ids[ids >= 0]
        self.before = np.zeros(len(ids) + 1, np.int64)  # content words before a token
        np.cumsum(ids >= 0, out=self.before[1:])
        self.first = self.before[split.sentences[split.documents]]  # each document's
        sizes = np.diff(split.documents)
        self.document_of = np.repeat(np.arange(len(sizes)), sizes)

    def _document_bounds(self, documents: Any) -> tuple:
        return self.first[documents], self.first[documents + 1]

    def _removed_bounds(self, sentences: Any, starts: Any, length: int) -> tuple:
        low, high = self.split.sentences[sentences], self.split.sentences[sentences + 1]
        if self.rule == "leak":
            low, high = low + starts, np.minimum(low + starts + length, high)
        if self.rule == "all":
            high = low
        return self.before[low], self.before[high]

    def document(self, index: int) -> np.ndarray:
        """Return all content words of a document."""
        low, high = self._document_bounds(index)
        return self.words[low:high]

    def of(self, sentences: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
        """Return the contexts [B, size] of the targets start .. start + length each."""
        low, high = self._document_bounds(self.document_of[sentences])
        left, right = self._removed_bounds(sentences, starts, length)
        if self.rule == "preceding":
            high = left
        places = low[:, None] + np.arange(self.size)
        places += np.where(places < left[:, None], 0, (right - left)[:, None])
        inside = places < high[:, None]
        words = np.full(places.shape, NO_WORD, np.int32)
        words[inside] = self.words[places[inside]]
        return words


def _cut(rows: np.ndarray, size: int) -> list[np.ndarray]:
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def _pad(rows: list[np.ndarray], value: int, width: int = 0) -> np.ndarray:
    width = max([width, *map(len, rows)])
    padded = np.full((len(rows), width), value, np.int32)
    for row, padded_row in zip(rows, padded):
        padded_row[: len(row)] = row
    return padded
