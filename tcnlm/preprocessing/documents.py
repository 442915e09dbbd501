"""A raw document, its marks and dates, and what a reader of files is told and is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timezone
from functools import lru_cache
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
    """A raw document with its marks; doubt: where its reader may err, and in what."""

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


class Format(NamedTuple):
    """How to read a file; joint: what goes between the lines of one document."""

    read: Callable[[Path, Fields], Iterator[Document]]
    sentences: Callable[[str], list[list[str]]]
    joint: str | None = None
    marks: tuple[str, ...] = ()  # "label", "id": those it has without a field
    ordered: bool = True  # whether words are in the order of a text


# --- Dates: a short list of forms to ISO 8601, as exact as they were -----------------

_LIKE = (
    "write it like 2020-12-24, 2020-12, 2020, 24.12.2020, 24 December 2020 or May "
    "2020; after a day a time like 10:30, after that a zone like +02:00"
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_YEAR = r"(?P<year>[0-2]\d{3})"
_MONTH = r"(?P<month>\d\d?)"
_DAY = r"(?P<day>\d\d?)"
_NAME = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|"
    r"aug(?:ust)?|sept?|september|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = "(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? )?"
_NTH = rf"{_DAY}(?:st|nd|rd|th)?"
_CLOCK = r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
_ZONE = r"(?: ?(?P<zone>z|utc|gmt|[+-]\d\d:?\d\d)(?: \(\w+\))?)?"
_FORMS = [
    re.compile(rf"{form}(?:(?:T|,? ){_CLOCK}{_ZONE})?", re.ASCII | re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?:-{_MONTH}(?:-{_DAY})?)?",
        rf"(?P<first>\d\d?)(?P<mark>[-/.])(?P<last>\d\d?)(?P=mark){_YEAR}",
        rf"{_WEEKDAY}{_NTH}[ -]{_NAME},?[ -]{_YEAR}",
        rf"{_WEEKDAY}{_NAME} {_NTH},? {_YEAR}",
        rf"{_NAME},? {_YEAR}",
    )
]


def iso_date(value: object, where: str) -> str | None:
    """A date as ISO text, a time as UTC's; InputError for none and for 03/04/2020."""
    if is_missing(value):
        return None
    try:
        return _parsed(WHOLE.sub(r"\1", " ".join(str(value).split())))
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{where}: {value!r:.40} is not a date ({error}); {_LIKE}"
        ) from None


@lru_cache(2**16)
def _parsed(text: str) -> str:
    found = next(filter(None, (form.fullmatch(text) for form in _FORMS)), None)
    if not found:
        raise ValueError("in none of the forms")
    parts = {name: part for name, part in found.groupdict().items() if part}
    month, day = _month_and_day(parts)
    start = date(int(parts["year"]), int(month or 1), int(day or 1))
    if "hour" not in parts:
        return start.isoformat()[: 10 if day else 7 if month else 4]
    if not day:
        raise ValueError("a time without a day")
    clock = time(int(parts["hour"]), int(parts["minute"]), int(parts.get("second", 0)))
    zone = parts.get("zone", "").replace(":", "")
    if not zone and clock == time():
        return start.isoformat()  # as programs write a day among times
    written = datetime.combine(start, clock)
    if zone:
        offset = zone if zone[0] in "+-" else "+0000"
        written = datetime.strptime(f"{written} {offset}", "%Y-%m-%d %H:%M:%S %z")
        written = written.astimezone(timezone.utc)
    return written.isoformat(timespec="seconds" if "second" in parts else "minutes")


def _month_and_day(parts: dict[str, str]) -> tuple[str | int | None, str | None]:
    """Both as they are written; of two numbers the one before a point is the day."""
    if "name" in parts:
        return _MONTHS.index(parts["name"][:3].lower()) + 1, parts.get("day")
    if "first" not in parts:
        return parts.get("month"), parts.get("day")
    first, last = parts["first"], parts["last"]
    if parts["mark"] == "." or int(first) > 12:
        return last, first
    if int(last) <= 12 and int(first) != int(last):
        raise ValueError("which of the first two numbers is the month?")
    return first, last
