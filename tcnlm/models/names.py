"""What a RUN's topics are called, which are one, which are hidden: RUN/topics.csv.

It is the user's. What is measured is of the model's own topics, whatever they are
called; of a hierarchy's these names are the lowest layer's.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tcnlm.common.errors import InputError, reading
from tcnlm.common.outputs import write_rows
from tcnlm.common.settings import is_whole
from tcnlm.models.seeds import seeds_of
from tcnlm.models.topics import best_words, top_words
from tcnlm.preprocessing.documents import called
from tcnlm.preprocessing.markup import normalized

FILE = "topics.csv"
COLUMNS = ("number", "label", "merged_into", "hidden")
NO, YES = ("", "no", "false", "0"), ("yes", "true", "1")  # as spreadsheets write it
WORDS, CANDIDATES = 3, 100  # of a label; of which it takes those that fit
LONGEST = 500  # characters of a label

Where = Callable[[Any], str]  # a topic's number -> what an error calls its row


class Row(NamedTuple):
    """What is said of a topic."""

    label: str
    merged_into: int | None = None
    hidden: bool = False
    given: bool = False  # whether the label is the user's


@dataclass(frozen=True)
class Names:
    """The labels of K topics, and which G are shown.

    A topic that others are merged into stands for the group: its shares are their sum,
    its words those of the mean distribution.
    """

    rows: tuple[Row, ...]

    @cached_property
    def groups(self) -> list[int]:
        """The numbers of the topics that are merged into no other."""
        return [k for k, row in enumerate(self.rows) if row.merged_into is None]

    @cached_property
    def shown(self) -> list[int]:
        """Those of them that are not hidden, [G]."""
        return [k for k in self.groups if not self.rows[k].hidden]

    @property
    def keys(self) -> list[str | int]:
        """What tables call those shown: by their labels if given, or their numbers."""
        return [self.rows[k].label if self.rows[k].given else k for k in self.shown]

    @property
    def hidden(self) -> str:
        """Say how many topics are hidden, and which; "" where none is."""
        found = [f"{k} {row.label}" for k, row in enumerate(self.rows) if row.hidden]
        topics = f"{len(found)} topic{'s' * (len(found) > 1)}"
        return f"{FILE} hides {topics}: {'; '.join(found)}" if found else ""

    def title(self, number: int) -> str:
        """Return a topic's number and label; "" of a hidden one."""
        row = self.rows[number]
        group = self.rows[number if row.merged_into is None else row.merged_into]
        return "" if group.hidden else f"{number} {row.label}"

    def members(self, number: int) -> list[int]:
        """Return a topic and those that are merged into it."""
        merged = (k for k, row in enumerate(self.rows) if row.merged_into == number)
        return [number, *merged]

    def labelled(self, label: str) -> list[int]:
        """Return the members of the topic with a label, in any case; [] of none."""
        wanted = _spelled(label.strip())
        known = (k for k, row in enumerate(self.rows) if _spelled(row.label) == wanted)
        return [member for k in known for member in self.members(k)]

    def unknown(self, label: str) -> str:
        """Say that no topic has a label, and which labels there are."""
        known = ", ".join(repr(row.label) for row in self.rows)
        return f"no topic is called {label!r:.40}; labels are {known:.2000}"

    def summed(self, shares: np.ndarray, groups: Sequence[int] | None = None) -> Any:
        """Return the shares of groups, [..., G] of [..., K]; by default those shown."""
        chosen = self.shown if groups is None else groups
        parts = [shares[..., self.members(k)].sum(axis=-1) for k in chosen]
        return np.stack(parts, axis=-1)

    def mean(self, beta: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return all groups' distributions: beta [K, D] weighted by shares [K]."""

        def mean(members: list[int]) -> np.ndarray:
            weights = shares[members]  # all alike where there are none
            weights = weights if weights.any() else None
            return np.average(beta[members], axis=0, weights=weights)

        return np.stack([mean(self.members(k)) for k in self.groups])

    def changed(
        self,
        automatic: Sequence[str],
        labels: Mapping[int, str | None],
        merge: Mapping[int, int | None],
        hide: Sequence[int] | None,
    ) -> Names:
        """Return names with other labels and mergers, None for one that is undone.

        hide: all hidden, None as they are. InputError for what topics.csv must not say.
        """
        into = (k for k in merge.values() if k is not None)
        for k in (*labels, *merge, *into, *(hide or ())):
            if not is_whole(k) or not 0 <= k < len(self.rows):
                raise InputError(f"topic {k!r}: {_range(len(self.rows))}")
        rows = {}
        for k, row in enumerate(self.rows):
            label = labels.get(k, row.label)
            hidden = row.hidden if hide is None else k in hide
            label = automatic[k] if label is None else label
            label = label.strip() if isinstance(label, str) else label
            rows[k] = Row(label, merge.get(k, row.merged_into), hidden)
        return _checked(rows, automatic, "topic {}".format)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of a topics.csv by its columns."""
        return [dict(zip(COLUMNS, (k, *row))) for k, row in enumerate(self.rows)]

    def write(self, path: Path) -> None:
        """Write a topics.csv, whole or not at all."""
        hidden = {True: YES[0], False: None}
        write_rows(path, ({**r, "hidden": hidden[r["hidden"]]} for r in self.records()))


def automatic_labels(model: Any) -> list[str]:
    """Return the names of topics' seeds or their most relevant words, all apart."""
    names = [seed.name for seed in seeds_of(model.config, model.vocabulary)]
    return labels_of_words(top_words(model, CANDIDATES), names)


def labels_of_words(
    words: Sequence[Sequence[str]], names: Sequence[str] = ()
) -> list[str]:
    """Return the same of topics' words, `CANDIDATES` each, best first."""
    part = LONGEST // (WORDS + 1)  # of a label: a number may stand behind it
    fit = ((word for word in row if not _unfit(word, part)) for row in words)
    labels = [", ".join(islice(row, WORDS)) or "topic" for row in fit]
    for k, name in enumerate(names):
        labels[k] = labels[k] if _unfit(name) else name or labels[k]
    return _apart(labels)


def shown_words(model: Any, names: Names, count: int) -> dict[str | int, list[str]]:
    """Return the most relevant words of the topics shown, by what tables call them."""
    beta = np.asarray(model.topics(), float)
    means = names.mean(beta, np.zeros(len(beta)))  # merged ones weigh the same
    rows = best_words(means, model.vocabulary, count)
    of_group = dict(zip(names.groups, rows))
    return {key: of_group[k] for key, k in zip(names.keys, names.shown)}


def read_names(path: Path, automatic: Sequence[str]) -> Names:
    """Return a topics.csv's names or the automatic ones [K]; InputError by the line."""
    try:
        with reading(path):
            text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return Names(tuple(map(Row, automatic)))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error}); save it so") from None
    rows, lines = {}, {}
    for line, cells in _lines(path, text):
        number, row = _row(f"{path}:{line}", cells, len(automatic))
        if number in rows:
            raise InputError(f"{path}:{line}: topic {number} already has a row")
        named = row._replace(label=row.label or automatic[number])
        rows[number], lines[number] = named, line
    return _checked(rows, automatic, lambda k: f"{path}:{lines[k]}")


