"""Dates of documents: a short list of forms to ISO 8601, as exact as they were."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timezone
from functools import lru_cache

from tcnlm.common.errors import InputError
from tcnlm.preprocessing.documents import WHOLE, is_missing

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
    """A date as ISO text; None for what is missing.

    A time of day is kept, that of another zone as UTC's. Raises InputError, beginning
    with `where`, for what is no date and for one of two: 03/04/2020.
    """
    if is_missing(value):
        return None
    try:
        return _parsed(WHOLE.sub(r"\1", " ".join(str(value).split())))
    except (ValueError, OverflowError) as error:
        reason = f" ({error})" if isinstance(error, _AmbiguousError) else ""
        raise InputError(
            f"{where}: {value!r:.40} is not a date{reason}; {_LIKE}"
        ) from None


class _AmbiguousError(ValueError):
    """A date that may be one of two."""


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
    return _with_time(start, parts)


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
        raise _AmbiguousError("which of the first two numbers is the month?")
    return first, last


def _with_time(day: date, parts: dict[str, str]) -> str:
    exact = "seconds" if "second" in parts else "minutes"
    hour, minute = int(parts["hour"]), int(parts["minute"])
    clock = time(hour, minute, int(parts.get("second", 0)))
    zone = parts.get("zone", "").replace(":", "")
    if not zone and clock == time():
        return day.isoformat()  # as programs write a day among times
    written = datetime.combine(day, clock)
    if zone:
        offset = zone if zone[0] in "+-" else "+0000"
        written = datetime.strptime(f"{written} {offset}", "%Y-%m-%d %H:%M:%S %z")
        written = written.astimezone(timezone.utc)
    return written.isoformat(timespec=exact)
