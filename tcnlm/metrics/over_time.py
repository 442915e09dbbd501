"""Topics in groups of documents: over time by their dates, and by their labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcnlm.common.errors import InputError
from tcnlm.common.rows import Row
from tcnlm.metrics.base import Evaluation, Metric, Rows, titles_of, topical
from tcnlm.metrics.proportions import Sums, movement, summed
from tcnlm.preprocessing.data_folder import NO_LABEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from tcnlm.metrics.evaluation_context import EvaluationContext
    from tcnlm.models.names import Names

PERIODS = {"day": 10, "month": 7, "year": 4, "decade": 3}  # letters that tell it
EXACT = max(PERIODS.values())
FEW, MOST = 60, 10_000  # periods: where they are chosen by the span; where they aren't
ENDS = ("share", "low", "high")  # the mean, and its interval's
WORDS = 10  # of a topic, in a table
SHOWN, FOLDED, SMALL = 6, 18, 6  # topics: with a panel; below these; of these a figure
LABELS, LETTERS = 24, 24  # labels, the largest; of each
READING = (
    "A mean share has its 95 % interval by Student's t: where other documents of the "
    "same kind would put it, given this model. First come the topics whose mean share "
    "varies most: by its standard deviation, less what chance makes of few documents."
)

Topic = Mapping[str, Any]  # of `compared`


def by_day(
    dates: Sequence[str | None], vectors: np.ndarray, known: np.ndarray
) -> dict[str, Sums]:
    """Return the sums of documents by their dates of ISO 8601, "" for none.

    vectors [N, K]; known [N]: whether a document has a topic word.
    """
    return summed([(date or "")[:EXACT] for date in dates], vectors, known)


def by_period(days: Mapping[str, Sums], every: str | None = None) -> dict[str, Any]:
    """Return `compared` of all periods from the first date to the last.

    days: see `by_day`; every: of `PERIODS`, by default the shortest that every date
    tells and of which they span at most `FEW`. "undated" documents, and the "inexact",
    whose date does not tell the period, are left out. InputError where all are.
    """
    dated = [day for day in days if day]
    every = every or _shortest(dated)
    told = [day for day in dated if len(day) >= PERIODS[every]]
    if not dated:
        raise InputError("no document has a date")
    if not told:
        raise InputError(f"no date tells its {every}; take a longer period")
    sums = {name: Sums() for name in _periods(told, every)}
    for day in told:
        sums[_period(day, every)].join(days[day])
    inexact = sum(days[day].documents for day in {*dated} - {*told})
    undated = days[""].documents if "" in days else 0
    return {"every": every, "undated": undated, "inexact": inexact, **compared(sums)}


def left_out(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each kind of documents that `by_period` leaves out."""
    every = found["every"]
    for number, why in ("undated", "no date"), ("inexact", f"no {every} in their date"):
        if found[number]:
            yield f"left out, with {why}: {found[number]:,} documents"


def _shortest(dates: Sequence[str]) -> str:
    exact = min(map(len, dates), default=0)
    told = [every for every, size in PERIODS.items() if size <= exact]
    return next((every for every in told if _span(dates, every)[1] <= FEW), "decade")


def _span(dates: Sequence[str], every: str) -> tuple[Any, int]:
    """Return the first of the periods that dates span, and how many they are."""
    size, kind = PERIODS[every], int if every == "decade" else np.datetime64
    first, last = kind(min(dates)[:size]), kind(max(dates)[:size])
    return first, int(np.int64(last - first)) + 1


def _period(date: Any, every: str) -> str:
    start = str(date)[: PERIODS[every]]
    return f"{int(start)}0s" if every == "decade" else start


def _periods(dates: Sequence[str], every: str) -> list[str]:
    first, number = _span(dates, every)
    if number > MOST:
        raise InputError(
            f"{number:,} {every}s from {first} to {max(dates)}: more than {MOST:,}; "
            "take a longer period, or mend the dates"
        )
    return [_period(each, every) for each in first + np.arange(number)]


def compared(sums: Mapping[str, Sums]) -> dict[str, Any]:
    """Return the topics' mean shares in groups of documents, ready for JSON.

    "names", "documents" and "without_topic_words" of the groups; "topics" with "share"
    of each group and its interval, "low" and "high", None where there is none, and
    "movement".
    """
    moved = movement(sums)
    groups = [(s.mean, *s.interval, moved) for s in sums.values()]
    means = np.array([np.broadcast_arrays(*each)[:-1] for each in groups])
    topics = [
        {"topic": k, "movement": _number(moved[k])}
        | {name: list(map(_number, row)) for name, row in zip(ENDS, rows)}
        for k, rows in enumerate(means.T)
    ]
    return {
        "names": list(sums),
        "documents": [each.documents for each in sums.values()],
        "without_topic_words": [e.documents - e.counted for e in sums.values()],
        "topics": topics,
    }


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None


