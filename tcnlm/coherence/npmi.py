"""Window counts to the coherence of topics."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence

import numpy as np

from tcnlm.coherence.windows import WindowCounts
from tcnlm.common.errors import InputError

TOPS = (5, 10, 15, 20)  # TCNLM, section 5.2
# What a pair scores that never shares a window: 0 in the tool of Lau et al., -1 is the
# limit of NPMI.
NEVER = {"zero": 0.0, "minus-one": -1.0}


def pairwise_npmi(
    counts: WindowCounts, words: Sequence[Hashable], never: float = 0.0
) -> np.ndarray:
    """NPMI of every pair of words, [N, N], in -1 .. 1.

    log(p12 / (p1 p2)) / -log p12 with p = windows / all windows. A pair that shares no
    window scores `never`; one that shares every window scores 0: its NPMI is 0/0, and
    it tells nothing.
    """
    missing = [word for word in words if word not in counts.index]
    if missing:
        raise InputError(f"words that were not counted: {missing[:5]}")
    rows = [counts.index[word] for word in words]
    joint = counts.pairs[rows][:, rows].toarray() / max(counts.windows, 1)
    single = counts.single[rows] / max(counts.windows, 1)
    defined = (joint > 0) & (joint < 1)
    safe = np.where(defined, joint, 0.5)
    expected = np.where(defined, np.outer(single, single), 1.0)
    npmi = np.where(defined, np.log(safe / expected) / -np.log(safe), 0.0)
    return np.where(joint == 0, never, npmi)


def topic_scores(
    counts: WindowCounts,
    topic: Sequence[Hashable],
    tops: Sequence[int] = TOPS,
    never: float = 0.0,
) -> list[float]:
    """NPMI of one topic for each N of `tops`: mean over the pairs of its N best words.

    topic: words, best first; where it has fewer than N, all of them are taken. A word
    listed twice makes no pair with itself.
    """
    best = topic[: min(tops)]
    if len(set(best)) < 2:
        raise InputError(f"a topic needs two different words, got {list(best)}")
    scores = pairwise_npmi(counts, topic[: max(tops)], never)
    return [_mean_over_pairs(scores, topic[:top]) for top in tops]


def topic_coherence(
    counts: WindowCounts,
    topic: Sequence[Hashable],
    tops: Sequence[int] = TOPS,
    never: float = 0.0,
) -> float:
    """NPMI of one topic: mean over N of its `topic_scores`."""
    return float(np.mean(topic_scores(counts, topic, tops, never)))


def _mean_over_pairs(scores: np.ndarray, words: Sequence[Hashable]) -> float:
    pairs = itertools.combinations(range(len(words)), 2)
    return float(np.mean([scores[i, j] for i, j in pairs if words[i] != words[j]]))
