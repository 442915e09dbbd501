"""Loops that XLA compiles where a model trains on a GPU.

A step of a recurrence is two products and dozens of small operations, and a GPU takes
longer to begin one of these than to do it; XLA makes a few of them all. It compiles a
loop anew for every shape, some thirty lengths of a batch, so only training asks for it;
what is exported stays free of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

import tensorflow as tf

from tcnlm.layers.tf_function import graph

_wanted = ContextVar("_wanted", default=False)


def on_gpu() -> bool:
    """Whether there is a GPU."""
    return bool(tf.config.list_physical_devices("GPU"))


@contextmanager
def compiled_loops() -> Iterator[None]:
    """Compile the loops of what is traced within, where there is a GPU."""
    before = _wanted.set(on_gpu())
    try:
        yield
    finally:
        _wanted.reset(before)


def compilable(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Let `compiled_loops` decide how a function of tensors runs."""
    compiled = graph(loop, jit_compile=True)

    @wraps(loop)
    def chosen(*arguments: Any) -> Any:
        return (compiled if _wanted.get() else loop)(*arguments)

    return chosen
