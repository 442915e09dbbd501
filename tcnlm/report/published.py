"""The published figures (published.csv), to set a run's own beside them, once each.

Figures of Dieng et al. 2017 that their poster leaves out are those of the paper.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("published.csv")
COMPARED = ("perplexity", "npmi")  # of a RUN, with what is published at its size
VOCABULARIES = {  # words and topic words that the figures rest on
    "apnews": (32_400, 7_790),  # Wang et al. 2018, Table 1, with imdb and bnc
    "imdb": (34_256, 8_713),
    "bnc": (41_370, 9_741),
    "ptb": (10_000, None),  # the corpus as distributed; topic words not stated
}
SAME = 0.01  # the paper's own rules on its own data give sizes that are as near
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
    def digits(self) -> str:
        """The printed digits."""
        return self.value.strip(">KM%").replace(",", "")

    @property
    def decimals(self) -> int:
        """How many of the printed digits are behind the point."""
        return len(self.digits.partition(".")[2])

    @property
    def number(self) -> float:
        """The printed value."""
        return float(self.digits) * self.scale

    def difference(self, ours: float) -> float:
        """Return how far a figure is above this one, as a share of it."""
        return (ours - self.number) / self.number

    def printed_like(self, ours: float) -> str:
        """Return a figure with as many digits as this one; counts with all theirs."""
        if self.scale > 1 or "," in self.value:
            return f"{ours:,.0f}"
        return f"{ours / self.scale:.{self.decimals}f}" + "%" * (self.scale < 1)

    def beside(self, ours: float) -> str:
        """Say in a line what is published, what a run has, and how they differ."""
        said = f"{self.measure} {self.value} ({self.source}), here"
        return f"{said} {self.printed_like(ours)}: {self.difference(ours):+.1%}"


@cache
def figures() -> tuple[Published, ...]:
    """Return every published figure, in the order of the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(Published(**row) for row in csv.DictReader(file))


def corpora() -> list[str]:
    """Return the corpora that the papers have figures of models on."""
    return sorted({f.corpus for f in figures() if f.measure in COMPARED and f.corpus})


def size(settings: Mapping[str, Any]) -> str:
    """Return a run's layers x units or, where layers differ, theirs: 600-512-256."""
    units = settings.get("units", "")
    if not units or isinstance(units, (list, tuple)):
        return layered(units)
    return f"{settings.get('layers', 1)}x{units}"


def layered(numbers: Any) -> str:
    """Return a setting's number, or its numbers of each layer, the lowest first."""
    many = isinstance(numbers, (list, tuple))
    return "-".join(map(str, numbers)) if many else str(numbers)


def other_data(corpus: str | None, data: Mapping[str, Any]) -> str:
    """Say how data of a config.json differs by its vocabularies' sizes; "" if not."""
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
    models, places = (model, f"{model}-{settings.get('cell')}"), (corpus, measure)
    fitting = (
        figure
        for figure in figures()
        if (figure.corpus, figure.measure) == places
        and figure.model in models
        and figure.size in sizes
        and figure.topics in topics
    )
    return next(fitting, None)
