"""What the units of a document's vector stand for, by the words' rows of W [D, F]."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.metrics.base import EvaluationContext, Metric, Shown, documental


def unit_words(model: Any, count: int = 10) -> list[list[str]]:
    """Return the words of largest weight in W of every unit, best first, H x count."""
    order = np.argsort(-model.word_vectors(), axis=0, kind="stable")[:count].T
    return [[model.vocabulary.topic_words[i] for i in row] for row in order]


def nearest_words(model: Any, word: str, count: int = 10) -> list[str]:
    """Return the words whose rows of W have the largest cosine with a word's."""
    words = model.vocabulary.topic_words
    if word not in words:
        raise InputError(f"{word!r} is not a topic word of this model")
    rows = model.word_vectors()
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    own = words.index(word)
    order = np.argsort(-(rows @ rows[own]), kind="stable")
    return [words[i] for i in order if i != own][:count]


class Units(Metric):
    """The words of largest weight of every unit."""

    key = "units"
    applies = staticmethod(documental)
    entries = ("units",)
    unrecorded = entries
    template = """
<h2>Units</h2>
{{ table(("unit", "words of largest weight"), ("number", ""), rows) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        return {"units": unit_words(subject.model)}

    def section(self, entry: Any) -> Shown:
        return {"rows": [(i, " ".join(words)) for i, words in enumerate(entry)]}
