"""A batch in parts: the rows of several workers, or pieces of which one makes a step.

What the parts' losses and gradients are, each by its share, sums to those of the whole
batch: a batch's "row" [B] numbers its rows in it, and random draws go by these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.data.documents import DocumentContexts, Windows
from tcnlm.data.sequences import Sequences
from tcnlm.layers.tf_function import graph

PART, ROW = "part", "row"  # beside a batch's arrays: see `divide`
SIZE = 8  # numbers of a part


def check_accumulation(model: Any, accumulate: int) -> None:
    """Refuse by InputError a model whose step cannot be made of several batches."""
    reason = why_not_shardable(model)
    if isinstance(model.batching, Windows):
        reason = "its state continues from batch to batch"
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

    [pieces, 8]: a piece's first row and the number of all, its sequences and all, its
    words and all, and its bounds among the worker's rows. A piece without a row, and so
    a worker, has one of no weight.
    """
    number = len(next(iter(batch.values())))
    batch = {**batch, ROW: np.arange(number, dtype=np.int32)}
    places = np.arange(index * pieces, (index + 1) * pieces + 1)
    edges = number * places // (workers * pieces)
    begin = edges[0] if edges[0] < edges[-1] else 0
    parts = []
    for first, last in zip(edges, edges[1:]):
        weight = int(last > first)
        first, last = (first, last) if weight else (begin, begin + 1)
        piece, numbers = _rows(batch, first, last), [first, number]
        for count in (model.batching.sequences, model.count_words):
            numbers += [weight * count(piece), max(count(batch), 1)]
        parts.append([*numbers, first - begin, last - begin])
    own = _rows(batch, begin, max(edges[-1], begin + 1))
    return {**own, PART: np.array(parts, np.int32)}


def _rows(batch: dict[str, Any], first: Any, last: Any) -> dict[str, Any]:
    return {name: array[first:last] for name, array in batch.items()}


def learn(
    model: Any, batch: dict[str, tf.Tensor], total: Callable[..., list]
) -> tuple[dict[str, tf.Tensor], list]:
    """Return `model.compute_gradients` of a worker's rows, its pieces' shares summed.

    Losses are means over sequences, `per_word` over words. One piece after the other is
    computed. total: sums tensors over all workers.
    """
    batch = dict(batch)
    pieces = tf.unstack(batch.pop(PART))

    def learned(numbers: tf.Tensor) -> tuple[dict[str, tf.Tensor], list]:
        first, number, *_, begin, end = tf.unstack(numbers)
        means = tf.reshape(tf.cast(numbers[2:6], tf.float32), [2, 2])
        sequences, words = tf.unstack(means[:, 0] / means[:, 1])
        terms, gradients = model.compute_gradients(_rows(batch, begin, end))
        if model.carried is not None:
            states = tf.nest.flatten(model.carried.nest)
            has_rows = tf.sign(sequences)
            placed = [_placed(has_rows * state, first, number) for state in states]
            model.carried.keep(total(placed))
        shares = {
            name: (words if name == model.per_word else sequences) * term
            for name, term in terms.items()
        }
        return shares, [_times(gradient, sequences) for gradient in gradients]

    once = graph(learned) if len(pieces) > 1 else learned  # traced once for all
    return tf.nest.map_structure(_sum, *map(once, pieces))


def _placed(rows: tf.Tensor, first: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """Return rows [B, ...] at their place in [number, ...], with zeros around."""
    after = number - first - tf.shape(rows)[0]
    return tf.pad(rows, [[first, after], *[[0, 0]] * (rows.shape.rank - 1)])


def _times(tensor: Any, share: tf.Tensor) -> Any:
    if isinstance(tensor, tf.IndexedSlices):
        values, ids = tensor.values * share, tf.identity(tensor.indices)
        return tf.IndexedSlices(values, ids, tensor.dense_shape)
    return tensor * tf.cast(share, tensor.dtype)


def _sum(*each: Any) -> Any:
    if isinstance(each[0], tf.IndexedSlices):
        parts = [(slices.values, slices.indices) for slices in each]
        values, ids = (tf.concat(found, axis=0) for found in zip(*parts))
        return tf.IndexedSlices(values, ids, each[0].dense_shape)
    return tf.add_n(each)
