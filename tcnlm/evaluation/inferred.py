"""Tables of what a model made of documents: a row each, and a row for each label."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from preprocessing.sources import Document
from tcnlm.evaluation.reading import Reading
from tcnlm.rows import Row

SHOWN_TOPICS = 3  # of a label, the largest


class Group:
    """Documents, those of a label or all of them, as sums."""

    def __init__(self):
        self.documents = self.words = self.unknown = self.predicted = 0
        self.with_vector, self.nats, self.vector = 0, 0.0, 0.0

    def add(self, reading: Reading, chosen: np.ndarray) -> None:
        """Add the documents of a reading that a mask [N] chooses."""
        self.documents += int(chosen.sum())
        self.words += int(reading.words[chosen].sum())
        self.unknown += int(reading.unknown[chosen].sum())
        known = chosen & (reading.topic_words > 0)
        self.with_vector += int(known.sum())
        if reading.nats is not None:
            self.nats += float(reading.nats[chosen].sum())
            self.predicted += int(reading.predicted[chosen].sum())
        if reading.vectors is not None:
            self.vector = self.vector + reading.vectors[known].sum(axis=0, dtype=float)

    @property
    def perplexity(self) -> float:
        """That of all predicted words together, as evaluate.py has it."""
        return math.exp(self.nats / self.predicted) if self.predicted else math.nan

    @property
    def mean(self) -> Any:
        """The mean vector of the documents that have one, [K]."""
        return self.vector / (self.with_vector or math.nan)


class Table:
    """Readings as rows; adds up what it has seen.

    vectors_of: "topic", "unit" or None, what the columns of vectors are called.
    """

    def __init__(self, vectors_of: str | None, with_id: bool, with_label: bool):
        self.vectors_of = vectors_of
        self.with_id, self.with_label = with_id, with_label
        self.every, self.labels = Group(), defaultdict(Group)

    def rows(self, documents: Sequence[Document], reading: Reading) -> Iterator[Row]:
        """Yield a row for every document of the next reading."""
        first = self.every.documents
        self._count(documents, reading)
        for i, document in enumerate(documents):
            row = {"document": first + i}
            if self.with_id:
                row["id"] = document.id
            if self.with_label:
                row["label"] = document.label
            row["words"] = int(reading.words[i])
            row["unknown_words"] = int(reading.unknown[i])
            row["topic_words"] = int(reading.topic_words[i])
            if reading.nats is not None:
                row["perplexity"] = _number(reading.perplexity[i])
            yield {**row, **self._vector(reading, i)}

    def _vector(self, reading: Reading, i: int) -> Row:
        if reading.vectors is None:
            return {}
        vector, row = reading.vectors[i], {}
        if self.vectors_of == "topic":
            row["topic"] = int(vector.argmax()) if reading.topic_words[i] else None
        return {**row, **_named(self.vectors_of, vector)}

    def _count(self, documents: Sequence[Document], reading: Reading) -> None:
        self.every.add(reading, np.ones(len(documents), bool))
        labels = np.array([document.label for document in documents], object)
        for label in dict.fromkeys(labels) if self.with_label else ():
            self.labels[label].add(reading, labels == label)

    def label_rows(self) -> Iterator[Row]:
        """Yield a row for every label, by name; the documents without one come last."""
        for label, group in self._by_name():
            row = {"label": label, "documents": group.documents, "words": group.words}
            row["unknown_words"] = group.unknown
            row["without_topic_words"] = group.documents - group.with_vector
            if self.every.predicted:
                found = _number(group.perplexity) if group.predicted else None
                row["perplexity"] = found
            if self.vectors_of:
                row.update(_named(self.vectors_of, group.mean))
            yield row

    def _by_name(self) -> list[tuple[str | None, Group]]:
        return sorted(self.labels.items(), key=lambda pair: (pair[0] is None, pair[0]))

    def __str__(self) -> str:
        every = self.every
        unknown = every.unknown / max(every.words, 1)
        lines = [f"{_counted(every)}; {unknown:.1%} of the words are unknown"]
        missing = every.documents - every.with_vector
        if self.vectors_of and missing:
            lines.append(f"{missing:,} without a topic word: no {self.vectors_of}s")
        lines += [
            f"  {label or 'no label'}: {_counted(group)}{self._largest(group)}"
            for label, group in self._by_name()
        ]
        return "\n".join(lines)

    def _largest(self, group: Group) -> str:
        """Return the largest topics of a group with their mean shares, as text."""
        if self.vectors_of != "topic" or not group.with_vector:
            return ""
        best = np.argsort(-group.mean)[:SHOWN_TOPICS]
        return f"; topics {', '.join(f'{k} ({group.mean[k]:.2f})' for k in best)}"


def _counted(group: Group) -> str:
    documents = f"{group.documents:,} document{'s' * (group.documents != 1)}"
    text = f"{documents}, {group.words:,} words"
    return text + (f", perplexity {group.perplexity:.2f}" if group.predicted else "")


def _named(kind: str, vector: np.ndarray) -> Row:
    return {f"{kind}_{k}": _number(value) for k, value in enumerate(vector)}


def _number(value: float) -> float | None:
    """Return a number of six digits; None for what is none."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
