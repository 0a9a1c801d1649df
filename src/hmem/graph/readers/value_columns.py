"""Values in tables: what a column holds, by its heading or by what stands in it.

| heading | |
|---|---|
| `height [m]` | a unit |
| `population:int`, `height:decimal [m]` | a datatype: int, decimal, float, bool, date, datetime, year, text |
| `population` | found out: numbers, dates and booleans if all of the column are, else text |

What looks like a number but is a code, such as 007, is text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hmem.errors import ConfigError, shown
from hmem.graph.name_search import closest
from hmem.graph.values import (
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    LANG_STRING,
    STRING,
    Value,
    number_of,
)

WORDS = {
    **dict.fromkeys(("int", "integer", "long"), INTEGER),
    **dict.fromkeys(("decimal", "number"), DECIMAL),
    **dict.fromkeys(("float", "double"), DOUBLE),
    **dict.fromkeys(("bool", "boolean"), BOOLEAN),
    **dict.fromkeys(("datetime", "timestamp"), DATETIME),
    **dict.fromkeys(("text", "string", "str"), STRING),
    "date": DATE,
    "year": "xsd:gYear",
}
_WORD = re.compile(r"\w+")
_FORMS = {
    INTEGER: re.compile(r"[+-]?(0|[1-9]\d*)"),
    DECIMAL: re.compile(r"[+-]?(0|[1-9]\d*)?\.\d+"),
    DOUBLE: re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?[eE][+-]?\d+"),
    DATE: re.compile(r"-?\d{4}-\d\d-\d\d"),
    DATETIME: re.compile(r"-?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"),
    BOOLEAN: re.compile(r"true|false", re.IGNORECASE),
}
# What holds all of a mixed column, the narrowest first.
_HOLDS = ({INTEGER}, {INTEGER, DECIMAL}, {INTEGER, DECIMAL, DOUBLE}, {DATE}, {DATE, DATETIME}, {BOOLEAN})


class Heading(NamedTuple):
    """A property, and what its values are if the heading says so."""

    name: str
    datatype: str | None = None
    unit: str | None = None

    @classmethod
    def of(cls, text: str) -> "Heading":
        text = rest = text.strip()
        unit = None
        if text.endswith("]"):
            before, _, inside = text[:-1].rpartition("[")
            if inside and "]" not in inside:
                rest, unit = before.rstrip(), inside
        name, colon, word = rest.rpartition(":")
        if not colon or not _WORD.fullmatch(word):
            return cls(rest, None, unit) if rest else cls(text)
        if not name.strip() or word.lower() not in WORDS:
            return cls(text)  # a colon in a name, such as that of an IRI
        return cls(name.strip(), WORDS[word.lower()], unit)

    @property
    def is_typed(self) -> bool:
        return self.datatype is not None or self.unit is not None


def recognized(texts: Sequence[str], unit: str | None = None) -> list[Value]:
    """The values of a column, all of one datatype that suits each of them; dates and moments side by side."""
    found = [_datatype(text) for text in texts]
    suits = next((holds for holds in _HOLDS if holds.issuperset(found)), None)
    if suits is None or not found:
        return [Value(text=text, unit=unit) for text in texts]
    if DATE in suits:
        return [_written(text, each) for text, each in zip(texts, found, strict=True)]
    widest = next(each for each in (DOUBLE, DECIMAL, INTEGER, BOOLEAN) if each in found)
    return [_written(text, widest, unit) for text in texts]


def read_as(text: str, datatype: str, unit: str | None = None) -> Value | None:
    """A text as a value of this datatype; None if it is none."""
    value = _written(text, datatype, unit)
    return value if datatype == STRING or number_of(value.text, datatype) is not None else None


def typed(texts: Sequence[str], word: str | None, unit: str | None, language: str | None = None) -> list[Value]:
    """Values as they were typed, of the datatype that a word says; a ConfigError if one is none."""
    if language is not None:
        return [Value(text=text, datatype=LANG_STRING, language=language) for text in texts]
    if word is None:
        return recognized(texts, unit)
    if word.lower() not in WORDS:
        problem = f"{{option}}: expected one of {', '.join(WORDS)}"
        raise ConfigError(problem, option="type", found=word, suggestions=closest(word, WORDS, 1))
    found = [read_as(text, WORDS[word.lower()], unit) for text in texts]
    for text, value in zip(texts, found, strict=True):
        if value is None:
            raise ConfigError(f"{shown(repr(text))} is no {word.lower()}")
    return [value for value in found if value is not None]


def _datatype(text: str) -> str:
    return next(
        (
            each
            for each, form in _FORMS.items()
            if form.fullmatch(text) and number_of(_written(text, each).text, each) is not None
        ),
        STRING,
    )


def _written(text: str, datatype: str, unit: str | None = None) -> Value:
    """In the spelling of XML Schema."""
    if datatype == BOOLEAN:
        text = text.lower()
    if datatype == DATETIME:
        text = text.replace(" ", "T", 1)
    return Value(text=text, datatype=datatype, unit=None if datatype in (BOOLEAN, DATE, DATETIME) else unit)
