"""A batch in parts: the rows of several workers, or pieces of which one makes a step.

What the parts' losses and gradients are, each by its share, sums to those of the whole
batch: a batch's "row" [B] numbers its rows in it, and random draws go by these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.data.documents import DocumentContexts
from tcnlm.data.sequences import Sequences
from tcnlm.data.windows import Windows
from tcnlm.layers.tf_function import graph

PART = "part"  # beside a batch's arrays: what each `Part` of a step is made of
ROW = "row"
SIZE = 8  # numbers of a part


class Part:
    """Some rows of a global batch, within a graph.

    numbers [8]: its first row and the number of all, then its own sequences and all,
    its own words and all: losses are means over sequences, `per_word` over words; last
    its bounds among the worker's rows.
    """

    def __init__(self, numbers: tf.Tensor):
        self.first, self.rows = numbers[0], numbers[1]
        of_means = tf.reshape(tf.cast(numbers[2:6], tf.float32), [2, 2])
        self.sequences, self.words = tf.unstack(of_means[:, 0] / of_means[:, 1])
        self.taken = slice(numbers[6], numbers[7])

    def share(self, term: str, model: Any) -> tf.Tensor:
        """Return the part's share of a term of the objective."""
        return self.words if term == model.per_word else self.sequences

    def together(
        self, own: Sequence[tf.Tensor], total: Callable[..., list]
    ) -> list[tf.Tensor]:
        """Return [rows, ...] of all workers from the rows [B, ...] of each.

        total: sums tensors over all workers.
        """
        has_rows = tf.sign(self.sequences)

        def placed(states: tf.Tensor) -> tf.Tensor:
            after = self.rows - self.first - tf.shape(states)[0]
            others = [[0, 0]] * (states.shape.rank - 1)
            return tf.pad(has_rows * states, [[self.first, after], *others])

        return total([placed(states) for states in own])


def check_accumulation(model: Any, accumulate: int) -> None:
    """Refuse by InputError a model whose step cannot be made of several batches."""
    reason = why_not_shardable(model)
    if isinstance(model.batching, Windows):
        reason = "its state goes on from batch to batch"
    if accumulate > 1 and reason:
        raise InputError(f"accumulate={accumulate}: not with this model: {reason}")


def why_not_shardable(model: Any) -> str:
    """Return why rows of a batch cannot be learned from apart and summed, if so."""
    if isinstance(model.batching, (Sequences, Windows, DocumentContexts)):
        return model.why_not_shardable
    return (
        model.why_not_shardable
        or "a row of its batches is neither a sequence nor a bag of words"
    )


def divide(
    batch: dict[str, np.ndarray], model: Any, index: int, workers: int, pieces: int
) -> dict[str, np.ndarray]:
    """Return a worker's rows of a global batch, and the numbers of their pieces.

    A piece without a row, and so a worker, has one of no weight.
    """
    number, first = len(next(iter(batch.values()))), index * pieces
    batch = {**batch, ROW: np.arange(number, dtype=np.int32)}
    places = range(first, first + pieces + 1)
    edges = [number * place // (workers * pieces) for place in places]
    begin = edges[0] if edges[0] < edges[-1] else 0
    own = {
        name: rows[begin : max(edges[-1], begin + 1)] for name, rows in batch.items()
    }
    bounds = zip(edges, edges[1:])
    numbers = [_numbers(batch, model, begin, *each) for each in bounds]
    return {**own, PART: np.array(numbers, np.int32)}


def _numbers(
    batch: dict[str, np.ndarray], model: Any, begin: int, first: int, last: int
) -> list[int]:
    """Return what a `Part` of the rows first .. last - 1 is made of.

    begin: the worker's first row, of no weight where there are no others.
    """
    weight = int(last > first)
    first, last = (first, last) if weight else (begin, begin + 1)
    piece = {name: rows[first:last] for name, rows in batch.items()}
    counts = [
        number
        for count in (model.batching.sequences, model.count_words)
        for number in (weight * count(piece), max(count(batch), 1))
    ]
    rows = len(next(iter(batch.values())))
    return [first, rows, *counts, first - begin, last - begin]


def learn(
    model: Any, batch: dict[str, tf.Tensor], total: Callable[..., list]
) -> tuple[dict[str, tf.Tensor], list]:
    """Return `model.compute_gradients` of a worker's rows, its pieces' shares summed.

    One piece after the other is computed. total: sums tensors over all workers.
    """
    batch = dict(batch)
    pieces = tf.unstack(batch.pop(PART))

    def learned(numbers: tf.Tensor) -> tuple[dict[str, tf.Tensor], list]:
        part = Part(numbers)
        rows = {name: array[part.taken] for name, array in batch.items()}
        terms, gradients = model.compute_gradients(rows)
        if model.carried is not None:
            own = tf.nest.flatten(model.carried.nest)
            model.carried.keep(part.together(own, total))
        shares = {name: part.share(name, model) * x for name, x in terms.items()}
        return shares, [_times(gradient, part.sequences) for gradient in gradients]

    once = graph(learned) if len(pieces) > 1 else learned  # traced once for all
    return tf.nest.map_structure(_sum, *map(once, pieces))


def _times(tensor: Any, share: tf.Tensor) -> Any:
    if isinstance(tensor, tf.IndexedSlices):
        values, ids = tensor.values * share, tf.identity(tensor.indices)
        return tf.IndexedSlices(values, ids, tensor.dense_shape)
    return tensor * tf.cast(share, tensor.dtype)


def _sum(*each: Any) -> Any:
    """Return the sum of tensors, or of slices as slices, some of one row."""
    if isinstance(each[0], tf.IndexedSlices):
        parts = [(slices.values, slices.indices) for slices in each]
        values, ids = (tf.concat(found, axis=0) for found in zip(*parts))
        return tf.IndexedSlices(values, ids, each[0].dense_shape)
    return tf.add_n(each)
