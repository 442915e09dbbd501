"""The published figures (published.csv), to set a run's own beside them.

Every figure that the documents print, once each: the poster of Wang et al. repeats
Tables 1, 2 and 4 of the paper. Figures of Dieng et al. 2017 that their poster leaves
out are those of the paper. `copied`: whose they are where not the document's own.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("published.csv")
PAPER = "Wang et al. 2018"
COMPARED = ("perplexity", "npmi")  # of a RUN, with what is published at its size
VOCABULARIES = {  # words and topic words that the figures rest on
    "apnews": (32_400, 7_790),  # Wang et al. 2018, Table 1, with imdb and bnc
    "imdb": (34_256, 8_713),
    "bnc": (41_370, 9_741),
    "ptb": (10_000, None),  # the corpus as distributed; topic words not stated
}
SAME = 0.01  # the paper's own rules on its own data give sizes that are as near
REPRODUCED, NEAR, OFF = "reproduced", "near", "off"
WITHIN = {REPRODUCED: 0.05, NEAR: 0.1}
SCALES = {"K": 1e3, "M": 1e6, "%": 1e-2}


@dataclass(frozen=True)
class Published:
    """One figure of a paper; what does not apply to it is empty."""

    document: str
    table: str
    model: str  # or model-cell, where the paper tells cells apart
    corpus: str
    size: str  # layers x units
    topics: str
    measure: str
    value: str  # as printed
    copied: str  # the star of Table 2: from Lau et al. 2017

    @property
    def place(self) -> str:
        """The table, with the name of its document."""
        return f"{self.document}, {self.table}"

    @property
    def source(self) -> str:
        """Where it is printed, and where the paper has it from if not its own."""
        return self.place + (f", from {self.copied}" if self.copied else "")

    @property
    def scale(self) -> float:
        """What the printed digits are to be multiplied by."""
        return SCALES.get(self.value[-1], 1)

    @property
    def decimals(self) -> int:
        """How many of the printed digits are behind the point."""
        return len(self.value.strip("KM%").partition(".")[2])

    @property
    def number(self) -> float:
        """The printed value."""
        return float(self.value.strip("KM%").replace(",", "")) * self.scale

    def difference(self, ours: float) -> float:
        """Return how far a figure is above this one, as a share of it."""
        return (ours - self.number) / self.number

    def verdict(self, ours: float) -> str:
        """Return "reproduced" within 5 % or as rounded in print, "near", or "off"."""
        share = abs(self.difference(ours))
        if abs(ours - self.number) <= 0.5 * self.scale / 10**self.decimals:
            return REPRODUCED
        return next((said for said, most in WITHIN.items() if share <= most), OFF)

    def printed_like(self, ours: float) -> str:
        """Return a figure with as many digits as this one; counts with all theirs."""
        if self.scale > 1 or "," in self.value:
            return f"{ours:,.0f}"
        percent = "%" * self.value.endswith("%")
        return f"{ours / self.scale:.{self.decimals}f}{percent}"

    def beside(self, ours: float) -> str:
        """Say in a line what is published, what a run has, and how near they are."""
        said = f"{self.measure} {self.value} ({self.source}), here"
        apart = f"{self.difference(ours):+.1%}, {self.verdict(ours)}"
        return f"{said} {self.printed_like(ours)}: {apart}"


@cache
def figures() -> tuple[Published, ...]:
    """Return every published figure, in the order of the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(Published(**row) for row in csv.DictReader(file))


def corpora() -> list[str]:
    """Return the corpora that the papers have figures of models on."""
    return sorted({f.corpus for f in figures() if f.measure in COMPARED and f.corpus})


def size(settings: Mapping[str, Any]) -> str:
    """Return a run's size as the paper's tables are ordered: layers x units.

    Where layers differ their units: 600-512-256.
    """
    units = settings.get("units", "")
    if not units or isinstance(units, (list, tuple)):
        return layered(units)
    return f"{settings.get('layers', 1)}x{units}"


def layered(numbers: Any) -> str:
    """Return a setting's number, or its numbers of each layer, the lowest first."""
    many = isinstance(numbers, (list, tuple))
    return "-".join(map(str, numbers)) if many else str(numbers)


def other_data(corpus: str | None, data: Mapping[str, Any]) -> str:
    """Say how a run's data differs from what the figures rest on; "" if it does not.

    data: of config.json. Of other documents or by other thresholds there would be
    vocabularies of other sizes.
    """
    names = ("vocabulary_size", "words"), ("topic_vocabulary_size", "topic words")
    said = []
    for (key, title), theirs in zip(names, VOCABULARIES.get(corpus, ())):
        ours = data.get(key)
        if ours and theirs and abs(ours - theirs) > SAME * theirs:
            said.append(f"{ours:,} {title} here, {theirs:,} there")
    return "; ".join(said)


def beside(
    corpus: str | None, model: str, settings: Mapping[str, Any], measure: str
) -> Published | None:
    """Return the figure for the same corpus, model, size and number of topics."""
    sizes, topics = ("", size(settings)), ("", layered(settings.get("num_topics", "")))
    for figure in _of_model(corpus, model, settings):
        same = figure.measure == measure
        if same and figure.size in sizes and figure.topics in topics:
            return figure
    return None


def _of_model(
    corpus: str | None, model: str, settings: Mapping[str, Any]
) -> list[Published]:
    models = model, f"{model}-{settings.get('cell')}"
    ours = [f for f in figures() if f.corpus == corpus and f.model in models]
    return [figure for figure in ours if figure.measure in COMPARED]


def own_size(settings: Mapping[str, Any]) -> str:
    """Return a run's size and number of topics in words."""
    return _in_words([size(settings)], [layered(settings.get("num_topics", ""))])


def sizes(corpus: str, model: str, settings: Mapping[str, Any]) -> str:
    """Say what sizes of a model have figures on a corpus, by table; "" if none has."""
    tables: dict[tuple[str, str], list[Published]] = {}
    for figure in _of_model(corpus, model, settings):
        tables.setdefault((figure.document, figure.table), []).append(figure)
    said: dict[tuple[str, str], list[str]] = {}
    for (document, table), found in tables.items():
        said.setdefault((_sizes_of(found), document), []).append(table)
    places = (f"{text} ({d}, {' and '.join(t)})" for (text, d), t in said.items())
    return "; ".join(places)


def _sizes_of(found: Iterable[Published]) -> str:
    """Return the sizes of some figures; those with the same topics together."""
    topics: dict[str, list[str]] = {}
    for figure in found:
        topics.setdefault(figure.size, []).append(figure.topics)
    alike: dict[tuple[str, ...], list[str]] = {}
    for of_size, numbers in topics.items():
        alike.setdefault(tuple(dict.fromkeys(numbers)), []).append(of_size)
    return ", ".join(_in_words(each, numbers) for numbers, each in alike.items())


def _in_words(of_size: Iterable[str], topics: Iterable[str]) -> str:
    size_text, number = " or ".join(of_size), ", ".join(topics)
    parts = size_text, f"{number} topic{'s' * (number != '1')}" if number else ""
    return " with ".join(filter(None, parts))
