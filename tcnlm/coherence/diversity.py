"""How much the words of topics differ from one another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

DIVERSITY_WORDS = 25  # Dieng, Ruiz and Blei 2020
OVERLAP_WORDS, PERSISTENCE = 10, 0.9  # of rank-biased overlap, as in IRBO's paper


def diversity(topics: Sequence[Sequence[str]], count: int = DIVERSITY_WORDS) -> float:
    """Return the share of different words among the first `count` of all topics, 0..1.

    1: no word is shared. Dieng, Ruiz and Blei, "Topic Modeling in Embedding Spaces"
    (TACL 2020); the paper's R (eq. 18) is another measure, on angles.
    """
    words = [word for topic in topics for word in topic[:count]]
    return len(set(words)) / len(words)


def irbo(topics: Sequence[Sequence[str]], count: int = OVERLAP_WORDS) -> float | None:
    """Return 1 - the mean rank-biased overlap of two topics' first words, 0..1.

    1: no word is shared; a word shared high up in both lists counts more. None of one
    topic. Bianchi, Terragni and Hovy, "Pre-training is a Hot Topic" (ACL 2021).
    """
    pairs = itertools.combinations([topic[:count] for topic in topics], 2)
    overlaps = [rank_biased_overlap(*pair) for pair in pairs]
    return 1 - float(np.mean(overlaps)) if overlaps else None


def rank_biased_overlap(
    first: Sequence[str], second: Sequence[str], persistence: float = PERSISTENCE
) -> float:
    """Return how far two ranked lists agree, 0..1, as deep as the shorter goes.

    What lies deeper is taken to agree as much: the extrapolated overlap of Webber,
    Moffat and Zobel, "A Similarity Measure for Indefinite Rankings" (TOIS 2010).
    """
    depths = np.arange(1, min(len(first), len(second)) + 1)
    shared = [len({*first[:d]} & {*second[:d]}) for d in depths]
    agreement, weights = shared / depths, persistence**depths
    within = (1 - persistence) / persistence * (weights @ agreement)
    return float(agreement[-1] * weights[-1] + within)
