"""The words of a model's topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tcnlm.preprocessing.vocabulary import Vocabulary

RELEVANCE = 0.5  # weight of p(w|t) in what is shown: docs/report.md has what was tried
PROBABILITY = 1.0  # the weight of published coherences: by p(w|t) alone


def top_words(
    model: Any, count: int = 20, layer: int = 0, weight: float = RELEVANCE
) -> list[list[str]]:
    """Return the most relevant words of every topic, best first, K x count.

    Ties go by frequency in the corpus. layer: of a hierarchy; without one, its lowest;
    weight: see `relevance`.
    """
    topics = np.asarray(model.topics(layer) if layer else model.topics(), float)
    return best_words(topics, model.vocabulary, count, weight)


def best_words(
    topics: np.ndarray, vocabulary: Vocabulary, count: int, weight: float = RELEVANCE
) -> list[list[str]]:
    """Return the most relevant words of distributions [K, D], best first, K x count."""
    found = relevance(topics, word_shares(vocabulary), weight)
    order = np.argsort(-found, axis=1, kind="stable")[:, :count]
    return [[vocabulary.topic_words[i] for i in row] for row in order]


def relevance(topics: Any, shares: Any, weight: float = RELEVANCE) -> Any:
    """Return p(w|t) / p(w)^(1 - weight) [K, D]: words by relevance, largest first.

    Sievert and Shirley 2014, eq. 1: its logarithm is weight log p(w|t) + (1 - weight)
    log (p(w|t) / p(w)). shares: p(w) [D].
    """
    return topics / shares ** (1 - weight)


def word_shares(vocabulary: Vocabulary) -> np.ndarray:
    """Return p(w) of the topic words in the training text, [D]."""
    counts = np.maximum(vocabulary.topic_counts, 1)
    return counts / counts.sum()
