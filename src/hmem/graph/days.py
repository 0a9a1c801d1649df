"""When a fact held: days as people and files write them, of which some name only a month or a year.

A year or a month is a stretch of days. As the time from which a fact held it stands for the first of them, as the time
until which it held for the last, and both days are included.
"""

import calendar
import re
from datetime import date, datetime
from typing import NamedTuple

from hmem.errors import DataError, shown

EPOCH = date(1970, 1, 1)
DAY = "a day such as 2019-05-01, a month such as 2019-05 or a year such as 2019"
# Wikidata writes +2019-05-00T00:00:00Z for a month, and 00 for the month too for a year.
_DAY = re.compile(r"\+?(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ]\d\d?:\d\d\S*)?)?)?")


class Stretch(NamedTuple):
    """The days from the first to the last, both included."""

    first: date
    last: date


def stretch(when: object) -> Stretch:
    """The days that are meant by a date, by text such as 2019-05-01, 2019-05 or 2019, or by the number of a year."""
    if isinstance(when, Stretch):
        return when
    if isinstance(when, datetime):
        when = when.date()
    if isinstance(when, date):
        return Stretch(when, when)
    if isinstance(when, int) and not isinstance(when, bool):
        when = f"{when:04}"
    found = _DAY.fullmatch(when.strip()) if isinstance(when, str) else None
    if found is not None:
        year, month, day = (int(part or 0) for part in found.groups())
        try:
            first = date(year, month or 1, day or 1)
            if day:
                return Stretch(first, first)
            month = month or 12
            return Stretch(first, date(year, month, calendar.monthrange(year, month)[1]))
        except ValueError:
            pass  # no such day
    raise DataError(expected=DAY, found=shown(repr(when), 60))


def to_number(day: date) -> int:
    """Days since 1970."""
    return (day - EPOCH).days


def to_day(number: int) -> date:
    """The day of a number; an OverflowError if there is none."""
    return date.fromordinal(EPOCH.toordinal() + number)
