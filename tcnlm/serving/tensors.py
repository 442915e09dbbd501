"""JSON of a request as the tensors of a signature, and tensors as JSON of the answer.

As TensorFlow Serving's REST has them: inputs by name ("inputs"), or row by row
("instances"), where every input has a row of each; bytes may come as {"b64": "..."}.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import tensorflow as tf

Specs = Mapping[str, tf.TensorSpec]


class Refused(ValueError):
    """A request that gets an error for an answer, and the HTTP status of that."""

    def __init__(self, message: str, status: int = 400):
        super().__init__(message)
        self.status = status


def tensors_of(inputs: Any, specs: Specs) -> dict[str, tf.Tensor]:
    """Return the tensors of JSON values, an input each, as the specs want them."""
    if not isinstance(inputs, dict):
        inputs = {name: inputs for name in specs if len(specs) == 1}
    _check_names(inputs, specs)
    return {name: _tensor(name, inputs[name], spec) for name, spec in specs.items()}


def columns_of(instances: Any, specs: Specs) -> dict[str, list]:
    """Return the inputs, a list each, of rows that have a value of every input.

    Of a single input, a row may be the value itself.
    """
    if not isinstance(instances, list) or not instances:
        raise Refused("instances: must be a list of one row or more")
    rows = instances
    if len(specs) == 1:
        [only] = specs
        rows = [row if _is_named(row, only) else {only: row} for row in instances]
    for row in rows:
        if not isinstance(row, dict):
            raise Refused(f"instances: every row must be an object of {_list(specs)}")
        _check_names(row, specs)
    return {name: [row[name] for row in rows] for name in specs}


def json_of(outputs: Mapping[str, tf.Tensor]) -> dict[str, Any]:
    """Return the values of tensors as lists, strings decoded, NaN and infinity null."""
    return {name: _decoded(value.numpy().tolist()) for name, value in outputs.items()}


def _is_named(row: Any, name: str) -> bool:
    return isinstance(row, dict) and set(row) == {name}


def _check_names(given: Mapping[str, Any], specs: Specs) -> None:
    for name in sorted(specs):
        if name not in given:
            raise Refused(f"{name}: is missing; the inputs are {_list(specs)}")
    for name in given:
        if name not in specs:
            raise Refused(f"{name[:99]}: is no input; the inputs are {_list(specs)}")


def _list(names: Sequence[str] | Specs) -> str:
    return ", ".join(sorted(names))


def _tensor(name: str, value: Any, spec: tf.TensorSpec) -> tf.Tensor:
    """Return a tensor of nested lists, as deep and as long as the spec says."""
    values, shape = [value], []
    for size in spec.shape.as_list():
        lengths = {len(v) if isinstance(v, list) else None for v in values}
        lengths = lengths or {size or 0}  # of nothing, nothing can be told
        if len(lengths) > 1 or None in lengths or size not in (None, *lengths):
            raise Refused(f"{name}: must have the shape {_shape(spec)}")
        shape += lengths
        values = list(chain.from_iterable(values))
    if any(isinstance(v, list) for v in values):
        raise Refused(f"{name}: must have the shape {_shape(spec)}")
    values = [_value(name, value, spec.dtype) for value in values]
    return tf.constant(values, spec.dtype, shape)


def _shape(spec: tf.TensorSpec) -> str:
    sizes = ["any" if size is None else str(size) for size in spec.shape.as_list()]
    return f"[{', '.join(sizes)}]" if sizes else "[], a single value"


def _value(name: str, value: Any, dtype: tf.DType) -> Any:
    if dtype == tf.string:
        return _text(name, value)
    if dtype.is_integer:
        if type(value) is not int or not dtype.min <= value <= dtype.max:
            raise Refused(f"{name}: must be whole numbers that {dtype.name} holds")
        return value
    if type(value) not in (int, float) or abs(value) > float(dtype.max):
        raise Refused(f"{name}: must be numbers that {dtype.name} holds")
    return float(value)


def _text(name: str, value: Any) -> bytes:
    try:
        if isinstance(value, dict) and isinstance(value.get("b64"), str):
            text = base64.b64decode(value["b64"], validate=True)
            text.decode("utf-8")
            return text
        if isinstance(value, str):
            return value.encode("utf-8")
    except (UnicodeError, binascii.Error):
        raise Refused(f"{name}: a text is no UTF-8") from None
    raise Refused(f"{name}: must be strings")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such number
    return value.decode("utf-8") if isinstance(value, bytes) else value
