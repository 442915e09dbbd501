"""Topics in groups of documents: over time by their dates, and by their labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from tcnlm.common.errors import InputError
from tcnlm.common.outputs import Row
from tcnlm.metrics.base import Drawing, EvaluationContext, Metric, titles_of, topical
from tcnlm.preprocessing.data_folder import NO_LABEL

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from tcnlm.models.names import Names

CONFIDENCE = 0.95
PERIODS = {"day": 10, "month": 7, "year": 4, "decade": 3}  # letters that tell it
EXACT = max(PERIODS.values())
FEW, MOST = 60, 10_000  # periods: where they are chosen by the span; where they aren't
ENDS = ("share", "low", "high")  # the mean, and its interval's
WORDS = 10  # of a topic, in a table
SHOWN = 6  # topics, those that move most
LABELS, LETTERS = 24, 24  # labels, the largest; of each
READING = (
    "A mean share has its 95 % interval by Student's t: where other documents of the "
    "same kind would put it, given this model. First come the topics whose mean share "
    "varies most: by its standard deviation, less what chance makes of few documents."
)

Topic = Mapping[str, Any]  # of `compared`


def intervals(groups: Any) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return mean proportions of a GroupBy of documents [N, K], and their interval.

    By Student's t, within 0 .. 1, see `READING`; NaN of fewer than two documents.
    """
    mean, degrees = groups.mean(), groups.count() - 1
    half = stdtrit(degrees.where(degrees > 0), (1 + CONFIDENCE) / 2) * groups.sem()
    return mean, (mean - half).clip(0, 1), (mean + half).clip(0, 1)


def movement(groups: Any) -> Series:
    """Return how much each topic's mean share differs between groups, [K].

    sqrt((SSB - (G - 1) MSW) / N), of omega squared's numerator.
    """
    counts, means = groups.count(), groups.mean()
    numbers, kinds = counts.sum(), (counts > 0).sum()
    overall = (counts * means).sum() / numbers
    between = (counts * (means - overall) ** 2).sum(min_count=1)
    within = ((counts - 1) * groups.var()).sum() / (numbers - kinds).clip(1)
    return (((between - (kinds - 1) * within).clip(0)) / numbers) ** 0.5


def compared(
    keys: Sequence[str], proportions: np.ndarray, names: Sequence[str]
) -> dict[str, Any]:
    """Return the topics' mean shares in groups of documents, ready for JSON.

    keys [N]: groups of documents; proportions [N, K]: NaN without a topic word; names:
    of the groups. None where there is no mean or interval.
    """
    import pandas as pd

    groups = pd.DataFrame(np.asarray(proportions, float)).groupby(np.array(keys))
    without = pd.Series(np.isnan(proportions).any(axis=1)).groupby(np.array(keys))
    counts = (x.reindex(names, fill_value=0) for x in (groups.size(), without.sum()))
    ends = [x.reindex(names) for x in intervals(groups)]
    topics = [
        {"topic": k, "movement": number(moved)}
        | {name: list(map(number, x[k])) for name, x in zip(ENDS, ends)}
        for k, moved in enumerate(movement(groups))
    ]
    sizes = zip(("documents", "without_topic_words"), counts)
    found = {name: count.tolist() for name, count in sizes}
    return {"names": list(names), **found, "topics": topics}


def by_period(
    dates: Sequence[str | None], proportions: np.ndarray, every: str | None = None
) -> dict[str, Any]:
    """Return `compared` of all periods from the first date to the last.

    dates: of ISO 8601 or None; every: of `PERIODS`, by default the shortest that every
    date tells and of which they span at most `FEW`. Other documents are counted and
    left out. InputError where all are.
    """
    days = np.array([(date or "")[:EXACT] for date in dates], str)
    letters = np.char.str_len(days)
    if not letters.any():
        raise InputError("no document has a date")
    dated, exact = days[letters > 0], letters[letters > 0].min()
    short = (p for p in PERIODS if PERIODS[p] <= exact and len(_span(dated, p)) <= FEW)
    every = every or next(short, "decade")
    told = letters >= PERIODS[every]
    if not told.any():
        raise InputError(f"no date is exact enough for a {every}; take a longer period")
    periods = _span(days[told], every)
    if len(periods) > MOST:
        raise InputError(
            f"{len(periods):,} {every}s from {periods[0]} to {max(days[told])}: more "
            f"than {MOST:,}; take a longer period, or mend the dates"
        )
    keys, names = ([_period(each, every) for each in x] for x in (days[told], periods))
    undated, inexact = int((letters == 0).sum()), int((~told & (letters > 0)).sum())
    found = compared(keys, proportions[told], names)
    return {"every": every, "undated": undated, "inexact": inexact, **found}


