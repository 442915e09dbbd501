"""Softmax layers, adaptive (Grave et al. 2016) or in chunks, and the next word."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.layers.distributions import categorical
from tcnlm.layers.mixed_precision import matmul
from tcnlm.layers.tf_function import on_gpu
from tcnlm.preprocessing.vocabulary import PAD

Drawn = tuple[tf.Tensor, tf.Tensor]


@dataclass(frozen=True)
class NextWord:
    """The distribution of the next word of N sentences.

    of_all: returns log p of every word, nats, [N, V], as the model has it; shorter: a
    way to a word without these, if any, by (forbidden, seed); forbidden: words that are
    not to come.
    """

    of_all: Callable[[], tf.Tensor]
    shorter: Callable[[Sequence[int], tf.Tensor], Drawn] | None = None
    forbidden: Sequence[int] = ()

    def without(self, forbidden: Sequence[int]) -> NextWord:
        """Return the same with some words forbidden."""
        return replace(self, forbidden=forbidden)

    def log_probs(self) -> tf.Tensor:
        """Return log p [N, V], minus infinity at forbidden words, else the model's."""
        return forbid(self.of_all(), self.forbidden)

    def draw(self, seed: tf.Tensor) -> Drawn:
        """Return a word [N] drawn from the allowed ones, and its log p [N], nats."""
        if self.shorter:
            return self.shorter(self.forbidden, seed)
        log_probs = self.log_probs()
        return chosen(log_probs, draw_by_blocks(log_probs, seed))


def forbid(log_probs: tf.Tensor, forbidden: Sequence[int]) -> tf.Tensor:
    """Return log p [N, W] with minus infinity at these words."""
    if not len(forbidden):
        return log_probs
    never = np.isin(np.arange(log_probs.shape[-1]), forbidden)
    # Added, which is faster here than tf.where.
    return log_probs + np.where(never, -np.inf, 0).astype(log_probs.dtype.name)


