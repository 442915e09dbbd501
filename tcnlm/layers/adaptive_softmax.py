"""Adaptive softmax (Grave et al. 2016) with exact log-probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tensorflow as tf

from tcnlm.layers.mixed_precision import matmul
from tcnlm.layers.next_word import NextWord, categorical, chosen, forbid
from tcnlm.layers.xla import on_gpu
from tcnlm.preprocessing.vocabulary import PAD


def cross_entropy(targets: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Return -log softmax(logits)[target], nats: [N], [N, W] -> [N].

    Where deterministic kernels are asked for, the public function takes a slow way
    round the fused kernel on every device, though only a GPU's is not deterministic.
    """
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
    """Return the language model's loss, nats a sequence, and {"nll": nats a target}.

    log_probs: of targets [B, T], as `of_targets` returns them.
    """
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
        """Make the weights for hidden states of shape [N, H]."""
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
        """Return log p(target), nats: hidden [N, H], targets [N] -> [N].

        A tail is computed only for the rows whose target is in it.
        """
        head_targets = self._head_targets(targets)
        log_prob = -cross_entropy(head_targets, matmul(hidden, self.head))
        for i, (low, high) in enumerate(self._tail_ranges):
            rows = tf.where((targets >= low) & (targets < high))
            inside = tf.gather_nd(hidden, rows)
            logits = matmul(matmul(inside, self.projections[i]), self.tails[i])
            tail = -cross_entropy(tf.gather_nd(targets, rows) - low, logits)
            log_prob = tf.tensor_scatter_nd_add(log_prob, rows, tail)
        return log_prob

    def _head_targets(self, targets: tf.Tensor) -> tf.Tensor:
        for i, (low, high) in enumerate(self._tail_ranges):
            inside = (targets >= low) & (targets < high)
            cluster = tf.cast(self.cutoffs[0] + i, targets.dtype)
            targets = tf.where(inside, cluster, targets)
        return targets

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "cutoffs": self.cutoffs[:-1],
            "div_value": self.div_value,
        }

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

        def in_head(forbidden: Sequence[int]) -> bool:
            return max(forbidden, default=-1) < self.cutoffs[0]

        draw = partial(self.draw, hidden)
        return NextWord(lambda: self.log_probs(hidden), draw, in_head)

    def draw(
        self, hidden: tf.Tensor, forbidden: Sequence[int], seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return a word [N] of the allowed ones and its log p [N], nats, of the model.

        The head's entry is drawn first, and a tail computed only for the rows whose
        entry it is. forbidden: words of the head; in a tail they would leave their
        probability to that tail alone.
        """
        head = tf.nn.log_softmax(hidden @ self.head)
        entries = categorical(forbid(head, forbidden), seed)
        words, log_prob = chosen(head, entries)
        for i, (low, _) in enumerate(self._tail_ranges):
            rows = tf.where(entries == self.cutoffs[0] + i)
            inside = tf.gather_nd(hidden, rows)
            tail = tf.nn.log_softmax((inside @ self.projections[i]) @ self.tails[i])
            own = tf.random.experimental.stateless_fold_in(seed, i)
            drawn, more = chosen(tail, categorical(tail, own))
            words = tf.tensor_scatter_nd_update(words, rows, low + drawn)
            log_prob = tf.tensor_scatter_nd_add(log_prob, rows, more)
        return words, log_prob