def left_out(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each kind of documents that `by_period` leaves out."""
    every = found["every"]
    for number, why in ("undated", "no date"), ("inexact", f"no {every} in their date"):
        if found[number]:
            yield f"left out, with {why}: {found[number]:,} documents"


def _span(dates: Sequence[str], every: str) -> np.ndarray:
    size, kind = PERIODS[every], int if every == "decade" else np.datetime64
    first, last = kind(min(dates)[:size]), kind(max(dates)[:size])
    return first + np.arange(int(np.int64(last - first)) + 1)


def _period(date: Any, every: str) -> str:
    start = str(date)[: PERIODS[every]]
    return f"{int(start)}0s" if every == "decade" else start


def number(value: float) -> float | None:
    """Return a number of six digits; None for what is none."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def group_rows(
    title: str, found: Mapping[str, Any], words: Mapping[str | int, Sequence[str]]
) -> Iterator[Row]:
    """Yield a row for every group and topic of `compared`, for a table.

    title: of the column of names; words: of topics, best first, by what they are called
    """
    groups = zip(found["names"], found["documents"], found["without_topic_words"])
    for i, (name, documents, without) in enumerate(groups):
        for (topic, best), shares in zip(words.items(), found["topics"]):
            yield {
                title: name,
                "documents": documents,
                "without_topic_words": without,
                "topic": topic,
                "words": " ".join(best[:WORDS]),
                **{end: shares[end][i] for end in ENDS},
            }


def by_movement(found: Mapping[str, Any]) -> list[Topic]:
    """Return the topics of `compared`, those first that differ most between groups."""
    return sorted(found["topics"], key=lambda topic: -(topic["movement"] or 0))


def curve(names: Sequence[str], topic: Topic, title: str) -> Drawing:
    """Draw a topic over periods: a curve in its interval's band."""
    from tcnlm.drawing.figures import BLUE

    axes, places = _axes(title, 1.9), np.arange(len(names))
    share, low, high, top = _ends(topic)
    axes.fill_between(places, low, high, color=BLUE, alpha=0.2, lw=0)
    axes.plot(places, share, color=BLUE, lw=1.5)
    # Of one between gaps neither line nor band shows anything.
    known = np.isfinite([math.nan, *share, math.nan])
    alone = known[1:-1] & ~known[:-2] & ~known[2:]
    axes.vlines(places[alone], low[alone], high[alone], color=BLUE, alpha=0.2)
    axes.plot(places[alone], share[alone], "o", color=BLUE, ms=2.5)
    axes.set_ylim(0, top)
    ticks = np.unique(np.linspace(0, len(names) - 1, 4).round().astype(int))
    axes.set_xticks(ticks, [names[i] for i in ticks])
    return axes.figure


def points(names: Sequence[str], topic: Topic, title: str) -> Drawing:
    """Draw a topic in groups: points on their intervals."""
    from tcnlm.drawing.figures import BLUE

    axes, places = _axes(title, 0.6 + 0.17 * len(names)), -np.arange(len(names))
    share, low, high, top = _ends(topic)
    axes.hlines(places, low, high, color=BLUE, alpha=0.4, lw=3)
    axes.plot(share, places, "o", color=BLUE, ms=4)
    axes.set_xlim(0, top)
    axes.tick_params(left=False)
    axes.set_yticks(places, [_plain(name, LETTERS) for name in names])
    return axes.figure


def _axes(title: str, height: float) -> Any:
    from tcnlm.drawing.figures import PANEL, axes_of, blank

    return axes_of(blank(PANEL[0], height).subplots(), _plain(title, 44))


def _ends(topic: Topic) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    share, low, high = (np.array(topic[end], float) for end in ENDS)
    return share, low, high, 1.08 * float(np.nanmax([1e-9, *share, *high]))


