"""Keras layers: the public ones by name, and the file of each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PUBLIC = {
    "AdaptiveSoftmax": "softmax",
    "CoupledLSTM": "lstm",
    "TopicCompositionalLSTM": "topic_compositional_lstm",
    "TopicCompositionalLSTMCell": "topic_compositional_lstm",
    "TopicDecoder": "neural_topics",
    "TopicEncoder": "neural_topics",
    "TopicProportions": "neural_topics",
}
__all__ = list(PUBLIC)


def __getattr__(name: str) -> Any:
    """Return a public layer; TensorFlow is imported only where one is asked for."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"tcnlm.layers.{PUBLIC[name]}"), name)
