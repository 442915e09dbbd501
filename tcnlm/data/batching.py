"""What a row of a model's batches is: base of sequences, windows, groups, documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tcnlm.data.dataset import NO_WORD, Split, cut
from tcnlm.preprocessing.vocabulary import PAD

POOL_BATCHES = 100  # batches sorted by length together: little padding, still shuffled

Batch = dict[str, np.ndarray]


class Array(NamedTuple):
    """An array of a batch: the shape of its rows, what pads them, and its type."""

    shape: tuple[int | None, ...]
    padding: int
    dtype: tf.DType = tf.int32


WORDS = {"inputs": Array((None,), PAD), "targets": Array((None,), PAD)}
CONTEXT = {"context": Array((None,), NO_WORD)}
# What a row may say of its document: how many rows it has, and the row's share in it.
OF_DOCUMENT = {"siblings": Array((), 0), "vote": Array((), 0, tf.float32)}


class Batching:
    """What a row is; `arrays` are those of a batch, each with a row first."""

    arrays: dict[str, Array]
    reads_before = False  # whether a model can go on with a document
    unit = "sentence"  # what a model reads from its first word on, perhaps in rows

    def rows(self, split: Split) -> Rows:
        """Return the rows of a split."""
        raise NotImplementedError

    def signature(self) -> dict[str, tf.TensorSpec]:
        """Return what batches hold, for a `tf.function`."""
        return {
            name: tf.TensorSpec([None, *array.shape], array.dtype)
            for name, array in self.arrays.items()
        }

    def tf_data(
        self, split: Split, batch_size: int = 64, seed: int | None = None
    ) -> tf.data.Dataset:
        """Return the batches of an epoch over a split, for `model.fit`."""
        batches, kinds = self.rows(split).batches, self.signature()
        generator = tf.data.Dataset.from_generator
        return generator(lambda: batches(batch_size, seed), output_signature=kinds)

    def empty(self, number: Any) -> dict[str, tf.Tensor]:
        """Return a batch of rows without words; number: of them, may be a tensor."""

        def padding(array: Array) -> tf.Tensor:
            shape = [number, *(size or 1 for size in array.shape)]
            return tf.fill(shape, tf.constant(array.padding, array.dtype))

        return {name: padding(array) for name, array in self.arrays.items()}

    def sequences(self, batch: Batch) -> int:
        """Return the number of sequences of a batch: the terms of losses are means."""
        return len(next(iter(batch.values())))

    def of_texts(self, texts: Any, documents: Any) -> dict[str, Any]:
        """Return what a batch says of documents, from text, but for a row's words."""
        return {"context": texts.content(documents)}


class Rows:
    """The rows of a split that a model's batching makes, in batches.

    lengths: of every row, those alike come together; documents: which one each row is
    of; num_targets: of all rows.
    """

    def __init__(
        self, split: Split, lengths: np.ndarray, documents: np.ndarray, num_targets: int
    ):
        self.split, self.lengths, self.documents = split, lengths, documents
        self.num_targets = num_targets

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.lengths)

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the rows with these indices."""
        raise NotImplementedError

    def batches(
        self, batch_size: int, seed: int | None = None, epoch: int = 0, skip: int = 0
    ) -> Iterator[Batch]:
        """Yield batches of all rows, once: after `skip`, as if those had come before.

        The order is of seed and epoch alone; without a seed the one for evaluation.
        """
        for rows in self.order(batch_size, seed, epoch)[skip:]:
            yield self.batch(rows)

    def order(self, batch_size: int, seed: int | None, epoch: int) -> list[np.ndarray]:
        """Return the indices of every batch's rows."""
        if seed is None:
            return cut(np.argsort(self.lengths, kind="stable"), batch_size)
        rng, batches = np.random.default_rng([seed, epoch]), []
        for pool in cut(rng.permutation(len(self)), POOL_BATCHES * batch_size):
            by_length = np.argsort(self.lengths[pool], kind="stable")
            batches += cut(pool[by_length], batch_size)
        return [batches[i] for i in rng.permutation(len(batches))]

    def num_batches(self, size: int, seed: int | None = None, epoch: int = 0) -> int:
        """Return the number of batches in an epoch."""
        return -(-len(self) // size)


class TargetRows(Rows):
    """Rows that are stretches of a split's targets, each within one document.

    of_document: names in OF_DOCUMENT of what they come with.
    """

    def __init__(
        self,
        split: Split,
        first: np.ndarray,
        last: np.ndarray,
        of_document: Iterable[str] = (),
    ):
        self.first, self.last = first, last  # places in the split's stream
        self.of_document = of_document
        sentences = split.stream.sentence_of(first)
        documents = np.searchsorted(split.documents, sentences, side="right") - 1
        super().__init__(split, last - first, documents, split.num_targets)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the places in the stream of these rows' targets; -1: an empty row."""
        bounds = [(self.first[row], self.last[row]) for row in rows if row >= 0]
        return np.concatenate([np.arange(*ends) for ends in bounds])

    @cached_property
    def siblings(self) -> np.ndarray:
        """How many rows the document has that each row is of, itself among them."""
        return np.bincount(self.documents)[self.documents].astype(np.int32)

    @cached_property
    def vote(self) -> np.ndarray:
        """Weights, 1 on average, by which documents count alike, if they have a row."""
        shares = 1 / self.siblings
        return (shares / shares.mean()).astype(np.float32)

    def batch(self, rows: np.ndarray) -> Batch:
        """Return inputs, targets and context of these rows, and what was asked for."""
        stream, bounds = self.split.stream, (self.first[rows], self.last[rows])
        context = self.split.contexts.of(self.documents[rows], *stream.bounds(*bounds))
        more = {name: getattr(self, name)[rows] for name in self.of_document}
        return {**stream.words(*bounds), "context": context, **more}


def pieces(low: np.ndarray, high: np.ndarray, length: int) -> tuple:
    """Return stretches low .. high cut into pieces: of which, first and last places."""
    pieces = -(-(high - low) // length)
    whole = np.repeat(np.arange(len(low)), pieces)
    number = np.arange(len(whole)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    first = low[whole] + number * length
    return whole, first, np.minimum(first + length, high[whole])
