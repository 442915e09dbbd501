"""Models that do not fit into memory, refused before it is taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import tensorflow as tf

from tcnlm.common.errors import InputError
from tcnlm.common.settings import Settings

COPIES = 4  # of every weight in training: its gradient and Adam's two moments


@contextmanager
def within_memory(settings: Settings) -> Iterator[None]:
    """Raise InputError where the weights made inside do not fit into this machine.

    It names the largest number of the settings.
    """
    left = memory() / COPIES

    def create(make: Callable[..., Any], **options: Any) -> Any:
        nonlocal left
        left -= _size(options)
        if left < 0:
            raise MemoryError
        return make(**options)

    try:
        with tf.variable_creator_scope(create):
            yield
    except (MemoryError, OverflowError, tf.errors.ResourceExhaustedError):
        name, largest = max(_numbers(settings), key=lambda pair: pair[1])
        raise InputError(
            f"{name}={largest}: such a model needs more than the "
            f"{memory() / 2**30:.0f} GB of this machine to be trained; make it smaller"
        ) from None


def memory() -> float:
    """Return the bytes of memory of this machine; infinite where that is not told."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _size(options: dict[str, Any]) -> float:
    """Return the bytes of a variable that is about to be made."""
    shape = options.get("shape")
    if shape is None:
        value = options.get("initial_value")
        shape = [] if callable(value) else np.shape(value)
    elements = np.prod([float(n or 1) for n in tf.TensorShape(shape)])
    return float(elements) * tf.as_dtype(options.get("dtype") or tf.float32).size


def _numbers(settings: Settings) -> Iterator[tuple[str, int]]:
    for name, value in asdict(settings).items():
        for number in value if isinstance(value, (list, tuple)) else [value]:
            if type(number) is int:
                yield name, number
