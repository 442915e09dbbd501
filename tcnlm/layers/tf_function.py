"""Functions that run as graphs, without AutoGraph.

AutoGraph reads and rewrites the source of all that a `tf.function` calls, which takes
seconds of every start. It has nothing to rewrite where loops and choices are
TensorFlow's own: `tf.while_loop`, `tf.map_fn`, `tf.where`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


def graph(
    function: Callable[..., Any],
    input_signature: Sequence[Any] | None = None,
    **options: Any,
) -> tf.types.experimental.GenericFunction:
    """Return `tf.function` of a function whose loops and choices are TensorFlow's own.

    Nothing that it calls is rewritten either, Keras layers included; what has a Python
    `if` or `for` over a tensor raises, unless it is a `tf.function` of its own.
    options: see `tf.function`.
    """
    plain = tf.autograph.experimental.do_not_convert(function)
    made = tf.function(plain, input_signature, **options)
    # A signature is traced once; the warning counts the same method of other models.
    made._omit_frequent_tracing_warning = input_signature is not None
    return made
