"""Values: numbers, dates, booleans and texts that are said of an entity, exactly as they were written.

A value is its lexical form with a datatype, and a language or a unit where there is one, as in RDF. Datatypes are those
of XML Schema by their usual prefix, such as `xsd:integer`, or any IRI. Numbers and dates can be compared besides: dates
by their days since 1970, so that a year, a day and a moment stand on one line.
"""

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

STRING = "xsd:string"
BOOLEAN = "xsd:boolean"
INTEGER = "xsd:integer"
DECIMAL = "xsd:decimal"
DOUBLE = "xsd:double"
DATE = "xsd:date"
DATETIME = "xsd:dateTime"
LANG_STRING = "rdf:langString"
TEXTS = {STRING, LANG_STRING, "rdf:dirLangString", "xsd:normalizedString", "xsd:token", "xsd:anyURI"}
DATES = {DATE, DATETIME, "xsd:dateTimeStamp", "xsd:gYear", "xsd:gYearMonth"}
Family = Literal["number", "date", "boolean", "text"]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(
    r"(-?\d{4,9})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?)?)?)?\s*(Z|[+-]\d\d:\d\d)?"
)
_BOOLEAN = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}
DAY = 86_400.0  # seconds

Plain = bool | int | float | Decimal | date | str  # what Python has for values; a datetime is a date


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number, a date, a boolean or a text, as it was written."""

    text: str  # the lexical form
    datatype: str = STRING
    language: str | None = None  # of a text, and its direction behind -- if it has one
    unit: str | None = None  # of a number, such as "km"

    @classmethod
    def of(cls, plain: "Plain | Value", unit: str | None = None) -> "Value":
        """A value of Python's; one that is a Value already stays as it is."""
        match plain:
            case Value():
                return plain
            case bool():
                return cls(text=str(plain).lower(), datatype=BOOLEAN)
            case int():
                return cls(text=str(plain), datatype=INTEGER, unit=unit)
            case float():
                text = {math.inf: "INF", -math.inf: "-INF"}.get(plain, "NaN" if math.isnan(plain) else repr(plain))
                return cls(text=text, datatype=DOUBLE, unit=unit)
            case Decimal():
                return cls(text=f"{plain:f}", datatype=DECIMAL, unit=unit)
            case datetime():
                return cls(text=plain.isoformat(), datatype=DATETIME)
            case date():
                return cls(text=plain.isoformat(), datatype=DATE)
        return cls(text=plain, unit=unit)

    @property
    def number(self) -> float | None:
        """What it is compared by: itself, days since 1970, 0 and 1 for booleans; None for text."""
        return number_of(self.text, self.datatype)

    @property
    def family(self) -> Family:
        return family_of(self.text, self.datatype)

    @property
    def shown(self) -> str:
        """For reading: with its unit, or with its language."""
        if self.unit is not None:
            return f"{self.text} {self.unit}"
        return self.text if self.language is None else f"{self.text} ({self.language})"


Said = tuple[str, str, Value]  # of an entity, by which property, what


def family_of(text: str, datatype: str) -> Family:
    """What kind of thing a value is; one of a datatype that is not known is a number if it looks like one."""
    if datatype in TEXTS or number_of(text, datatype) is None:
        return "text"
    if datatype in DATES:
        return "date"
    return "boolean" if datatype == BOOLEAN else "number"


def number_of(text: str, datatype: str) -> float | None:
    text = text.strip()
    if datatype in TEXTS:
        return None
    if datatype == BOOLEAN:
        return _BOOLEAN.get(text)
    if datatype in DATES:
        return days_of(text)
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def days_of(text: str) -> float | None:
    """Days since 1970 of a year, a month, a day or a moment, the first of them where it is no day; None if it is none.

    By the calendar of today in all times, before the year 1 too. Without a time zone it is UTC.
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    month, day, hour, minute = (int(found[place] or least) for place, least in enumerate((1, 1, 0, 0), 2))
    second = float(found[6] or 0)
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute < 60 and second < 61):
        return None
    zone = found[7] or "Z"
    away = 0 if zone == "Z" else (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 60 + int(zone[4:6]))
    return _days(int(found[1]), month, day) + (hour * 3600 + (minute - away) * 60 + second) / DAY


def date_of(days: float | int) -> str:
    """The day that so many days since 1970 are, as it is written."""
    shifted = math.floor(days) + 719_468
    era, of_era = divmod(shifted, 146_097)
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    year = year_of_era + 400 * era + (month <= 2)
    return f"{'-' * (year < 0)}{abs(year):04d}-{month:02d}-{day:02d}"


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 by the proleptic Gregorian calendar, whose years begin in March here."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year - 719_468
