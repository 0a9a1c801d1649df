"""What is said of a fact besides its names: how sure it is, when it held, and which model concluded it, how probably.

They are called qualifiers, as in Wikidata. Here they are columns beside the facts, from whatever they are given as; one
that says nothing of any fact is no column at all.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias, TypedDict, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from hmem.errors import DataError, shown
from hmem.graph.days import stretch

TYPES = {
    "confidence": pa.float64(),
    "valid_from": pa.date32(),
    "valid_until": pa.date32(),
    "inferred_by": pa.string(),
    "probability": pa.float64(),
}
T = TypeVar("T")
OneOrEach: TypeAlias = T | Iterable[T | None] | None
Day: TypeAlias = date | str | int


class Given(TypedDict, total=False):
    """One value for all facts, or one for each, where None says nothing."""

    confidence: OneOrEach[float]  # from 0 to 1
    valid_from: OneOrEach[Day]  # a day, a month or a year: its first day
    valid_until: OneOrEach[Day]  # the same: its last day
    inferred_by: OneOrEach[str]  # the model that concluded it, with its probability
    probability: OneOrEach[float]


@dataclass(frozen=True, slots=True, eq=False)
class Qualifiers:
    """Those of some facts, a column for each that says something."""

    count: int  # of facts
    columns: dict[str, pa.Array]

    @classmethod
    def of(cls, count: int, **given: Any) -> "Qualifiers":
        """As `Given`, or as columns of Arrow; a DataError names the row that is wrong, counted from 0."""
        for name in given.keys() - TYPES.keys():
            raise DataError(f"nothing is said of a fact by {name!r}; expected one of {', '.join(TYPES)}")
        found = {name: read_column(name, given[name], count) for name in TYPES if given.get(name) is not None}
        columns = {name: column for name, column in found.items() if column.null_count < count}
        nothing = pa.nulls(count)
        first, last = (columns.get(name, nothing).cast(pa.date32()) for name in ("valid_from", "valid_until"))
        _refuse(pc.less(last, first), lambda row: f"it ends on {last[row]}, before it begins on {first[row]}")
        is_inferred, has_probability = (
            columns.get(name, nothing).is_valid() for name in ("inferred_by", "probability")
        )
        _refuse(
            pc.not_equal(is_inferred, has_probability),
            lambda row: "what a model inferred has its probability, and nothing else has one; give both or neither",
        )
        return cls(count, columns)

    def select(self, kept: Bool[np.ndarray, " n"]) -> "Qualifiers":
        """Those of some of the facts."""
        mask = pa.array(kept)
        return Qualifiers(int(kept.sum()), {name: column.filter(mask) for name, column in self.columns.items()})

    def lists(self, start: int, stop: int) -> list[list[Any]]:
        """A list for each qualifier, in the order of TYPES, for the facts of some rows; days as numbers since 1970."""
        length = max(0, min(stop, self.count) - start)
        return [self._list(name, start, length) for name in TYPES]

    def _list(self, name: str, start: int, length: int) -> list[Any]:
        if name not in self.columns:
            return [None] * length
        some = self.columns[name].slice(start, length)
        values: list[Any] = (some.cast(pa.int32()) if TYPES[name] == pa.date32() else some).to_pylist()
        return values


def evidence_of(table: pa.Table) -> pa.Table:
    """The facts of a table that speak for others: not what a model inferred, nor what has the confidence 0."""
    for name in ("inferred_by", "confidence"):
        if name in table.column_names:
            column = table.column(name)
            if name == "inferred_by":
                table = table.filter(column.is_null())
            elif pa.types.is_floating(column.type):
                table = table.filter(pc.fill_null(pc.greater(column, 0), True))
    return table


def read_column(name: str, given: object, count: int) -> pa.Array:
    """A qualifier of so many facts as a column of its type, from one value for all, a sequence or a column."""
    if isinstance(given, pa.Array | pa.ChunkedArray):
        column = _from_arrow(name, given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given)
    elif isinstance(given, str) or not isinstance(given, Iterable):
        return pa.repeat(pa.scalar(_read(name, given), TYPES[name]), count)
    else:
        column = pa.array([None if each is None else _read(name, each) for each in given], TYPES[name])
    if len(column) != count:
        words = {"confidence": "confidences", "probability": "probabilities"}.get(name, f"values of {name}")
        raise DataError(f"received {len(column):,} {words} for {count:,} facts; give one for each, or one for all")
    return column


def _from_arrow(name: str, column: pa.Array) -> pa.Array:
    """Numbers and days as they are, all else value by value; empty text says nothing."""
    wanted, kind = TYPES[name], column.type
    if wanted == pa.float64() and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        numbers = column.cast(wanted)
        numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, wanted), numbers)
        wrong = pc.or_(pc.less(numbers, 0), pc.greater(numbers, 1))
        _refuse(wrong, lambda row: f"a {name} is a number from 0 to 1, received {numbers[row]}")
        return numbers
    if wanted == pa.date32() and pa.types.is_temporal(kind):
        return column.cast(wanted, safe=False)
    encoded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
    values: list[object] = []
    for each in encoded.dictionary.to_pylist():
        try:
            values.append(None if each is None or each == "" else _read(name, _as_number(each, wanted)))
        except DataError as error:
            row = pc.index(encoded.cast(encoded.type.value_type), pa.scalar(each, encoded.type.value_type)).as_py()
            raise DataError(f"row {row} (counted from 0): {error.problem}") from None
    return pa.array(values, wanted).take(encoded.indices)


def _as_number(value: object, wanted: pa.DataType) -> object:
    """What a text file holds where a number is wanted."""
    if isinstance(value, str) and wanted == pa.float64():
        with suppress(ValueError):
            return float(value)
    return value


def _read(name: str, value: object) -> object:
    """One value of a qualifier."""
    match name:
        case "valid_from" | "valid_until":
            try:
                days = stretch(value)
            except DataError as error:
                raise DataError(expected=f"{error.expected} as {name}", found=error.found) from None
            return days.first if name == "valid_from" else days.last
        case "inferred_by":
            if not isinstance(value, str) or not value:
                raise DataError(expected="the name of a model as inferred_by", found=shown(repr(value), 60))
            return value
        case _:
            return _share(name, value)


def _share(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool | str) or not 0 <= number <= 1:
        raise DataError(f"a {name} is a number from 0 to 1, or None; received {shown(repr(value), 60)}")
    return number


def _refuse(wrong: pa.Array, reason: Callable[[int], str]) -> None:
    """A DataError for the first row that is wrong; a single fact needs no number."""
    row = pc.index(wrong, pa.scalar(True)).as_py()
    if row >= 0:
        raise DataError(f"row {row} (counted from 0): {reason(row)}" if len(wrong) > 1 else reason(row))
