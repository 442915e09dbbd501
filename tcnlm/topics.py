"""What the topics of a model are, how far apart, and which of them documents use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from tcnlm.layers import bag_of_words
from tcnlm.losses import topic_angles


def top_words(model: Any, count: int = 20) -> list[list[str]]:
    """Return the most probable words of every topic, best first, K x count.

    The rows of beta are ranked as they are; ties go by frequency in the corpus.
    """
    order = np.argsort(-np.asarray(model.topics()), axis=1, kind="stable")
    words = model.vocabulary.topic_words
    return [[words[i] for i in row[:count]] for row in order]


def diversity(topics: Sequence[Sequence[str]], count: int = 25) -> float:
    """Return the share of different words among the first `count` of all topics, 0..1.

    1: no word is shared. Dieng, Ruiz and Blei, "Topic Modeling in Embedding Spaces"
    (TACL 2020); the paper's R (eq. 18) is another measure, on angles.
    """
    words = [word for topic in topics for word in topic[:count]]
    return len(set(words)) / len(words)


def angles(model: Any) -> np.ndarray:
    """Return the angles between topics, degrees, [K, K]; R is made of them."""
    return np.degrees(topic_angles(model.topics()))


@dataclass(frozen=True)
class DocumentTopics:
    """The topic proportions of all documents of a split."""

    proportions: np.ndarray  # [N, K], rows on the simplex
    has_words: np.ndarray  # [N] bool: with no topic word, the row is the model's prior

    @property
    def largest(self) -> np.ndarray:
        """The largest topic of every document that has words, [n]."""
        return self.proportions[self.has_words].argmax(axis=1)

    @property
    def in_use(self) -> int:
        """The number of topics that are the largest of at least one document."""
        return len(np.unique(self.largest))

    @property
    def largest_proportion(self) -> float:
        """The mean over documents of the largest proportion; 1/K if all are even."""
        real = self.proportions[self.has_words]
        return float(real.max(axis=1).mean()) if len(real) else 0.0


def infer_documents(model: Any, split: Any, batch_size: int = 256) -> DocumentTopics:
    """Return t = g(mu) of every document of a split, from all its content words."""
    size, rows, has_words = len(model.vocabulary.topic_words), [], []
    batches = split.document_contexts(batch_size)
    total = math.ceil(split.num_documents / batch_size)
    for contexts in tqdm(batches, "inferring topics", total, disable=None, leave=False):
        rows.append(np.asarray(model.infer(bag_of_words(contexts, size))))
        has_words.append((contexts >= 0).any(axis=1))
    return DocumentTopics(np.concatenate(rows), np.concatenate(has_words))