def draw_by_blocks(scores: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Draw an index a row from softmax(scores): [N, W] -> [N] int32.

    First one of some sqrt(W) blocks by its sum, then one of its entries. A draw of
    tf.random.stateless_categorical hangs on the number of threads.
    """
    size = math.isqrt(scores.shape[-1] - 1) + 1
    weights = tf.exp(scores - tf.reduce_max(scores, axis=-1, keepdims=True))
    weights = tf.pad(weights, [[0, 0], [0, -weights.shape[-1] % size]])
    blocks = tf.reshape(weights, [-1, weights.shape[-1] // size, size])
    of_block, of_entry = tf.unstack(tf.random.experimental.stateless_split(seed, 2))
    # Of 64 bits, or rare entries would be lost in the sum.
    sums = tf.cast(tf.reduce_sum(blocks, axis=-1), tf.float64)
    block = categorical(sums, of_block)
    inside = tf.cast(tf.gather(blocks, block, batch_dims=1), tf.float64)
    return block * size + categorical(inside, of_entry)


def chosen(log_probs: tf.Tensor, words: tf.Tensor) -> Drawn:
    """Return the words [N] with their log p [N]."""
    return words, tf.gather(log_probs, words, batch_dims=1)


def cross_entropy(targets: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Return -log softmax(logits)[target], nats: [N], [N, W] -> [N]."""
    # Where deterministic kernels are asked for, the public function takes a slow way
    # round the fused one on every device, though only a GPU's is not deterministic.
    if on_gpu():
        return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    fused = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits
    return fused(features=logits, labels=targets).loss


def of_targets(
    log_prob: Callable[..., tf.Tensor],
    targets: tf.Tensor,
    hidden: tf.Tensor,
    *by_row: tf.Tensor,
) -> tf.Tensor:
    """Return log p of targets [B, T], nats, zero where they are padding.

    log_prob: of words [N] after their hidden states [N, ...], from [B, T, ...], and
    what else there is of their rows, [N, ...] from [B, ...].
    """
    real = tf.where(targets != PAD)
    each = [tf.gather(values, real[:, 0]) for values in by_row]
    found = log_prob(tf.gather_nd(hidden, real), tf.gather_nd(targets, real), *each)
    return tf.scatter_nd(real, found, tf.shape(targets, tf.int64))


def language_loss(
    log_probs: tf.Tensor, targets: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Return minus log p of targets [B, T], nats a sequence, and {"nll": a target}."""
    total = -tf.reduce_sum(log_probs)
    count = tf.math.count_nonzero(targets, dtype=tf.float32)
    batch = tf.cast(tf.shape(targets)[0], tf.float32)
    return total / batch, {"nll": total / tf.maximum(count, 1.0)}


@tf.keras.utils.register_keras_serializable("tcnlm")
class AdaptiveSoftmax(tf.keras.layers.Layer):
    """Distribution over a frequency-sorted vocabulary in which rare words cost little.

    The words below the first cut-off and one entry for each of the n tail clusters
    share the head's softmax; the words of tail i have a softmax of their own, on a
    projection to H / div_value^i dimensions:

        p(w) = p_head(w)                                       w in the head
        p(w) = p_head(cluster i) p_i(w)                        w in tail i = 1 .. n

    No biases (as published). Cut-offs beyond the vocabulary fall away; without any the
    layer is the full softmax. Weights: `head` [H, c_1 + n], `projections[i]` [H, H_i],
    `tails[i]` [H_i, c_(i+1) - c_i].

    >>> softmax = AdaptiveSoftmax(10_000, cutoffs=(2000,))
    >>> softmax(tf.zeros([2, 8]), tf.constant([3, 9999])).shape  # log p, nats
    TensorShape([2])
    >>> softmax.log_probs(tf.zeros([2, 8])).shape
    TensorShape([2, 10000])
    """

    def __init__(
        self,
        vocabulary_size: int,
        cutoffs: Sequence[int] = (2000, 10000),
        div_value: float = 4.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        if sorted({0, *cutoffs}) != [0, *cutoffs]:
            raise ValueError(f"cutoffs must be positive and rising, not {cutoffs}")
        inner = [cutoff for cutoff in cutoffs if cutoff < vocabulary_size]
        self.cutoffs = [*inner, vocabulary_size]
        self.div_value = div_value

    @property
    def _tail_ranges(self) -> list[tuple[int, int]]:
        return list(zip(self.cutoffs[:-1], self.cutoffs[1:]))

    def build(self, input_shape: Any) -> None:
        units = int(input_shape[-1])
        head = self.cutoffs[0] + len(self._tail_ranges)
        self.head = self.add_weight("head", [units, head])
        self.projections, self.tails = [], []
        for i, (low, high) in enumerate(self._tail_ranges, start=1):
            size = max(1, int(units / self.div_value**i))
            self.projections.append(self.add_weight(f"projection_{i}", [units, size]))
            self.tails.append(self.add_weight(f"tail_{i}", [size, high - low]))
        self.built = True

    def call(self, hidden: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """Return log p(target), nats: hidden [N, H], targets [N] -> [N]."""
        head_targets, tails = targets, []  # a tail is for the rows with a target in it
        for i, (low, high) in enumerate(self._tail_ranges):
            inside = (targets >= low) & (targets < high)
            cluster = tf.cast(self.cutoffs[0] + i, targets.dtype)
            head_targets = tf.where(inside, cluster, head_targets)
            rows = tf.where(inside)
            projected = matmul(tf.gather_nd(hidden, rows), self.projections[i])
            logits = matmul(projected, self.tails[i])
            tails.append(
                (rows, cross_entropy(tf.gather_nd(targets, rows) - low, logits))
            )
        log_prob = -cross_entropy(head_targets, matmul(hidden, self.head))
        for rows, nats in tails:
            log_prob = tf.tensor_scatter_nd_sub(log_prob, rows, nats)
        return log_prob

    def get_config(self) -> dict[str, Any]:
        sizes = {"vocabulary_size": self.vocabulary_size, "div_value": self.div_value}
        return {**super().get_config(), **sizes, "cutoffs": self.cutoffs[:-1]}

    def log_probs(self, hidden: tf.Tensor) -> tf.Tensor:
        """Return log p of every word, nats: hidden [N, H] -> [N, V]."""
        head = tf.nn.log_softmax(hidden @ self.head)
        parts = [head[:, : self.cutoffs[0]]]
        for i, (projection, tail) in enumerate(zip(self.projections, self.tails)):
            cluster = head[:, self.cutoffs[0] + i, None]
            parts.append(cluster + tf.nn.log_softmax((hidden @ projection) @ tail))
        return tf.concat(parts, axis=1)

    def next_word(self, hidden: tf.Tensor) -> NextWord:
        """Return the distribution of the words after hidden states [N, H]."""
        return NextWord(lambda: self.log_probs(hidden), partial(self.draw, hidden))

    def draw(
        self, hidden: tf.Tensor, forbidden: Sequence[int], seed: tf.Tensor
    ) -> Drawn:
        """Return a word [N] of the allowed ones and its log p [N], nats, of the model.

        The head's entry is drawn first, and a tail computed only for the rows whose
        entry it is: not where a word of a tail is forbidden, which would leave its
        probability to that tail alone.
        """
        if max(forbidden, default=-1) >= self.cutoffs[0]:
            return NextWord(lambda: self.log_probs(hidden), None, forbidden).draw(seed)
        head = tf.nn.log_softmax(hidden @ self.head)
        entries = draw_by_blocks(forbid(head, forbidden), seed)
        words, log_prob = chosen(head, entries)
        for i, (low, _) in enumerate(self._tail_ranges):
            rows = tf.where(entries == self.cutoffs[0] + i)
            inside = tf.gather_nd(hidden, rows)
            tail = tf.nn.log_softmax((inside @ self.projections[i]) @ self.tails[i])
            own = tf.random.experimental.stateless_fold_in(seed, i)
            drawn, more = chosen(tail, draw_by_blocks(tail, own))
            words = tf.tensor_scatter_nd_update(words, rows, low + drawn)
            log_prob = tf.tensor_scatter_nd_add(log_prob, rows, more)
        return words, log_prob


def adaptive_softmax(words: int, config: Any) -> AdaptiveSoftmax:
    """Return the one of so many words that the settings ask for."""
    return AdaptiveSoftmax(words, config.cutoffs, config.div_value, name="softmax")


ROWS = 512


def full_logits(hidden: tf.Tensor, V: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Return V h + b, [M, D]."""
    return matmul(hidden, V, transpose_b=True) + b


def full_log_probs(
    hidden: tf.Tensor, targets: tf.Tensor, V: tf.Tensor, b: tf.Tensor
) -> tf.Tensor:
    """Return log p(target | h), nats, [M]."""

    def write(start: tf.Tensor, done: tf.TensorArray) -> tuple:
        rows = slice(start, start + ROWS)
        chunk = -cross_entropy(targets[rows], full_logits(hidden[rows], V, b))
        return start + ROWS, done.write(start // ROWS, chunk)

    return _over_chunks(write, hidden, (_array(hidden, []),))[0].concat()


@tf.custom_gradient
def full_nats(
    hidden: tf.Tensor, targets: tf.Tensor, V: tf.Tensor, b: tf.Tensor
) -> tuple[tf.Tensor, Callable]:
    """Return - sum log p(target | h), nats, its gradient made beside it by chunks."""

    def add(start: tf.Tensor, total: Any, dh: Any, dV: Any, db: Any) -> tuple:
        rows = slice(start, start + ROWS)
        nats, error = _with_error(targets[rows], full_logits(hidden[rows], V, b))
        dh = dh.write(start // ROWS, matmul(error, V))
        dV += matmul(error, hidden[rows], transpose_a=True)
        return start + ROWS, total + nats, dh, dV, db + tf.reduce_sum(error, axis=0)

    zero, dh = tf.zeros([], hidden.dtype), _array(hidden, [hidden.shape[-1]])
    sums = zero, dh, tf.zeros_like(V), tf.zeros_like(b)
    total, dh, dV, db = _over_chunks(add, hidden, sums)
    dh = dh.concat()
    return total, lambda upstream: (upstream * dh, None, upstream * dV, upstream * db)


def _over_chunks(body: Callable, hidden: tf.Tensor, sums: tuple) -> Any:
    """Run the body from chunk to chunk, once at least; return the sums at the end."""
    last = tf.maximum(tf.shape(hidden)[0], 1)
    loop = tf.constant(0), *sums
    return tf.while_loop(lambda start, *_: start < last, body, loop)[1:]


def _array(hidden: tf.Tensor, shape: list) -> tf.TensorArray:
    chunks = (tf.maximum(tf.shape(hidden)[0], 1) + ROWS - 1) // ROWS
    return tf.TensorArray(
        hidden.dtype, chunks, infer_shape=False, element_shape=[None, *shape]
    )


def _with_error(targets: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the cross entropy of all rows, and its gradient to the logits [M, D].

    By one softmax: log p = logit - largest logit + log of the largest p.
    """
    p = tf.nn.softmax(scores)
    at = tf.stack([tf.range(tf.size(targets)), targets], axis=1)
    shift = tf.math.log(tf.reduce_max(p, axis=1)) - tf.reduce_max(scores, axis=1)
    nats = -tf.reduce_sum(tf.gather_nd(scores, at) + shift)
    return nats, tf.tensor_scatter_nd_sub(p, at, tf.ones_like(shift))
