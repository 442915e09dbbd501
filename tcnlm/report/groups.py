"""Several runs compared: seeds as one group, and each group against the first.

A ratio's interval is a bootstrap of two levels: over documents, the same ones for all
systems (Koehn, EMNLP 2004), and over each group's seeds. It tells how far documents and
seeds decide the outcome; of a single seed it tells of the documents alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tcnlm.metrics.base import Figure
from tcnlm.metrics.scores import DocumentNats
from tcnlm.report.measured import Measured

RESAMPLES = 1_000
CONFIDENCE = 0.95
SEED = 1  # of the resamples


@dataclass(frozen=True)
class Ratio:
    """A perplexity divided by the baseline's, and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def level(self) -> bool:
        """Whether the interval holds 1: these documents tell no difference."""
        return self.low <= 1 <= self.high


@dataclass(frozen=True, eq=False)
class Group:
    """Runs that differ by their seed alone."""

    runs: tuple[Measured, ...]

    @property
    def first(self) -> Measured:
        """The run that stands for what all have in common."""
        return self.runs[0]

    def values(self, measure: Figure) -> list[float]:
        """Return the figure of every run; none unless all have it."""
        values = [measure.value(run.evaluation) for run in self.runs]
        return [] if None in values else values

    def mean(self, measure: Figure) -> float | None:
        """Return the mean over the seeds; None where the measure does not apply."""
        values = self.values(measure)
        return float(np.mean(values)) if values else None

    def deviation(self, measure: Figure) -> float | None:
        """Return the standard deviation over the seeds (n - 1); None of one seed."""
        values = self.values(measure)
        if len(values) < 2 or not np.isfinite(values).all():
            return None
        return float(np.std(values, ddof=1))

    @property
    def data(self) -> str | None:
        """The fingerprint of the DATA."""
        return self.first.config.get("data", {}).get("fingerprint")

    @cached_property
    def nats(self) -> DocumentNats | None:
        """What each document costs, nats [N, S] by seed."""
        found = [run.nats for run in self.runs if run.nats is not None]
        if len(found) < len(self.runs):
            return None
        nats = np.stack([each.nats for each in found], axis=1)
        return DocumentNats(nats, found[0].targets)


def groups_of(runs: Sequence[Measured]) -> list[Group]:
    """Return the runs by model, settings, training and DATA, in the order given.

    A seed that a group has already opens another: a run told twice is no second seed.
    """
    found: dict[Hashable, list[Measured]] = {}
    for run in runs:
        what, seed, number = _all_but_seed(run), run.config.get("seed"), 0
        while any(r.config.get("seed") == seed for r in found.get((what, number), ())):
            number += 1
        found.setdefault((what, number), []).append(run)
    return [Group(tuple(members)) for members in found.values()]


def _all_but_seed(run: Measured) -> str:
    config = run.config
    data = config.get("data", {}).get("fingerprint")
    settings = config.get("settings"), config.get("training")
    return json.dumps([run.evaluation["model"], *settings, data])


def ratios(groups: Sequence[Group]) -> list[Ratio | None]:
    """Return every group's perplexity as a ratio to the first group's.

    None for the first, and where it cannot be compared: another DATA or other targets.
    Nats a target are averaged over seeds, so that the ratio is one of geometric means
    of perplexities.
    """
    baseline, *others = groups
    fit = [group for group in others if _comparable(group, baseline)]
    if not fit:
        return [None] * len(groups)
    systems = [group.nats.nats for group in (baseline, *fit)]
    found = iter(bootstrap(systems, baseline.nats.targets))
    return [None, *(next(found) if group in fit else None for group in others)]


def _comparable(group: Group, baseline: Group) -> bool:
    if group.nats is None or baseline.nats is None or group.data != baseline.data:
        return False
    return np.array_equal(group.nats.targets, baseline.nats.targets)


def bootstrap(
    systems: Sequence[np.ndarray], targets: np.ndarray, seed: int = SEED
) -> list[Ratio]:
    """Return the ratios of all systems but the first to the first.

    systems: nats [N, S] of every document by S seeds; targets [N]. The interval takes
    the quantiles of the ratio over documents and seeds drawn with replacement.
    """
    rng, number = np.random.default_rng(seed), len(targets)
    columns = np.column_stack([*systems, targets])
    draws = (rng.integers(number, size=number) for _ in range(RESAMPLES))
    times = (np.bincount(drawn, minlength=number) for drawn in draws)
    totals = np.stack([columns.sum(axis=0), *(each @ columns for each in times)])
    per_target = totals[:, :-1] / np.maximum(totals[:, -1:], 1)
    ends = np.cumsum([nats.shape[1] for nats in systems[:-1]])
    parts = np.split(per_target, ends, axis=1)
    baseline, *others = (_mean_of_drawn(part, rng) for part in parts)
    found = np.exp(np.stack(others, axis=1) - baseline[:, None])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(found[1:], [tail, 1 - tail], axis=0)
    return [Ratio(*map(float, each)) for each in zip(found[0], low, high)]


def _mean_of_drawn(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return means [R] over seeds of [R, S], drawn with replacement but in row 0."""
    drawn = rng.integers(values.shape[1], size=values.shape)
    drawn[0] = np.arange(values.shape[1])
    return np.take_along_axis(values, drawn, axis=1).mean(axis=1)


def best(groups: Sequence[Group], measure: Figure) -> list[bool]:
    """Return which groups have the best value of those that it compares with."""
    values = [group.mean(measure) for group in groups]
    kinds = [_yardstick(group, measure) for group in groups]

    def is_best(own: float | None, kind: Hashable) -> bool:
        rivals = [v for v, k in zip(values, kinds) if k == kind and v is not None]
        if own is None or len(rivals) < 2 or not math.isfinite(own):
            return False
        return not any(measure.improves(value, own) for value in rivals)

    return [bool(measure.better) and is_best(*each) for each in zip(values, kinds)]


def _yardstick(group: Group, measure: Figure) -> Hashable:
    """Return what must be the same for values to compare: DATA, for some more."""
    return group.data, group.first.evaluation.get(measure.among)
