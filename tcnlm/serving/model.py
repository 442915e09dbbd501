"""A SavedModel found, loaded and asked as TensorFlow Serving's REST asks it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tcnlm.common.errors import InputError
from tcnlm.common.files import plain_path
from tcnlm.models.names import FILE, WORDS, read_names
from tcnlm.preprocessing.text import tokenize_beginning
from tcnlm.serving.tensors import Refused, columns_of, json_of, tensors_of

PROGRAM = "saved_model.pb"
PREDICT = "tensorflow/serving/predict"
MOST_TOKENS, MOST_SENTENCES = 50_000, 1_000  # of a request: some seconds of work


def find(path: Path) -> Path:
    """Return the SavedModel that a RUN, a folder of versions or an export is or has."""
    versions = [p for p in path.glob("*") if p.name.isdecimal()]
    newest = sorted(versions, key=lambda p: int(p.name))[-1:]
    for folder in (path, path / "saved_model", *newest):
        if (folder / PROGRAM).is_file():
            return folder
    if (path / "config.json").is_file():
        export = f"python -m tcnlm export {shlex.quote(str(path))}"
        raise InputError(f"{path}: has no saved_model; write one: {export}")
    raise InputError(f"{path}: is neither a RUN nor a SavedModel")


class Served:
    """A SavedModel by its name and version.

    RUN/saved_model is version 1 of RUN, served/3 is version 3 of `served`.
    """

    def __init__(self, folder: Path):
        whole = folder.resolve()
        numbered = whole.name.isdecimal()
        inside = numbered or whole.name == "saved_model"
        self.name = whole.parent.name if inside else whole.name
        self.version = str(int(whole.name)) if numbered else "1"
        self.topics: list[dict[str, Any]] = []  # as topics.csv has them, if it is there
        try:
            with plain_path(folder) as plain:
                self.loaded = tf.saved_model.load(str(plain))
            self.definitions = _definitions(folder)
        except (tf.errors.OpError, DecodeError, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{folder}: cannot be loaded: {reason}") from None
        if whole.name == "saved_model" and "topic_words" in self.definitions:
            self.topics = self._named(whole.parent / FILE)

    def _named(self, file: Path) -> list[dict[str, Any]]:
        """Return the topics that are shown: number, label and members; [] without."""
        request = {"signature_name": "topic_words", "inputs": {"number": WORDS}}
        words = self.predict(request)["outputs"]
        names = read_names(file, [", ".join(each) for each in words])
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
        """Return the signatures: name, type and shape of every input and output.

        "topics", which TensorFlow Serving lacks, has those that topics.csv names.
        """
        kind = "type.googleapis.com/tensorflow.serving.SignatureDefMap"
        spec = {"name": self.name, "signature_name": "", "version": self.version}
        signatures = {"@type": kind, "signature_def": self.definitions}
        found = {"signature_def": signatures}
        if self.topics:
            found["topics"] = self.topics
        return {"model_spec": spec, "metadata": found}

    def predict(self, request: Any) -> dict[str, Any]:
        """Answer a request, the JSON object of :predict.

        Raises Refused for one that makes no sense.
        """
        if not isinstance(request, dict):
            raise Refused("the request must be a JSON object")
        if ("inputs" in request) == ("instances" in request):
            raise Refused('give either "inputs" or "instances"')
        call = self._signature(request.get("signature_name", "serving_default"))
        specs = call.structured_input_signature[1]
        if "inputs" in request:
            found = _called(call, tensors_of(request["inputs"], specs))
            return {"outputs": next(iter(found.values())) if len(found) == 1 else found}
        columns = columns_of(request["instances"], specs)
        found = _called(call, tensors_of(columns, specs))
        return {"predictions": _rows(found, len(request["instances"]))}

    def _signature(self, name: Any) -> Any:
        if not isinstance(name, str) or name not in self.definitions:
            known = ", ".join(sorted(self.definitions))
            raise Refused(f'signature_name: {str(name)[:99]!r} is none of "{known}"')
        return self.loaded.signatures[name]


def _definitions(folder: Path) -> dict[str, Any]:
    saved = SavedModel.FromString((folder / PROGRAM).read_bytes())
    every = saved.meta_graphs[0].signature_def.items()
    return {
        # By place: releases name the first, defaults too, each in its own way.
        name: MessageToDict(signature, True, preserving_proto_field_name=True)
        for name, signature in every
        if signature.method_name == PREDICT
    }


def _called(call: Any, tensors: Mapping[str, tf.Tensor]) -> dict[str, Any]:
    """Return the outputs of a signature, or what the graph has against the inputs."""
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
        tokens = sum(map(_tokens, tensor.numpy()))
        if tokens > MOST_TOKENS:
            raise Refused(f"{name}: {tokens:,} tokens; give at most {MOST_TOKENS:,}")
    single = name in ("number", "width")
    asked = int(tensor) if single else sum(tensor.shape[:1]) * width
    if asked > MOST_SENTENCES:
        raise Refused(f"{name}: {asked:,} are asked for; at most {MOST_SENTENCES:,}")


def _tokens(text: bytes) -> int:
    """Return how many tokens a text has, remembering none: it may be one long word."""
    return len(tokenize_beginning(text.decode("utf-8", "replace")))


def _rows(outputs: Mapping[str, list], number: int) -> list:
    for name, values in outputs.items():
        if len(values) != number:
            raise Refused(f'{name}: is no row of each instance; ask by "inputs"')
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    return [dict(zip(outputs, row)) for row in zip(*outputs.values())]
