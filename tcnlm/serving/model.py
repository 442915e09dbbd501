"""A SavedModel found, loaded and asked as TensorFlow Serving's REST asks it.

Inputs come by name ("inputs"), or row by row ("instances"), where every input has a row
of each.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tcnlm.common.errors import InputError
from tcnlm.common.files import plain_path
from tcnlm.models.names import CANDIDATES, FILE, labels_of_words, read_names
from tcnlm.preprocessing.text import tokenize_beginning
from tcnlm.runs.folders import EXPORT

PROGRAM = "saved_model.pb"
PREDICT = "tensorflow/serving/predict"
MOST_TOKENS, MOST_SENTENCES = 50_000, 1_000  # of a request: some seconds of work

Specs = Mapping[str, tf.TensorSpec]


class Refused(ValueError):
    """A request that gets an error for an answer, and the HTTP status of that."""

    def __init__(self, message: str, status: int = 400):
        super().__init__(message)
        self.status = status


def find(path: Path) -> Path:
    """Return the SavedModel that a RUN, a folder of versions or an export is or has."""
    versions = [p for p in path.glob("*") if p.name.isdecimal()]
    newest = sorted(versions, key=lambda p: int(p.name))[-1:]
    for folder in (path, path / EXPORT, *newest):
        if (folder / PROGRAM).is_file():
            return folder
    if (path / "config.json").is_file():
        export = f"python -m tcnlm export {shlex.quote(str(path))}"
        raise InputError(f"{path}: has no saved_model; write one: {export}")
    raise InputError(f"{path}: is neither a RUN nor a SavedModel")


class Served:
    """A SavedModel: RUN/saved_model is RUN's version 1, served/3 its version 3."""

    def __init__(self, folder: Path):
        whole = folder.resolve()
        numbered = whole.name.isdecimal()
        inside = numbered or whole.name == EXPORT
        self.name = whole.parent.name if inside else whole.name
        self.version = str(int(whole.name)) if numbered else "1"
        self.topics: list[dict[str, Any]] = []  # as topics.csv has them, if it is there
        try:
            with plain_path(folder) as plain:
                self.loaded = tf.saved_model.load(str(plain))
            saved = SavedModel.FromString((folder / PROGRAM).read_bytes())
        except (tf.errors.OpError, DecodeError, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{folder}: cannot be loaded: {reason}") from None
        # By place: releases name the first, defaults too, each in its own way.
        self.definitions = {
            name: MessageToDict(signature, True, preserving_proto_field_name=True)
            for name, signature in saved.meta_graphs[0].signature_def.items()
            if signature.method_name == PREDICT
        }
        if whole.name == EXPORT and "topic_words" in self.definitions:
            self.topics = self._named(whole.parent / FILE)

    def _named(self, file: Path) -> list[dict[str, Any]]:
        request = {"signature_name": "topic_words", "inputs": {"number": CANDIDATES}}
        words = self.predict(request)["outputs"]
        names = read_names(file, labels_of_words(words))
        return [
            {"topic": k, "label": names.rows[k].label, "members": names.members(k)}
            for k in (names.shown if file.exists() else ())
        ]

    def status(self) -> dict[str, Any]:
        """Return what is served, and that it is ready."""
        ready = {"error_code": "OK", "error_message": ""}
        version = {"version": self.version, "state": "AVAILABLE", "status": ready}
        return {"model_version_status": [version]}

    def metadata(self) -> dict[str, Any]:
        """Return the signatures and, as only here, the topics of topics.csv."""
        kind = "type.googleapis.com/tensorflow.serving.SignatureDefMap"
        spec = {"name": self.name, "signature_name": "", "version": self.version}
        signatures = {"@type": kind, "signature_def": self.definitions}
        topics = {"topics": self.topics} if self.topics else {}
        return {"model_spec": spec, "metadata": {"signature_def": signatures, **topics}}

    def predict(self, request: Any) -> dict[str, Any]:
        """Answer a request, the JSON object of :predict."""
        if not isinstance(request, dict):
            raise Refused("the request must be a JSON object")
        if ("inputs" in request) == ("instances" in request):
            raise Refused('give either "inputs" or "instances"')
        name = request.get("signature_name", "serving_default")
        if not isinstance(name, str) or name not in self.definitions:
            known = ", ".join(sorted(self.definitions))
            raise Refused(f'signature_name: {str(name)[:99]!r} is none of "{known}"')
        call = self.loaded.signatures[name]
        specs = call.structured_input_signature[1]
        if "inputs" in request:
            found = _called(call, tensors_of(request["inputs"], specs))
            return {"outputs": next(iter(found.values())) if len(found) == 1 else found}
        rows = request["instances"]
        found = _called(call, tensors_of(columns_of(rows, specs), specs))
        for name, values in found.items():
            if len(values) != len(rows):
                raise Refused(f'{name}: is no row of each instance; ask by "inputs"')
        if len(found) == 1:
            return {"predictions": next(iter(found.values()))}
        rows = [dict(zip(found, row)) for row in zip(*found.values())]
        return {"predictions": rows}


def _called(call: Any, tensors: Mapping[str, tf.Tensor]) -> dict[str, Any]:
    width = int(tensors.get("width", 1))  # sentences a row
    for name, tensor in tensors.items():
        _check_size(name, tensor, width)
    try:
        return json_of(call(**tensors))
    except tf.errors.InvalidArgumentError as error:
        found = re.search(r"assertion failed: \[(.*?)\]", str(error))
        raise Refused(found[1] if found else str(error).split("\n")[0]) from None


def _check_size(name: str, tensor: tf.Tensor, width: int) -> None:
    if tensor.dtype == tf.string:
        texts = (text.decode("utf-8", "replace") for text in tensor.numpy())
        # Remembering none of the tokens: a text may be one long word.
        tokens = sum(len(tokenize_beginning(text)) for text in texts)
        if tokens > MOST_TOKENS:
            raise Refused(f"{name}: {tokens:,} tokens; give at most {MOST_TOKENS:,}")
    single = name in ("number", "width")
    asked = int(tensor) if single else sum(tensor.shape[:1]) * width
    if asked > MOST_SENTENCES:
        raise Refused(f"{name}: {asked:,} are asked for; at most {MOST_SENTENCES:,}")


def tensors_of(inputs: Any, specs: Specs) -> dict[str, tf.Tensor]:
    """Return the tensors of JSON values, an input each, as the specs want them."""
    if not isinstance(inputs, dict):
        inputs = {name: inputs for name in specs if len(specs) == 1}
    _check_names(inputs, specs)
    return {name: _tensor(name, inputs[name], spec) for name, spec in specs.items()}


def columns_of(instances: Any, specs: Specs) -> dict[str, list]:
    """Return the inputs, a list each, of rows that have a value of every input."""
    if not isinstance(instances, list) or not instances:
        raise Refused("instances: must be a list of one row or more")
    [only, *more] = specs
    rows = [
        row if more or (isinstance(row, dict) and set(row) == {only}) else {only: row}
        for row in instances
    ]
    for row in rows:
        _check_names(row, specs)
    return {name: [row[name] for row in rows] for name in specs}


def json_of(outputs: Mapping[str, tf.Tensor]) -> dict[str, Any]:
    """Return the values of tensors as lists, strings decoded, NaN and infinity null."""
    return {name: _decoded(value.numpy().tolist()) for name, value in outputs.items()}


def _check_names(given: Any, specs: Specs) -> None:
    if not isinstance(given, dict) or set(given) != set(specs):
        names = given if isinstance(given, dict) else {}
        wrong = sorted(set(names) ^ set(specs))
        raise Refused(
            f"{', '.join(wrong)[:99]}: missing or no input; the inputs are "
            f"{', '.join(sorted(specs))}"
        )


def _tensor(name: str, value: Any, spec: tf.TensorSpec) -> tf.Tensor:
    """Return a tensor of nested lists, of the type and shape that the spec says."""
    text = spec.dtype == tf.string
    try:
        values = value if text else _numbers(value, spec.dtype.as_numpy_dtype)
        tensor = tf.constant(values, spec.dtype)
        spec.shape.assert_is_compatible_with(tensor.shape)
    except (TypeError, ValueError, OverflowError):
        kind = "strings" if text else f"numbers that {spec.dtype.name} holds"
        sizes = ("any" if n is None else str(n) for n in spec.shape.as_list())
        shape = f"the shape [{', '.join(sizes)}]"
        raise Refused(f"{name}: must be {kind}, of {shape}") from None
    return tensor


def _numbers(value: Any, dtype: Any) -> np.ndarray:
    given = np.array(value)
    with np.errstate(over="ignore"):  # the graph refuses what is infinite
        found = given.astype(dtype)
    whole = np.issubdtype(dtype, np.integer)
    alike = given.dtype.kind in ("i" if whole else "if")
    if given.size and not (alike and (not whole or np.all(found == given))):
        raise ValueError
    return found


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such number
    return value.decode("utf-8") if isinstance(value, bytes) else value
