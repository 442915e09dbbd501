"""The words of a model's topics, and how good these are while it is trained."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from tcnlm.coherence import TOPS, topic_coherence
from tcnlm.coherence.definitions import DIVERSITY_WORDS, diversity
from tcnlm.coherence.reference import Reference
from tcnlm.data.dataset import Dataset
from tcnlm.preprocessing.vocabulary import Vocabulary

RELEVANCE = 0.5  # weight of p(w|t) in what is shown: docs/report.md has what was tried
PROBABILITY = 1.0  # the weight of published coherences: by p(w|t) alone


def top_words(
    model: Any, count: int = 20, layer: int = 0, weight: float = RELEVANCE
) -> list[list[str]]:
    """Return the most relevant words of every topic, best first, K x count.

    Ties go by frequency in the corpus. layer: of a hierarchy, 0 for the lowest.
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
    """Return the exponential of relevance, p(w|t) / p(w)^(1 - weight), [K, D].

    Sievert and Shirley 2014, eq. 1; shares: p(w) [D].
    """
    return topics / shares ** (1 - weight)


def word_shares(vocabulary: Vocabulary) -> np.ndarray:
    """Return p(w) of the topic words in the training text, [D]."""
    counts = np.maximum(vocabulary.topic_counts, 1)
    return counts / counts.sum()


def describe_topics(model: Any, dataset: Dataset) -> str:
    """Return NPMI and diversity of the most probable and the most relevant words."""
    count = max(*TOPS, DIVERSITY_WORDS)
    lists = [top_words(model, count, weight=w) for w in (PROBABILITY, RELEVANCE)]
    scored = (words[: max(TOPS)] for topics in lists for words in topics)
    counts = Reference().window_counts(chain.from_iterable(scored), dataset=dataset)

    def figures(topics: list[list[str]]) -> str:
        scores = [topic_coherence(counts, words) for words in topics if len(words) > 1]
        npmi = f"NPMI {np.mean(scores):.3f}, " if scores else ""
        return f"{npmi}diversity {diversity(topics):.2f}"

    return "; by relevance ".join(map(figures, lists))
