"""Which topics return when a model is trained again with another seed.

The topics of two runs are matched one to one (Hungarian algorithm) so that the sum of
the Jensen-Shannon divergences of their word distributions is least. A topic returns
where its match is at most `SAME` away.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tcnlm.metrics.base import EvaluationContext, Metric, topical
from tcnlm.metrics.exploration import divergences

SAME = 0.5  # bits: so far are two topics that share half of their probability


@dataclass(frozen=True)
class Matched:
    """How near the topics of R runs, K each, are to their matches in the others."""

    distance: np.ndarray  # [R, K, R] bits, of topic k of run r; 0 to its own run

    @cached_property
    def returns(self) -> np.ndarray:
        """In how many other runs a topic returns, [R, K]."""
        return (self.distance <= SAME).sum(axis=2) - 1

    @property
    def in_every_run(self) -> np.ndarray:
        """The number of topics of each run that return in all others, [R]."""
        return (self.returns == len(self.distance) - 1).sum(axis=1)

    @property
    def in_one_run(self) -> np.ndarray:
        """The number of topics of each run that return in no other, [R]."""
        return (self.returns == 0).sum(axis=1)

    @property
    def mean(self) -> float:
        """The mean distance of matches, over topics and pairs of runs."""
        runs, topics, _ = self.distance.shape
        return float(self.distance.sum() / (runs * (runs - 1) * topics))


def match(runs: Sequence[np.ndarray]) -> Matched:
    """Match the topics of every two of several runs, each [K, D], rows of sum 1."""
    number, topics = len(runs), len(runs[0])
    distance = np.zeros([number, topics, number])
    for a, b in itertools.combinations(range(number), 2):
        rows, columns, bits = matched(runs[a], runs[b])
        distance[a, rows, b] = distance[b, columns, a] = bits
    return Matched(distance)


def matched(
    first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the topics of two runs that are matched, [K] each, and their distances."""
    # Here, since it is of several runs alone.
    from scipy.optimize import linear_sum_assignment

    bits = divergences(first, second) / np.log(2)
    rows, columns = linear_sum_assignment(bits)
    return rows, columns, bits[rows, columns]


class Stability(Metric):
    """What is compared over seeds: the topics themselves."""

    key = "stability"
    applies = staticmethod(topical)

    def unsaved(self, subject: EvaluationContext) -> np.ndarray:
        return subject.beta
