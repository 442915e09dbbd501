"""A full softmax over a few thousand words, its logits never all in memory at once.

Hidden states [M, H], targets [M], V [D, H], b [D]: p(w | h) = softmax(V h + b)[w].
`ROWS` states are taken at a time, so that the peak is two or three arrays of
`ROWS` x D whatever M is: 4 MB each at D = 2,000, about a processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tcnlm.layers.adaptive_softmax import cross_entropy
from tcnlm.layers.mixed_precision import matmul

ROWS = 512


def logits(hidden: tf.Tensor, V: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Return V h + b, [M, D]."""
    return matmul(hidden, V, transpose_b=True) + b


def log_probs(
    hidden: tf.Tensor, targets: tf.Tensor, V: tf.Tensor, b: tf.Tensor
) -> tf.Tensor:
    """Return log p(target | h), nats, [M]."""

    def write(start: tf.Tensor, done: tf.TensorArray) -> tuple:
        rows = slice(start, start + ROWS)
        chunk = -cross_entropy(targets[rows], logits(hidden[rows], V, b))
        return start + ROWS, done.write(start // ROWS, chunk)

    return _over_chunks(write, hidden, (_array(hidden, []),))[0].concat()


@tf.custom_gradient
def total_nats(
    hidden: tf.Tensor, targets: tf.Tensor, V: tf.Tensor, b: tf.Tensor
) -> tuple[tf.Tensor, Callable]:
    """Return - sum log p(target | h), nats: a scalar.

    Its gradient is made beside it, chunk by chunk: of a sum, every chunk's share is
    known at once, and no logits wait for a way back.
    """

    def add(start: tf.Tensor, total: Any, dh: Any, dV: Any, db: Any) -> tuple:
        rows = slice(start, start + ROWS)
        nats, error = _with_error(targets[rows], logits(hidden[rows], V, b))
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
    return tf.while_loop(lambda start, *_: start < last, body, (tf.constant(0), *sums))[
        1:
    ]


def _array(hidden: tf.Tensor, shape: list) -> tf.TensorArray:
    chunks = (tf.maximum(tf.shape(hidden)[0], 1) + ROWS - 1) // ROWS
    return tf.TensorArray(
        hidden.dtype, chunks, infer_shape=False, element_shape=[None, *shape]
    )


def _with_error(targets: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the cross entropy of all rows, and its gradient to the logits [M, D].

    By one softmax: log p = logit - largest logit + log of the largest p. The fused
    cross entropy takes twice the time on a CPU.
    """
    p = tf.nn.softmax(scores)
    at = tf.stack([tf.range(tf.size(targets)), targets], axis=1)
    shift = tf.math.log(tf.reduce_max(p, axis=1)) - tf.reduce_max(scores, axis=1)
    nats = -tf.reduce_sum(tf.gather_nd(scores, at) + shift)
    return nats, tf.tensor_scatter_nd_sub(p, at, tf.ones_like(shift))