def _lines(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    delimiter = ";" if ";" in text.partition("\n")[0] else ","  # by country
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        titles = [cell.strip() for cell in next(rows, [])]
        if tuple(titles) != COLUMNS:
            raise InputError(f"{path}:1: the columns must be {','.join(COLUMNS)}")
        for cells in rows:
            if any(map(str.strip, cells)):
                yield rows.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise InputError(f"{path}:{rows.line_num}: not CSV: {error}") from None


def _row(where: str, cells: Sequence[str], topics: int) -> tuple[int, Row]:
    if len(cells) != len(COLUMNS):
        raise InputError(f"{where}: {len(cells)} cells for {len(COLUMNS)} columns")
    number, label, merged_into, hidden = cells
    if hidden.lower() not in (*NO, *YES):
        raise InputError(f"{where}: hidden must be yes or empty, not {hidden!r:.40}")
    into = _number(where, "merged_into", merged_into, topics) if merged_into else None
    row = Row(label, into, hidden.lower() in YES)
    return _number(where, "number", number, topics), row


def _number(where: str, column: str, cell: str, topics: int) -> int:
    if not re.fullmatch("[0-9]{1,9}", cell) or int(cell) >= topics:
        raise InputError(f"{where}: {column} {cell!r:.40}: {_range(topics)}")
    return int(cell)


def _range(topics: int) -> str:
    return f"the model has topics 0 to {topics - 1}"


def _checked(rows: Mapping[int, Row], automatic: Sequence[str], where: Where) -> Names:
    owners: dict[str, int] = {}
    for k, row in rows.items():
        if fault := _fault(k, row, rows):
            raise InputError(f"{where(k)}: {fault}")
        other = owners.setdefault(_spelled(row.label), k)
        if other != k:
            raise InputError(
                f"{where(k)}: topic {other} has the label {row.label!r} too"
            )
    others = enumerate(_apart(automatic, owners))
    named = (rows.get(k, Row(label)) for k, label in others)
    found = Names(
        tuple(r._replace(given=r.label != a) for r, a in zip(named, automatic))
    )
    if not found.shown:
        raise InputError(f"{where(next(iter(rows)))}: all topics are hidden; show one")
    return found


def _fault(number: int, row: Row, rows: Mapping[int, Row]) -> str:
    """Say what is wrong with a row; generate.py's --topic takes labels, and tables."""
    label, into = row.label, row.merged_into
    text = isinstance(label, str) and bool(label.strip())
    found = _unfit(label) if text else ""
    if not text or found or label.isdecimal():
        has = f" has {found}" if found else ""
        return (
            f"label {label!r:.40}{has}: must be one line of at most {LONGEST} "
            "visible characters, not a number, without a colon and no =, +, -, @ "
            "or ' first"
        )
    if into is None:
        return ""
    further = rows[into].merged_into if into in rows else None
    if into == number or row.hidden or further is not None:
        return (
            f"topic {number} is merged into {into}: that must be another one, merged "
            f"into none itself, and hidden in place of {number}"
        )
    return ""


def _unfit(text: str, longest: int = LONGEST) -> str:
    """Say what text has that no label may have; nothing where it has none."""
    if len(text) > longest:
        return f"{len(text):,} characters"
    wrong = [char for char in text if not char.isprintable() or char == ":"]
    wrong += [char for char in text[:1] if char in "=+-@'"]
    return called(wrong[0]) if wrong else ""


def _spelled(label: str) -> str:
    return normalized(label).casefold()


def _apart(labels: Sequence[str], taken: Mapping[str, Any] | None = None) -> list[str]:
    """Return labels with their numbers behind those that are not one's own alone."""
    often = Counter(map(_spelled, labels)) + Counter(list(taken or ()))
    return [
        f"{label} ({k})" if often[_spelled(label)] > 1 or label.isdecimal() else label
        for k, label in enumerate(labels)
    ]
