"""How much the words of topics differ from one another."""

from __future__ import annotations

from collections.abc import Sequence

DIVERSITY_WORDS = 25  # Dieng, Ruiz and Blei 2020


def diversity(topics: Sequence[Sequence[str]], count: int = DIVERSITY_WORDS) -> float:
    """Return the share of different words among the first `count` of all topics, 0..1.

    1: no word is shared. Dieng, Ruiz and Blei, "Topic Modeling in Embedding Spaces"
    (TACL 2020); the paper's R (eq. 18) is another measure, on angles.
    """
    words = [word for topic in topics for word in topic[:count]]
    return len(set(words)) / len(words)