def group_rows(
    title: str, found: Mapping[str, Any], words: Mapping[str | int, Sequence[str]]
) -> Iterator[Row]:
    """Yield a row for every group and topic of `compared`, for a table.

    title: of the column of the groups' names; words: of the topics, best first, by what
    they are called.
    """
    groups = zip(found["names"], found["documents"], found["without_topic_words"])
    for i, (name, documents, without) in enumerate(groups):
        for (topic, best), told in zip(words.items(), found["topics"]):
            yield {
                title: name,
                "documents": documents,
                "without_topic_words": without,
                "topic": topic,
                "words": " ".join(best[:WORDS]),
                **{end: told[end][i] for end in ENDS},
            }


class Compared(Metric):
    """The topics' mean shares in groups of all documents of DATA."""

    applies = staticmethod(topical)
    title: str  # of its section
    column: str  # of the groups' names in a table
    template = """
<h2>{{ title }}</h2>
{{ note(said) }}
{{ plots(panels) }}
{% if folded %}<details><summary>{{ summary }}</summary>{{ plots(folded) }}</details>
{% endif %}"""

    def groups(self, subject: EvaluationContext) -> dict[str, Any] | None:
        """Return `compared` and what else is told; None where there are no groups."""
        raise NotImplementedError

    def said(self, found: Mapping[str, Any]) -> str:
        """Say which groups there are."""
        raise NotImplementedError

    def drawn(
        self, names: Sequence[str], topics: Sequence[Topic], titles: Sequence[str]
    ) -> Drawing:
        """Draw topics in all groups, a panel each."""
        raise NotImplementedError

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return the topics in each of the groups, if two of them have topic words."""
        found = self.groups(subject)
        shares = found["topics"][0]["share"] if found else []
        several = len(shares) - shares.count(None) > 1
        return {self.key: found if several else None}

    def unsaved(self, subject: EvaluationContext) -> Names:
        """Return what the topics are called."""
        return subject.names

    def shown(self, evaluation: Evaluation, unsaved: Any) -> Mapping[str, Any] | None:
        """Return the names of the figures and how to read them."""
        found = evaluation.get(self.key)
        if not found:
            return None
        figures = self._figures(found, titles_of(evaluation, unsaved))
        named = [
            (
                name,
                f"mean shares of topics {', '.join(str(t['topic']) for t in topics)}",
            )
            for name, topics in figures.items()
        ]
        more = sum(map(len, list(figures.values())[SHOWN:]))
        return {
            "title": self.title,
            "said": f"{self.said(found)} {READING}",
            "panels": named[:SHOWN],
            "folded": named[SHOWN:],
            "summary": f"The {more} topics that come next",
        }

    def draw(
        self, evaluation: Evaluation, unsaved: Any
    ) -> Iterator[tuple[str, Drawing]]:
        """Yield a figure of each topic that differs most, then of several others."""
        found = evaluation.get(self.key)
        titles = titles_of(evaluation, unsaved)
        for name, topics in (self._figures(found, titles) if found else {}).items():
            yield name, self.drawn(found["names"], topics, titles)

    def tables(self, evaluation: Evaluation) -> dict[str, Rows]:
        """Return a row for every group and topic."""
        found = evaluation.get(self.key)
        if not found:
            return {}
        words = enumerate(topic["words"] for topic in evaluation["topics"])
        rows = group_rows(self.column, found, dict(words))
        return {self.key: [{name: _cell(v) for name, v in row.items()} for row in rows]}

    def _figures(
        self, found: Mapping[str, Any], titles: Sequence[str]
    ) -> dict[str, list[Topic]]:
        """Return the topics of every figure by its name: one each, then several."""
        topics = [t for t in by_movement(found) if titles[t["topic"]]]
        first, rest = topics[:SHOWN], topics[SHOWN : SHOWN + FOLDED]
        return {f"{self.key}_{t['topic']}": [t] for t in first} | {
            f"{self.key}_rest_{i}": rest[i : i + SMALL]
            for i in range(0, len(rest), SMALL)
        }


def _cell(value: Any) -> tuple[Any, str]:
    return value, "" if value is None else str(value)


def by_movement(found: Mapping[str, Any]) -> list[Topic]:
    """Return the topics of `compared`, those first that differ most between groups."""
    return sorted(found["topics"], key=lambda topic: -(topic["movement"] or 0))


class OverTime(Compared):
    """The topics by day, month or year, where documents have dates."""

    key, title, column = "over_time", "Topics over time", "period"
    entries = unrecorded = ("over_time",)

    def groups(self, subject: EvaluationContext) -> dict[str, Any] | None:
        """Return the topics by period."""
        dates = [date for split in subject.splits for date in split.dates or ()]
        if not any(dates):
            return None
        inferred = subject.all_documents
        return by_period(by_day(dates, inferred.proportions, inferred.has_words))

    def said(self, found: Mapping[str, Any]) -> str:
        """Say which periods there are."""
        every, names = found["every"], found["names"]
        text = f"By {every} from {names[0]} to {names[-1]}, {_documents(found)}."
        text += f" A {every} without documents is a gap."
        undated = found["undated"]
        return text + (f" Without a date: {undated:,}." if undated else "")

    def drawn(
        self, names: Sequence[str], topics: Sequence[Topic], titles: Sequence[str]
    ) -> Drawing:
        """Draw a curve of each topic."""
        return curves(names, topics, titles)


class ByGroup(Compared):
    """The topics by label, where documents have labels."""

    key, title, column = "by_group", "Topics by group", "group"
    entries = unrecorded = ("by_group",)

    def groups(self, subject: EvaluationContext) -> dict[str, Any] | None:
        """Return the topics by label, of which the largest are taken."""
        names = subject.dataset.meta.get("labels")
        if not names:
            return None
        labels = np.concatenate([split.labels for split in subject.splits])
        inferred = subject.all_documents
        sums = summed(labels.tolist(), inferred.proportions, inferred.has_words)
        largest = sorted({*sums} - {NO_LABEL}, key=lambda k: -sums[k].documents)
        kept = {names[k]: sums[k] for k in sorted(largest[:LABELS])}
        return {"labels": len(largest), **compared(kept)}

    def said(self, found: Mapping[str, Any]) -> str:
        """Say which labels there are."""
        shown, every = len(found["names"]), found["labels"]
        which = "" if shown == every else f"The {shown} largest of "
        return f"{which}{every} labels, {_documents(found)}."

    def drawn(
        self, names: Sequence[str], topics: Sequence[Topic], titles: Sequence[str]
    ) -> Drawing:
        """Draw a point a group of each topic."""
        return points(names, topics, titles)


def _documents(found: Mapping[str, Any]) -> str:
    numbers = found["documents"]
    each = f"{min(filter(None, numbers)):,} to {max(numbers):,} each"
    return f"{sum(numbers):,} documents of training, validation and test, {each}"


def curves(
    names: Sequence[str], topics: Sequence[Topic], titles: Sequence[str]
) -> Drawing:
    """Draw topics over periods, a panel each: curves in their intervals' bands."""
    from tcnlm.drawing.figures import BLUE

    figure, panels = _panels(topics, titles, 1.9, 1.3)
    places, ticks = np.arange(len(names)), 4 if len(topics) == 1 else 2
    ticks = np.unique(np.linspace(0, len(names) - 1, ticks).round().astype(int))
    for axes, topic in zip(panels, topics):
        share, low, high = (np.array(topic[end], float) for end in ENDS)
        axes.fill_between(places, low, high, color=BLUE, alpha=0.2, lw=0)
        axes.plot(places, share, color=BLUE, lw=1.5)
        alone = _alone(share)  # of which neither line nor band shows anything
        axes.vlines(places[alone], low[alone], high[alone], color=BLUE, alpha=0.2)
        axes.plot(places[alone], share[alone], "o", color=BLUE, ms=2.5)
        axes.set_ylim(0, _top(share, high))
        axes.set_xticks(ticks, [names[i] for i in ticks])
    return figure


