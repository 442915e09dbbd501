"""Runs and what was measured of them: what pages and tables are made of.

A ratio's interval is a bootstrap over documents, the same ones for all systems (Koehn,
EMNLP 2004), and over each group's seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from tcnlm.common.settings import from_json
from tcnlm.drawing.figures import History
from tcnlm.layers.optimization import Training
from tcnlm.metrics.base import Figure
from tcnlm.metrics.registry import judge
from tcnlm.metrics.scores import DocumentNats
from tcnlm.models import model_class
from tcnlm.report.published import COMPARED, beside, other_data

RESAMPLES = 1_000
CONFIDENCE = 0.95
SEED = 1  # of the resamples


@dataclass(frozen=True)
class Measured:
    """A run and what was measured of it."""

    evaluation: Mapping[str, Any]  # the contents of evaluation.json
    config: Mapping[str, Any]  # of config.json
    history: History  # of history.csv
    figures: Mapping[str, bytes]  # SVG files by name
    drawn: Mapping[str, Drawing] = field(default_factory=dict)  # the same, to be saved
    nats: DocumentNats | None = None  # of a model that predicts words
    unsaved: Mapping[str, Any] = field(default_factory=dict)  # by measure

    @property
    def name(self) -> str:
        """What the run is called on the page."""
        data = Path(str(self.config.get("data", {}).get("path", "unknown data")))
        return f"{self.evaluation['model']} on {data.name}"

    def published(self, measure: str) -> Any:
        """Return the published figure for the same corpus, size and topics, or None."""
        model, settings = self.evaluation["model"], self.config.get("settings", {})
        return beside(self.evaluation.get("corpus"), model, settings, measure)

    @property
    def beside(self) -> list[str]:
        """What is published of its figures, and how near they are, in a line each."""
        pairs = ((self.published(name), self.evaluation.get(name)) for name in COMPARED)
        return [found.beside(ours) for found, ours in pairs if found and ours]

    @property
    def epochs(self) -> Sequence[float]:
        """The epochs that were evaluated; none of a fit."""
        return () if is_fit(self.history) else self.history.get("epoch", ())

    @property
    def other_data(self) -> str:
        """How its data differs from that of the published figures; "" if not."""
        return other_data(self.evaluation.get("corpus"), self.config.get("data", {}))


def is_fit(history: Mapping[str, Sequence[float]]) -> bool:
    """Whether all learning came before the first step, as LDA's."""
    return len(history.get("step", ())) > 0 and history["step"][-1] == 0


def progress(
    config: Mapping[str, Any], history: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    """Return {"epoch": that of the weights, "stopped": {"epoch", "of"}}, for JSON.

    "stopped" is None at the end of training; both of a fit, and if nothing is known.
    """
    loop = from_json(Training, config.get("training", {}))
    judged = judge(model_class(config["model"]), loop.judge)
    values = history.get(f"valid_{judged.key}", ())
    if not len(values) or is_fit(history):
        return {"epoch": None, "stopped": None}
    best, epochs = 0, list(map(float, history["epoch"]))
    for i, value in enumerate(values):
        best = i if judged.improves(value, values[best]) else best
    ended = len(values) - 1 - best >= loop.patience or epochs[-1] >= loop.epochs
    # As JSON has them: whole epochs without a point.
    last, best = (int(e) if e.is_integer() else e for e in (epochs[-1], epochs[best]))
    stopped = None if ended else {"epoch": last, "of": loop.epochs}
    return {"epoch": best, "stopped": stopped}


def stated(evaluation: Mapping[str, Any]) -> str:
    """Return an evaluation's progress in words; nothing where none is known."""
    epoch, stopped = evaluation.get("epoch"), evaluation.get("stopped")
    text = "" if epoch is None else f"weights of epoch {epoch:g}"
    if stopped:
        text += f", stopped at epoch {stopped['epoch']:g} of {stopped['of']}"
    return text


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

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


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
        return fingerprint(self.first.config)

    @cached_property
    def nats(self) -> DocumentNats | None:
        """What each document costs, nats [N, S] by seed."""
        found = [run.nats for run in self.runs if run.nats is not None]
        if len(found) < len(self.runs):
            return None
        nats = np.stack([each.nats for each in found], axis=1)
        return DocumentNats(nats, found[0].targets)


def groups_of(runs: Sequence[Measured]) -> list[Group]:
    """Return runs by all but their seed; one that is told twice is no second seed."""
    found: dict[Hashable, list[Measured]] = {}
    for run in runs:
        config, seed, number = run.config, run.config.get("seed"), 0
        how = config.get("settings"), config.get("training"), fingerprint(config)
        what = json.dumps([run.evaluation["model"], *how])
        while any(r.config.get("seed") == seed for r in found.get((what, number), ())):
            number += 1
        found.setdefault((what, number), []).append(run)
    return [Group(tuple(members)) for members in found.values()]


def fingerprint(config: Mapping[str, Any]) -> str | None:
    """Return the fingerprint of the DATA of a config.json."""
    return config.get("data", {}).get("fingerprint")


def ratios(groups: Sequence[Group]) -> list[Ratio | None]:
    """Return every group's perplexity as a ratio to the first group's.

    None for the first, and where it cannot be compared: another DATA or other targets.
    It is one of geometric means of perplexities over seeds.
    """
    baseline, *others = groups

    def fits(group: Group) -> bool:
        if group.nats is None or baseline.nats is None or group.data != baseline.data:
            return False
        return np.array_equal(group.nats.targets, baseline.nats.targets)

    fit = list(filter(fits, others))
    if not fit:
        return [None] * len(groups)
    systems = [group.nats.nats for group in (baseline, *fit)]
    found = iter(bootstrap(systems, baseline.nats.targets))
    return [None, *(next(found) if group in fit else None for group in others)]


def bootstrap(systems: Sequence[np.ndarray], targets: np.ndarray) -> list[Ratio]:
    """Return the ratios of all systems but the first to the first.

    systems: nats [N, S] of every document by S seeds; targets [N].
    """
    rng, number = np.random.default_rng(SEED), len(targets)
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
    # What must be the same for values to compare: DATA, for some more.
    kinds = [(g.data, g.first.evaluation.get(measure.among)) for g in groups]

    def is_best(own: float | None, kind: Hashable) -> bool:
        rivals = [v for v, k in zip(values, kinds) if k == kind and v is not None]
        if own is None or len(rivals) < 2 or not math.isfinite(own):
            return False
        return not any(measure.improves(value, own) for value in rivals)

    return [bool(measure.better) and is_best(*each) for each in zip(values, kinds)]
