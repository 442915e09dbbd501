"""A raw document, and what a reader of files is told and is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unicodedata import name as name_of

from tcnlm.common.errors import InputError

# As programs write that there is no value: R, SQL, Python, pandas, spreadsheets.
MISSING = "", *"NA N/A n/a #N/A NaN nan NULL null None NaT <NA>".split()
WHOLE = re.compile(r"\A(-?\d+)\.0\Z")  # as pandas writes a column of numbers with gaps

QUOTING = ("double", "none")
LONGEST = 100_000  # words of a sequence or context: a batch of them fits into memory
LONGEST_NAME = 2_000  # characters: so many are a text, no label or id
# Ends of lines, other controls, and what is not seen or turns the order of what is. The
# two that join letters or part them are left: words of Persian have them.
_UNSEEN = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def is_missing(value: object) -> bool:
    """Whether a value is none: None, NaN, NaT, pandas.NA, blank, or in `MISSING`."""
    return not isinstance(value, (list, dict)) and str(value).strip() in MISSING


def checked_name(name: str, where: str) -> str:
    """A label or id as it is; InputError where it is too long or not all of it seen."""
    unseen = _UNSEEN.search(name)
    if unseen or len(name) > LONGEST_NAME:
        found = f"{len(name):,} characters" if not unseen else called(unseen[0])
        raise InputError(
            f"{where} has {found}; a label or id is one line of at most "
            f"{LONGEST_NAME:,} visible characters"
        )
    return name


def called(char: str) -> str:
    """Return what Unicode calls a character: U+200B, ZERO WIDTH SPACE."""
    return f"U+{ord(char):04X}, {name_of(char, 'a control character')}"


class Document(NamedTuple):
    """A raw document, with its class, name and date (ISO 8601) where it has them.

    doubt: where its reader doubts to have read rightly, and what.
    """

    text: str
    label: str | None = None
    id: str | None = None
    date: str | None = None
    doubt: tuple[str, str] | None = None


class Fields(NamedTuple):
    """The fields of a JSON object, or columns of a table, that a document is in.

    skip_empty: read an object without a text as a blank document, to be left out,
    instead of refusing it; tokenized: the text is in words already, a text, or a list
    of words or of sentences; quoted: double quotes stand around cells of CSV, or are a
    part of them.
    """

    text: str = "text"
    label: str | None = None
    id: str | None = None
    skip_empty: bool = False
    tokenized: bool = False
    date: str | None = None
    quoted: bool = True


@dataclass(frozen=True)
class Format:
    """How to read a file: (path, fields) to documents, a text to sentences.

    joint: what to put between lines that are to be one document; None where a line says
    more than text. marks: of "label" and "id" those it has without a field for them;
    ordered: whether the order of a document's words is that of a text.
    """

    read: Callable[[Path, Fields], Iterator[Document]]
    sentences: Callable[[str], list[list[str]]]
    joint: str | None = None
    marks: tuple[str, ...] = ()
    ordered: bool = True
