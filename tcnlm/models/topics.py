"""The words of a model's topics."""

from __future__ import annotations

from typing import Any

import numpy as np


def top_words(model: Any, count: int = 20, layer: int = 0) -> list[list[str]]:
    """Return the most probable words of every topic, best first, K x count.

    The rows of beta are ranked as they are; ties go by frequency in the corpus. layer:
    of a hierarchy; without one, its lowest.
    """
    topics = model.topics(layer) if layer else model.topics()
    order = np.argsort(-np.asarray(topics), axis=1, kind="stable")
    words = model.vocabulary.topic_words
    return [[words[i] for i in row[:count]] for row in order]