def points(
    names: Sequence[str], topics: Sequence[Topic], titles: Sequence[str]
) -> Drawing:
    """Draw topics in groups, a panel each: points on their intervals."""
    from tcnlm.drawing.figures import BLUE

    height = 0.6 + 0.17 * len(names)
    figure, panels = _panels(topics, titles, height, height, sharey=True)
    places = -np.arange(len(names))  # the first on top
    for axes, topic in zip(panels, topics):
        share, low, high = (np.array(topic[end], float) for end in ENDS)
        axes.hlines(places, low, high, color=BLUE, alpha=0.4, lw=3)
        axes.plot(share, places, "o", color=BLUE, ms=4)
        axes.set_xlim(0, _top(share, high))
        axes.tick_params(left=False)
        axes.set_yticks(places, [_plain(name, LETTERS) for name in names])
    return figure


def _alone(values: np.ndarray) -> np.ndarray:
    """Return which values have none beside them."""
    known = np.isfinite(np.concatenate([[np.nan], values, [np.nan]]))
    return known[1:-1] & ~known[:-2] & ~known[2:]


def _panels(
    topics: Sequence[Topic],
    titles: Sequence[str],
    height: float,
    small: float,
    **shared: Any,
) -> tuple[Drawing, list[Axes]]:
    """Return a figure and its axes: one of a height, inches, or small ones by twos."""
    from tcnlm.drawing.figures import PANEL, axes_of, blank

    columns, letters = (1, 44) if len(topics) == 1 else (2, 24)
    rows = -(-len(topics) // columns)
    figure = blank(PANEL[0], height if columns == 1 else small * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False, **shared).flat)
    for spare in panels[len(topics) :]:
        spare.remove()
    for axes, topic in zip(panels, topics):
        axes_of(axes, _plain(titles[topic["topic"]], letters), *[""] * 2)
        if columns > 1:
            axes.set_title(axes.get_title("left"), loc="left", fontsize=8)
    return figure, panels


def _plain(text: str, letters: int) -> str:
    """Return a text of so many letters at most, none of which is taken for TeX."""
    cut = text if len(text) <= letters else f"{text[: letters - 1]}…"
    return cut.replace("$", r"\$")


def _top(share: np.ndarray, high: np.ndarray) -> float:
    """Return the end of an axis of shares from 0."""
    return 1.08 * float(np.nanmax([1e-9, *share, *high]))
