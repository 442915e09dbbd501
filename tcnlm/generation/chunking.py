"""What holds of many rows, made a piece at a time: memory does not grow with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

ROWS = 256  # read or scored at a time
SENTENCES = 1024  # written at a time


def in_pieces(
    function: Callable[[tf.Tensor, tf.Tensor], Sequence[tf.Tensor]],
    number: tf.Tensor,
    specs: Sequence[tf.TensorSpec],
    size: int = ROWS,
) -> list[tf.Tensor]:
    """Return function(first, last) of the rows 0 .. number - 1, in the graph, joined.

    function: (first, last + 1) -> tensors [rows, ...], as `specs` says. Without rows it
    is called once, for none.
    """
    pieces = tf.maximum((number + size - 1) // size, 1)
    arrays = [
        tf.TensorArray(spec.dtype, pieces, element_shape=spec.shape, infer_shape=False)
        for spec in specs
    ]

    def step(i: tf.Tensor, arrays: Any) -> tuple[tf.Tensor, Any]:
        found = function(i * size, tf.minimum((i + 1) * size, number))
        return i + 1, [array.write(i, x) for array, x in zip(arrays, found)]

    _, arrays = tf.while_loop(
        lambda i, _: i < pieces, step, (tf.constant(0), arrays), parallel_iterations=1
    )
    return [array.concat() for array in arrays]
