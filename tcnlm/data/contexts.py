"""The context of a row: content words of its document that it may know of."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

NO_WORD = -1  # padding of contexts and preceding sentences

RULES = ("others", "preceding", "read", "leak", "all")

Bounds = tuple[np.ndarray, np.ndarray]


class Contexts:
    """The content words of a split's documents, as topic-word ids; a row has the first
    `size` that the rule leaves it.

    rule: "others" (all sentences of the document but those that the row touches; the
    paper), "preceding" (only those before), "read" (all words before the row's own,
    its sentence's among them), "leak" (all but the row's own words, as the
    predecessor's code does: the rest of a long sentence stays in its own context),
    "all" (nothing is left out: what a model that sees its own answer would gain).
    """

    def __init__(
        self,
        tokens: np.ndarray,
        sentences: np.ndarray,
        documents: np.ndarray,
        topic_ids: np.ndarray,
        rule: str,
        size: int,
    ):
        self.rule, self.size = rule, size
        ids = topic_ids[tokens]
        self.words = ids[ids >= 0]
        self.before = np.zeros(len(ids) + 1, np.int64)  # content words before a token
        np.cumsum(ids >= 0, out=self.before[1:])
        self.first = self.before[sentences[documents]]  # each document's

    def document(self, index: int) -> np.ndarray:
        """Return all content words of a document."""
        return self.words[self.first[index] : self.first[index + 1]]

    def lengths(self) -> np.ndarray:
        """Return the number of content words of every document."""
        return np.diff(self.first)

    def counts(self, num_words: int) -> sparse.csr_matrix:
        """Return how often each content word is in every document, [N, num_words]."""
        parts = np.ones(len(self.words)), self.words, self.first
        bags = sparse.csr_matrix(parts, (len(self.first) - 1, num_words), copy=True)
        bags.sum_duplicates()
        return bags

    def of(self, documents: np.ndarray, touched: Bounds, own: Bounds) -> np.ndarray:
        """Return the contexts [B, size] of rows.

        documents [B]; touched, own: bounds of the tokens of the sentences that a row
        touches, and of its own.
        """
        low, high = self.first[documents], self.first[documents + 1]
        left, right = self._removed(touched, own)
        if self.rule in ("preceding", "read"):
            high = left
        places = low[:, None] + np.arange(self.size)
        places += np.where(places < left[:, None], 0, (right - left)[:, None])
        inside = places < high[:, None]
        words = np.full(places.shape, NO_WORD, np.int32)
        words[inside] = self.words[places[inside]]
        return words

    def _removed(self, touched: Bounds, own: Bounds) -> Any:
        """Return the bounds, in content words, of what the rule takes out."""
        nothing = own[0], own[0]
        removed = {"leak": own, "read": own, "all": nothing}.get(self.rule, touched)
        return [self.before[bound] for bound in removed]
