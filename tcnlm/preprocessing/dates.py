"""Dates of documents: whatever people write to ISO 8601, as exact as it was."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timezone
from functools import lru_cache

from tcnlm.common.errors import InputError

_YEAR_OR_MONTH = re.compile(r"[12]\d{3}(-(0[1-9]|1[0-2]))?")
_NUMERIC = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})")  # 24.12.2020, 12/24/2020
_HAS_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_LIKE = "write it like 2020-12-24, 2020-12, 2020 or 24 December 2020"


def iso_date(value: object, where: str) -> str | None:
    """A date as ISO text; None for null and an empty cell.

    value: a text, the number of a year, or a date of a parquet table. A time of day is
    kept, that of another zone as UTC's. Raises InputError, which begins with `where`,
    for what is no date and for one of two: 03/04/2020.
    """
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as pandas writes whole numbers of a column with gaps
    if isinstance(value, date):
        return _written(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(f"{where}: {value!r:.40} is no date; {_LIKE}")
    try:
        return _parsed(str(value).strip())
    except ValueError as error:
        reason = f" ({error})" if isinstance(error, _AmbiguousError) else ""
        raise InputError(
            f"{where}: {value!r:.40} is no date{reason}; {_LIKE}"
        ) from None


class _AmbiguousError(ValueError):
    """A date that may be one of two."""


@lru_cache(2**16)
def _parsed(text: str) -> str:
    if _YEAR_OR_MONTH.fullmatch(text):
        return text
    numeric = _NUMERIC.fullmatch(text)
    if numeric:
        return _of_numbers(int(numeric[1]), int(numeric[3]), numeric).isoformat()
    if not _HAS_YEAR.search(text) and not re.match(r"\d{8}(?!\d)", text):
        raise ValueError("no year of four digits")
    from pandas import Timestamp  # Here, since it is slow to import, and an option.

    return _written(Timestamp(text).to_pydatetime(warn=False))


def _of_numbers(first: int, second: int, found: re.Match[str]) -> date:
    """With points the day comes first; with slashes whichever is above 12."""
    if found[2] == "/" and max(first, second) <= 12 and first != second:
        raise _AmbiguousError("which of the first two numbers is the month?")
    day_first = found[2] == "." or first > 12
    day, month = (first, second) if day_first else (second, first)
    return date(int(found[4]), month, day)


def _written(value: date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is not None:
        value = value.astimezone(timezone.utc)
    elif value.time() == time():
        return value.date().isoformat()
    return value.isoformat(timespec="seconds")