def _plain(text: str, letters: int) -> str:
    from tcnlm.drawing.figures import verbatim

    return verbatim(text if len(text) <= letters else f"{text[: letters - 1]}…")


class Compared(Metric):
    """The topics' mean shares in groups of all documents of DATA."""

    applies = staticmethod(topical)
    title: str  # of its section
    column: str  # of the groups' names in a table
    chart: Callable[..., Drawing]  # of a topic in all groups
    groups: Callable[..., dict[str, Any] | None]  # `compared` and more, of a subject
    said: Callable[..., str]  # of what was found
    template = """
<h2>{{ title }}</h2>
{{ note(said) }}
{{ plots(panels) }}"""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        found = self.groups(subject)
        shares = found["topics"][0]["share"] if found else []
        several = len(shares) - shares.count(None) > 1
        return {self.key: found if several else None}

    def unsaved(self, subject: EvaluationContext) -> Names:
        return subject.names

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        entry = evaluation.get(self.key)
        if not entry:
            return None
        topics = self._shown(entry, titles_of(evaluation, unsaved))
        panels = [(name, f"mean share of topic {t['topic']}") for name, t in topics]
        said = f"{self.said(entry)} {READING}"
        return {"title": self.title, "said": said, "panels": panels}

    def draw(self, evaluation: Mapping[str, Any], unsaved: Any) -> Iterator[tuple]:
        entry, titles = evaluation.get(self.key), titles_of(evaluation, unsaved)
        for name, topic in self._shown(entry, titles) if entry else ():
            yield name, self.chart(entry["names"], topic, titles[topic["topic"]])

    def tables(self, evaluation: Mapping[str, Any]) -> dict[str, list]:
        entry = evaluation.get(self.key)
        if not entry:
            return {}
        words = enumerate(topic["words"] for topic in evaluation["topics"])
        rows = [
            {k: (v, "" if v is None else str(v)) for k, v in row.items()}
            for row in group_rows(self.column, entry, dict(words))
        ]
        return {self.key: rows}

    def _shown(self, found: Any, titles: Sequence[str]) -> list[tuple[str, Topic]]:
        topics = [t for t in by_movement(found) if titles[t["topic"]]][:SHOWN]
        return [(f"{self.key}_{t['topic']}", t) for t in topics]


class OverTime(Compared):
    """The topics by day, month or year, where documents have dates."""

    key, title, column = "over_time", "Topics over time", "period"
    chart = staticmethod(curve)
    entries = unrecorded = ("over_time",)

    def groups(self, subject: EvaluationContext) -> dict[str, Any] | None:
        dates = [date for split in subject.splits for date in split.dates or ()]
        if not any(dates):
            return None
        return by_period(dates, subject.all_documents.known)

    def said(self, found: Mapping[str, Any]) -> str:
        every, names = found["every"], found["names"]
        text = f"By {every} from {names[0]} to {names[-1]}, {_documents(found)}."
        text += f" A {every} without documents is a gap."
        return text + f" Without a date: {found['undated']:,}." * bool(found["undated"])


class ByGroup(Compared):
    """The topics by label, where documents have labels."""

    key, title, column = "by_group", "Topics by group", "group"
    chart = staticmethod(points)
    entries = unrecorded = ("by_group",)

    def groups(self, subject: EvaluationContext) -> dict[str, Any] | None:
        names = subject.dataset.meta.get("labels")
        if not names:
            return None
        labels = np.concatenate([split.labels for split in subject.splits])
        counts = np.bincount(labels[labels != NO_LABEL], minlength=len(names))
        largest = np.argsort(-counts, kind="stable")[: min(LABELS, (counts > 0).sum())]
        kept, known = np.isin(labels, largest), subject.all_documents.known
        keys = [names[k] for k in labels[kept]]
        found = compared(keys, known[kept], [names[k] for k in sorted(largest)])
        return {"labels": int((counts > 0).sum()), **found}

    def said(self, found: Mapping[str, Any]) -> str:
        shown, every = len(found["names"]), found["labels"]
        which = "" if shown == every else f"The {shown} largest of "
        return f"{which}{every} labels, {_documents(found)}."


def _documents(found: Mapping[str, Any]) -> str:
    numbers = found["documents"]
    each = f"{min(filter(None, numbers)):,} to {max(numbers):,} each"
    return f"{sum(numbers):,} documents of training, validation and test, {each}"
