"""How good the topics of a model are while it is trained, by its training documents."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from tcnlm.coherence import TOPS, WindowCounts, topic_coherence
from tcnlm.coherence.definitions import DIVERSITY_WORDS, diversity
from tcnlm.coherence.reference import Reference
from tcnlm.data.dataset import Dataset
from tcnlm.models.topics import PROBABILITY, RELEVANCE, top_words


def describe_topics(model: Any, dataset: Dataset) -> str:
    """Return the topics' NPMI and diversity in words, as evaluate.py measures them.

    Of their most probable words, and of those that are shown, by relevance.
    """
    count = max(*TOPS, DIVERSITY_WORDS)
    probable, relevant = (
        top_words(model, count, weight=weight) for weight in (PROBABILITY, RELEVANCE)
    )
    scored = (words[: max(TOPS)] for words in (*probable, *relevant))
    counts = Reference().window_counts(chain.from_iterable(scored), dataset=dataset)
    figures = _figures(probable, counts)
    return f"{figures}; by relevance {_figures(relevant, counts)}"


def _figures(topics: list[list[str]], counts: WindowCounts) -> str:
    scores = [topic_coherence(counts, words) for words in topics if len(words) > 1]
    npmi = f"NPMI {np.mean(scores):.3f}, " if scores else ""
    return f"{npmi}diversity {diversity(topics):.2f}"


def list_topics(model: Any, count: int = 10) -> list[str]:
    """Return a line for every topic: its number and most relevant words."""
    lines = enumerate(top_words(model, count))
    return [f"{number:5}  {' '.join(words)}" for number, words in lines]
