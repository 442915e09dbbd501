"""Requests that TensorFlow Serving asks itself before it says that a model is ready.

A TFRecord file of PredictionLog messages, one of each signature. The messages are those
of tensorflow-serving-api, which nothing else needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from tcnlm.common.errors import InputError

FILE = Path("assets.extra", "tf_serving_warmup_requests")
PACKAGE = "'/path/to/tcnlm[serving]'"
TEXT = "the model is ready ."


def check_package() -> None:
    """Raise InputError where the messages can't be had."""
    try:
        import tensorflow_serving.apis  # noqa: F401
    except ImportError:
        problem = f"--warm-up: needs a package more: pip install {PACKAGE}"
        raise InputError(problem) from None


def write(folder: Path, signatures: Mapping[str, Any]) -> None:
    """Write a request of every signature into a SavedModel."""
    path = folder / FILE
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as file:
        for name, signature in signatures.items():
            file.write(_request(name, signature).SerializeToString())


def _request(name: str, signature: Any) -> Any:
    # Here, since only who warms up has the package.
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    log = PredictionLog()
    request = log.predict_log.request
    request.model_spec.signature_name = name
    for spec in signature.input_signature:
        request.inputs[spec.name].CopyFrom(tf.make_tensor_proto(_sample(spec)))
    return log


def _sample(spec: tf.TensorSpec) -> tf.Tensor:
    """Return one text, one mixture of topics, or the number 1."""
    if spec.dtype == tf.string:
        return tf.constant([TEXT])
    if spec.shape.rank == 2:
        return tf.one_hot([0], spec.shape[1], dtype=spec.dtype)
    return tf.ones(spec.shape, spec.dtype)
