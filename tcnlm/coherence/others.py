"""Coherences other than that of Lau et al.: c_v, c_npmi, c_uci and u_mass.

Röder, Both and Hinneburg, "Exploring the Space of Topic Coherence Measures" (WSDM 2015)
and, of u_mass, Mimno et al. (EMNLP 2011), with windows and smoothing as in gensim's
CoherenceModel. Two things differ: a word that leaves a window in which it stands twice
is still in it, which gensim forgets; and words that the reference lacks are left out of
their topics, where gensim gives NaN or infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tcnlm.coherence.windows import WindowCounts, Windows

EPSILON = 1e-12  # gensim's, added to the probability of a pair


def _log_ratios(p: np.ndarray) -> np.ndarray:
    single = p.diagonal()
    return np.log((p + EPSILON) / np.outer(single, single))


def _npmi(p: np.ndarray) -> np.ndarray:
    return _log_ratios(p) / -np.log(p + EPSILON)


def _over_pairs(scores: np.ndarray) -> float:
    """Return the mean of a symmetric matrix beside its diagonal."""
    return float(scores[np.triu_indices(len(scores), k=1)].mean())


def _c_uci(p: np.ndarray) -> float:
    return _over_pairs(_log_ratios(p))


def _c_npmi(p: np.ndarray) -> float:
    return _over_pairs(_npmi(p))


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
    "c_npmi": Coherence(Windows(10, complete=True), _c_npmi),
    "c_uci": Coherence(Windows(10, complete=True), _c_uci),
    "u_mass": Coherence(Windows(0), _u_mass),
}


def windows_of(names: Iterable[str]) -> list[Windows]:
    """Return the kinds of windows that coherences are counted in, by their names."""
    return [COHERENCES[name].windows for name in names]


def coherence(
    name: str, counts: WindowCounts, topics: Iterable[Sequence[str]], top: int
) -> list[float | None]:
    """Return one coherence of every topic, of its first `top` words, best first.

    Words that the reference lacks are left out, and a word listed twice counts once;
    None where fewer than two are left.
    """
    return [_scored(name, counts, topic[:top]) for topic in topics]


def _scored(name: str, counts: WindowCounts, topic: Sequence[str]) -> float | None:
    rows = list(dict.fromkeys(counts.index[word] for word in topic))
    rows = [row for row in rows if counts.single[row]]
    if len(rows) < 2:
        return None
    together = counts.pairs[rows][:, rows].toarray()
    return COHERENCES[name].score(together / counts.windows)


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
