"""Which topics the documents of a split use."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcnlm.common.progress_bar import progress_bar

CONFIDENCE = 0.95


@dataclass(frozen=True)
class DocumentTopics:
    """The topic proportions of all documents of a split."""

    proportions: np.ndarray  # [N, K], rows on the simplex
    has_words: np.ndarray  # [N] bool: with no topic word, the row is the model's prior

    @property
    def any(self) -> bool:
        """Whether a document has a topic word: else nothing can be said of topics."""
        return bool(self.has_words.any())

    @property
    def largest(self) -> np.ndarray:
        """The largest topic of every document that has words, [n]."""
        return self.proportions[self.has_words].argmax(axis=1)

    @property
    def shares(self) -> np.ndarray:
        """The mean proportion of every topic over the documents, [K].

        Where none has a topic word, over all of them: the model's prior.
        """
        counted = self.has_words if self.any else ~self.has_words
        return self.proportions[counted].mean(axis=0)

    @property
    def in_use(self) -> int:
        """The number of topics that are the largest of at least one document."""
        return len(np.unique(self.largest))

    @property
    def effective(self) -> float:
        """The effective number of topics: exp(entropy of the mean shares), 1 .. K."""
        from scipy.special import entr

        return float(np.exp(entr(self.shares).sum()))

    @property
    def largest_proportion(self) -> float:
        """The mean over documents of the largest proportion; 1/K if all are even."""
        real = self.proportions[self.has_words]
        return float(real.max(axis=1).mean()) if len(real) else 0.0


def infer_documents(model: Any, split: Any, batch_size: int = 256) -> DocumentTopics:
    """Return the proportions of every document of a split, from its content words."""
    rows, has_words = [], []
    batches = split.document_contexts(batch_size)
    total = math.ceil(split.num_documents / batch_size)
    for contexts in progress_bar(batches, "inferring topics", total, leave=False):
        rows.append(np.asarray(model.infer(contexts)))
        has_words.append((contexts >= 0).any(axis=1))
    return DocumentTopics(np.concatenate(rows), np.concatenate(has_words))


class Sums:
    """Vectors of documents as sums: their mean, and how sure it is.

    Documents without a topic word have no vector: they count in `documents` alone, not
    in `counted`.
    """

    def __init__(self):
        self.documents = self.counted = 0
        self.total: Any = 0.0  # [K]
        self.squares: Any = 0.0

    def add(self, vectors: np.ndarray, known: np.ndarray) -> None:
        """Add documents [n, K]; known [n]: whether one has a topic word."""
        rows = vectors[known].astype(float)
        more = len(known), len(rows), rows.sum(axis=0), (rows**2).sum(axis=0)
        self._add(*more)

    def join(self, other: Sums) -> None:
        """Add what another has added up."""
        self._add(other.documents, other.counted, other.total, other.squares)

    def _add(self, documents: int, counted: int, total: Any, squares: Any) -> None:
        self.documents += documents
        self.counted += counted
        self.total, self.squares = self.total + total, self.squares + squares

    @property
    def mean(self) -> Any:
        """The mean vector, [K]; NaN where no document has one."""
        return self.total / (self.counted or math.nan)

    @property
    def scatter(self) -> Any:
        """The sum of the squared distances from the mean, [K]."""
        squares = self.squares - self.total**2 / (self.counted or math.nan)
        return np.maximum(squares, 0)

    @property
    def interval(self) -> tuple[Any, Any]:
        """The mean proportions' 95 % interval by Student's t, two [K], within 0 .. 1.

        It tells how far other documents of the same kind would move the mean, given
        the model. NaN of fewer than two documents.
        """
        from scipy.special import stdtrit

        degrees = self.counted - 1
        if degrees < 1:
            return self.mean * math.nan, self.mean * math.nan
        error = np.sqrt(self.scatter / degrees / self.counted)
        half = stdtrit(degrees, (1 + CONFIDENCE) / 2) * error
        return np.clip(self.mean - half, 0, 1), np.clip(self.mean + half, 0, 1)


def summed(
    keys: Sequence[Hashable], vectors: np.ndarray, known: np.ndarray
) -> dict[Any, Sums]:
    """Return the sums of the documents [N, K] of every key, one a document.

    known [N]: whether a document has a topic word.
    """
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([numbers[key] for key in keys], int)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], range(1, len(numbers)))
    found = {key: Sums() for key in numbers}
    for sums, rows in zip(found.values(), np.split(order, bounds)):
        sums.add(vectors[rows], known[rows])
    return found


def movement(sums: Mapping[Any, Sums]) -> np.ndarray:
    """Return how much each topic's mean share differs between groups, [K].

    The standard deviation over documents of their group's mean; what chance alone would
    make of it is taken off: sqrt((SSB - (G - 1) MSW) / N), omega squared's numerator.
    """
    groups = [each for each in sums.values() if each.counted]
    number = sum(each.counted for each in groups) or math.nan
    overall = sum(each.total for each in sums.values()) / number
    between = sum(each.counted * (each.mean - overall) ** 2 for each in groups)
    within = sum(each.scatter for each in groups) / max(number - len(groups), 1)
    excess = 0 * overall + between - (len(groups) - 1) * within
    return np.sqrt(np.maximum(excess, 0) / number)
