"""Window counts to the coherence of topics, and how much topics' words differ.

NPMI: Lau et al. (EACL 2014). c_v, c_npmi, c_uci: Röder et al. (WSDM 2015); u_mass:
Mimno et al. (EMNLP 2011); with windows and smoothing as in gensim's CoherenceModel.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tcnlm.coherence.windows import WindowCounts, Windows
from tcnlm.common.errors import InputError

TOPS = (5, 10, 15, 20)  # TCNLM, section 5.2
# What a pair scores that never shares a window: 0 in the tool of Lau et al., -1 is the
# limit of NPMI.
NEVER = {"zero": 0.0, "minus-one": -1.0}
EPSILON = 1e-12  # gensim's, added to the probability of a pair
DIVERSITY_WORDS = 25  # Dieng, Ruiz and Blei 2020
OVERLAP_WORDS, PERSISTENCE = 10, 0.9  # of rank-biased overlap, as in IRBO's paper


def pairwise_npmi(
    counts: WindowCounts, words: Sequence[Hashable], never: float = 0.0
) -> np.ndarray:
    """NPMI of all pairs of words, [N, N]: log(p12 / (p1 p2)) / -log p12, p by windows.

    A pair that shares no window scores `never`; one that shares all, whose NPMI is 0/0
    and tells nothing, 0.
    """
    missing = [word for word in words if word not in counts.index]
    if missing:
        raise InputError(f"words without counts: {missing[:5]}")
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

    Of fewer words all are taken; a word listed twice makes no pair with itself.
    """
    best = topic[: min(tops)]
    if len(set(best)) < 2:
        raise InputError(f"a topic needs two different words, got {list(best)}")
    npmi, scores = pairwise_npmi(counts, topic[: max(tops)], never), []
    for top in tops:
        pairs = itertools.combinations(range(len(topic[:top])), 2)
        different = [npmi[i, j] for i, j in pairs if topic[i] != topic[j]]
        scores.append(float(np.mean(different)))
    return scores


def topic_coherence(
    counts: WindowCounts,
    topic: Sequence[Hashable],
    tops: Sequence[int] = TOPS,
    never: float = 0.0,
) -> float:
    """NPMI of one topic: mean over N of its `topic_scores`."""
    return float(np.mean(topic_scores(counts, topic, tops, never)))


def _log_ratios(p: np.ndarray) -> np.ndarray:
    single = p.diagonal()
    return np.log((p + EPSILON) / np.outer(single, single))


def _npmi(p: np.ndarray) -> np.ndarray:
    return _log_ratios(p) / -np.log(p + EPSILON)


def _over_pairs(scores: np.ndarray) -> float:
    return float(scores[np.triu_indices(len(scores), k=1)].mean())


def _u_mass(p: np.ndarray) -> float:
    """Return the mean of ln(p(later, earlier) / p(earlier)): words go by rank."""
    conditional = np.log((p + EPSILON) / p.diagonal())  # column: the condition
    return float(conditional[np.tril_indices(len(p), k=-1)].mean())


def _c_v(p: np.ndarray) -> float:
    """Return the mean cosine of each word's NPMI with all, and the sum of these."""
    vectors = _npmi(p)
    total = vectors.sum(axis=0)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(total)
    return float(np.mean(vectors @ total / np.maximum(norms, EPSILON)))


class Coherence(NamedTuple):
    """What is counted, and how the probabilities [N, N] of words and pairs score."""

    windows: Windows
    score: Callable[[np.ndarray], float]


COHERENCES = {
    "c_v": Coherence(Windows(110, complete=True), _c_v),
    "c_npmi": Coherence(Windows(10, complete=True), lambda p: _over_pairs(_npmi(p))),
    "c_uci": Coherence(
        Windows(10, complete=True), lambda p: _over_pairs(_log_ratios(p))
    ),
    "u_mass": Coherence(Windows(0), _u_mass),
}


def coherence(
    name: str, counts: WindowCounts, topics: Iterable[Sequence[str]], top: int
) -> list[float | None]:
    """Return one coherence of every topic, of its first `top` words, best first.

    Of different words that the reference has; None of fewer than two.
    """

    def score(topic: Sequence[str]) -> float | None:
        rows = dict.fromkeys(counts.index[word] for word in topic[:top])
        rows = [row for row in rows if counts.single[row]]
        together = counts.pairs[rows][:, rows].toarray() / counts.windows
        return COHERENCES[name].score(together) if len(rows) > 1 else None

    return list(map(score, topics))


def kinds(counts: Mapping[str, WindowCounts]) -> dict[str, str]:
    """Say in which windows each of some coherences was counted."""
    return {
        name: Windows(each.window, each.complete).described
        for name, each in counts.items()
    }


def mean(scores: Iterable[float | None]) -> float | None:
    """Return the mean over the topics that have a score; None where none has."""
    known = [score for score in scores if score is not None]
    return float(np.mean(known)) if known else None


def diversity(topics: Sequence[Sequence[str]], count: int = DIVERSITY_WORDS) -> float:
    """Return the share of different words among the first `count` of all topics, 0..1.

    Dieng, Ruiz and Blei (TACL 2020); the paper's R (eq. 18) is another, on angles.
    """
    words = [word for topic in topics for word in topic[:count]]
    return len(set(words)) / len(words)


def irbo(topics: Sequence[Sequence[str]], count: int = OVERLAP_WORDS) -> float | None:
    """Return 1 - the mean rank-biased overlap of two topics' first words, 0..1.

    None of one topic. Bianchi, Terragni and Hovy (ACL 2021).
    """
    pairs = itertools.combinations([topic[:count] for topic in topics], 2)
    overlaps = [rank_biased_overlap(*pair) for pair in pairs]
    return 1 - float(np.mean(overlaps)) if overlaps else None


def rank_biased_overlap(
    first: Sequence[str], second: Sequence[str], persistence: float = PERSISTENCE
) -> float:
    """Return how far two ranked lists agree, 0..1: what lies deeper as much.

    The extrapolated overlap of Webber, Moffat and Zobel (TOIS 2010).
    """
    depths = np.arange(1, min(len(first), len(second)) + 1)
    shared = [len({*first[:d]} & {*second[:d]}) for d in depths]
    agreement, weights = shared / depths, persistence**depths
    within = (1 - persistence) / persistence * (weights @ agreement)
    return float(agreement[-1] * weights[-1] + within)
