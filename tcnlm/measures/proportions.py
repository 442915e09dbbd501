"""Which topics the documents of a split use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from tcnlm.common.progress_bar import progress_bar


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
        rows.append(np.asarray(model.infer_context(contexts)))
        has_words.append((contexts >= 0).any(axis=1))
    return DocumentTopics(np.concatenate(rows), np.concatenate(has_words))
