"""Functions that run as graphs: without AutoGraph, and compiled by XLA on a GPU.

AutoGraph rewrites the source of all that a `tf.function` calls, seconds of every start.
XLA makes one of the dozens of small operations of a step, but compiles a loop anew for
every shape: only training asks for it, and what is exported stays free of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

import tensorflow as tf


def graph(
    function: Callable[..., Any],
    input_signature: Sequence[Any] | None = None,
    **options: Any,
) -> tf.types.experimental.GenericFunction:
    """Return `tf.function` of a function whose loops and choices are TensorFlow's own.

    Nothing that it calls is rewritten either; a Python `if` or `for` over a tensor
    raises, unless it is in a `tf.function` of its own.
    """
    plain = tf.autograph.experimental.do_not_convert(function)
    made = tf.function(plain, input_signature, **options)
    # A signature is traced once; the warning counts the same method of other models.
    made._omit_frequent_tracing_warning = input_signature is not None
    return made


_wanted = ContextVar("_wanted", default=False)


def on_gpu() -> bool:
    """Whether there is a GPU."""
    return bool(tf.config.list_physical_devices("GPU"))


@contextmanager
def within(variable: ContextVar, value: Any) -> Iterator[None]:
    """Let a variable have a value for a while."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def compiled_loops() -> AbstractContextManager:
    """Compile the loops of what is traced within, where there is a GPU."""
    return within(_wanted, on_gpu())


def compilable(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Let `compiled_loops` decide how a function of tensors runs."""
    compiled = graph(loop, jit_compile=True)

    @wraps(loop)
    def chosen(*arguments: Any) -> Any:
        return (compiled if _wanted.get() else loop)(*arguments)

    return chosen
