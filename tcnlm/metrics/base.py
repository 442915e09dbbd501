"""What a metric is: a class in this folder and a line of `tcnlm.metrics.registry`.

TensorFlow, nltk and what else takes seconds to import is imported where it works.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcnlm.common.settings import names

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tcnlm.data.dataset import Dataset
    from tcnlm.metrics.evaluation_context import EvaluationContext
    from tcnlm.models.names import Names
else:  # what takes seconds to import, for the measures' annotations
    Drawing = EvaluationContext = Any

Contract = Callable[[type], bool]


def any_model(kind: type) -> bool:
    """Every model."""
    return True


def language(kind: type) -> bool:
    """Models that write sentences."""
    return kind.offers("step")


def documental(kind: type) -> bool:
    """Models of documents' words."""
    return kind.documental


def carrying(kind: type) -> bool:
    """Models whose state can go on through a document."""
    return "carry" in names(kind.Config)


def predicting(kind: type) -> bool:
    """Models of words, in sentences or documents."""
    return language(kind) or documental(kind)


def topical(kind: type) -> bool:
    """Models with topics."""
    return kind.offers("topics")


def both(kind: type) -> bool:
    """Models that write sentences from topics."""
    return language(kind) and topical(kind)


def titles_of(evaluation: Mapping[str, Any], names: Names | None) -> list[str]:
    """Return what the page calls every topic; "" for a hidden one; names: if known."""
    return [
        names.title(k) if names else f"{k} {', '.join(topic['words'][:3])}"
        for k, topic in enumerate(evaluation["topics"] or ())
    ]


@dataclass(frozen=True)
class Figure:
    """One number of a model on a split."""

    key: str  # its place in evaluation.json; a dot leads into an entry
    title: str
    form: str
    better: str = ""  # "min", "max"; "" where neither is better
    compute: Callable[[EvaluationContext], Any] | None = None  # None: an entry holds it
    headline: bool = True  # on the page; else in the summary alone
    of_use: bool = False  # of the topics that documents use: these need topic words
    topic_words: int = 0  # that there must be, at the least
    labels: bool = False  # whether DATA must have them
    among: str = ""  # entry that must be alike, beside the DATA, where two compare

    @property
    def worst(self) -> float:
        """What every finite value is better than."""
        return -math.inf if self.better == "max" else math.inf

    def improves(self, value: float, best: float) -> bool:
        """Return whether a value is better than the best so far."""
        return value > best if self.better == "max" else value < best

    def value(self, evaluation: Mapping[str, Any]) -> Any:
        """Return the figure in an evaluation.json; None where it is not there."""
        value: Any = evaluation
        for part in self.key.split("."):
            value = (value or {}).get(part)
        return value

    def text(self, evaluation: Mapping[str, Any]) -> str | None:
        """Return the same in its format."""
        value = self.value(evaluation)
        return None if value is None else self.form.format(value)


class Metric:
    """All that is said of one measure; by default, what most say: nothing.

    What is shown is made of an evaluation.json, perhaps an old one that lacks the
    entries, and of `unsaved`, which only the page of a run just measured has.
    """

    key: str  # its name, that of its option and that of its main entry
    applies: Contract = staticmethod(any_model)
    option: str = ""  # of evaluate.py, which asks for it; "": it is always measured
    purpose: str = ""  # what --help says of the option
    takes: str = ""  # name, in --help, of the RUN that the option takes, if it does
    accepts: Contract = staticmethod(any_model)  # what model that RUN may have
    early = False  # comes first, since it may be refused by what is only then read
    figures: tuple[Figure, ...] = ()
    entries: tuple[str, ...] = ()  # of evaluation.json, those of its figures apart
    unrecorded: tuple[str, ...] = ()  # of these: texts, lists of words, points
    template = ""  # Jinja, of its section of the page

    def check(self, dataset: Dataset, split: str) -> None:
        """Raise InputError, before any work, where this data cannot be measured so."""

    def measure(self, subject: EvaluationContext) -> dict[str, Any]:
        """Return the values of its entries, ready for JSON."""
        return {}

    def figure(self, figure: Figure, subject: EvaluationContext) -> Any:
        """Return one of its figures; None where it does not apply."""
        applies = self.applies(type(subject.model))
        if not applies or (figure.of_use and not subject.documents.any):
            return None
        if figure.compute is None:
            return figure.value(subject.entries(self))
        return figure.compute(subject)

    def lines(self, evaluation: Mapping[str, Any]) -> Iterable[str]:
        """Return what the summary says beside its figures."""
        return ()

    def unsaved(self, subject: EvaluationContext) -> Any:
        """Return what the page shows beside evaluation.json."""
        return None

    def shown(self, evaluation: Mapping[str, Any], unsaved: Any) -> dict | None:
        """Return what its template is filled with; None where there is nothing."""
        entry = evaluation.get(self.key) if self.template else None
        return self.section(entry) if entry else None

    def section(self, entry: Any) -> dict[str, Any]:
        """Return the same of its main entry, where there is one."""
        return entry

    def draw(self, evaluation: Mapping[str, Any], unsaved: Any) -> Iterator[tuple]:
        """Yield its figures with names for their files."""
        entry = evaluation.get(self.key)
        return self.plots(entry) if entry else iter(())

    def plots(self, entry: Any) -> Iterator[tuple[str, Drawing]]:
        """Yield the same of its main entry, where there is one."""
        return iter(())

    def tables(self, evaluation: Mapping[str, Any]) -> dict[str, list]:
        """Return its tables for a paper: rows of (value, text) by title, by name."""
        return {}

    def write(self, folder: Path, evaluation: Mapping[str, Any], unsaved: Any) -> None:
        """Write its other files of an export into a run's folder."""
