"""Matrix products, in bfloat16 where training asks for it, both ways; sums in float32.

Weights, optimizers, softmax and losses stay float32, and all outside `products_in`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from typing import Any

import tensorflow as tf

from tcnlm.layers.tf_function import within

PRECISIONS = ("float32", "bfloat16")
_asked = ContextVar("_asked", default="float32")


def products_in(precision: str) -> AbstractContextManager:
    """Make the products of what is traced within in one of `PRECISIONS`."""
    return within(_asked, precision)


def operand(values: Any) -> Any:
    """Return values as products take them; a loop's weights are so rounded once."""
    return values if _asked.get() == "float32" else tf.cast(values, _asked.get())


def product(multiply: Callable[..., tf.Tensor], a: Any, b: Any) -> tf.Tensor:
    """Return `multiply(a, b)`."""
    found = multiply(operand(a), operand(b))
    return found if _asked.get() == "float32" else tf.cast(found, tf.float32)


def matmul(a: Any, b: Any, **options: bool) -> tf.Tensor:
    """Return `tf.matmul(a, b)`."""
    return product(partial(tf.matmul, **options), a, b)


def tensordot(a: Any, b: Any) -> tf.Tensor:
    """Return `tf.tensordot(a, b, 1)`."""
    return product(partial(tf.tensordot, axes=1), a, b)


def einsum(equation: str, a: Any, b: Any) -> tf.Tensor:
    """Return `tf.einsum(equation, a, b)`."""
    return product(partial(tf.einsum, equation), a, b)


class MixedDense(tf.keras.layers.Dense):
    """Keras's layer, whose product is one of these."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        multiply = matmul if inputs.shape.rank == 2 else tensordot
        outputs = multiply(inputs, self.kernel)
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return self.activation(outputs)


MixedDense.__name__ = "Dense"  # by which files of weights hold those of a list


class MixedConv1D(tf.keras.layers.Conv1D):
    """Keras's layer, whose product is one of these."""

    def convolution_op(self, inputs: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        return product(super().convolution_op, inputs, kernel)
