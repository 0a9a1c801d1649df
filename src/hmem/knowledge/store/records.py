"""What the store hands out: facts with their history, what a write did, what changed since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from types import NoneType
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from hmem.graph.days import to_day
from hmem.graph.triples import PARTS, Triples
from hmem.graph.values import Value
from hmem.knowledge.store.errors import DamageError

T = TypeVar("T")
Names3 = tuple[str, str, str]  # head, relation, tail by name

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFact:
    """One line of a listing or of the history. Times are in UTC."""

    head: str
    relation: str
    tail: str
    added_at: datetime
    source: str | None  # where it came from, as given when it was added
    confidence: float | None
    valid_from: date | None = None  # the days on which it held in the world, both included
    valid_until: date | None = None
    inferred_by: str | None = None  # the model that concluded it; None for what was asserted
    probability: float | None = None  # that the model gave it
    removed_at: datetime | None = None
    removed_by: str | None = None  # the source of the removal

    @property
    def names(self) -> Names3:
        return self.head, self.relation, self.tail


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredValue:
    """A value of an entity in a listing or in the history. Times are in UTC."""

    entity: str
    property: str
    text: str  # the lexical form
    datatype: str
    language: str | None
    unit: str | None
    added_at: datetime
    source: str | None
    removed_at: datetime | None = None
    removed_by: str | None = None  # the source of the removal

    def as_value(self) -> Value:
        return Value(text=self.text, datatype=self.datatype, language=self.language, unit=self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write did."""

    moment: int  # the last moment of the file if nothing changed
    changed: Triples  # the facts really added or removed, in the order given
    unchanged: int  # those that were there already, or were not there to be removed
    kept: int = 0  # of them, those of which something else was said, such as other days, that was not taken over
    new_entities: list[str] = field(default_factory=list)  # names that this very write brought, in order of their ids
    new_relations: list[str] = field(default_factory=list)
    values: int = 0  # that came with the facts

    @classmethod
    def joined(cls, writes: Sequence["Written"]) -> "Written":
        """What several writes did, one after the other."""
        return cls(
            moment=writes[-1].moment,
            changed=np.concatenate([each.changed for each in writes]),
            unchanged=sum(each.unchanged for each in writes),
            new_entities=[name for each in writes for name in each.new_entities],
            new_relations=[name for each in writes for name in each.new_relations],
            values=sum(each.values for each in writes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWrite:
    """A write, by the number of its moment, with what it changed. Times are in UTC."""

    moment: int
    at: datetime
    source: str | None
    added: int  # facts
    removed: int
    said: int  # values, labels, aliases, kinds and descriptions that came or went


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What happened after a moment, net: a fact that came and went appears in neither list."""

    moment: int
    entities: list[str]  # with ids from the number the caller has, on
    relations: list[str]
    added: Triples
    removed: Triples
    ended: Triples  # all that went, also what came again
    unsure: Triples  # of what came, the facts with a confidence below 1
    confidences: Float[np.ndarray, " n"]
    has_labels: bool  # whether anything was ever said of an entity or a relation but facts
    has_inferred: bool  # whether a model ever inferred a fact


def to_microseconds(time: datetime) -> int:
    """Microseconds since 1970 in UTC. A time without zone is local time, as everywhere in Python."""
    return (time.astimezone(UTC) - EPOCH) // MICROSECOND


def to_time(microseconds: int) -> datetime:
    try:
        return EPOCH + microseconds * MICROSECOND
    except OverflowError:
        raise DamageError("a moment has a time that is none") from None


def to_date(number: int) -> date:
    """The day of a number, counted from 1970."""
    try:
        return to_day(number)
    except (OverflowError, ValueError):
        raise DamageError("a fact has a day that is none") from None


_TEXT, _NUMBER, _DAY = (str, NoneType), (float, NoneType), (int, NoneType)
_ADDED = {"added_at": int, "source": _TEXT}
_REMOVED = {"removed_at": _DAY, "removed_by": _TEXT}
# What stands in a row, in the order in which it is asked for.
FACT = {
    **dict.fromkeys(PARTS, str),
    **_ADDED,
    "confidence": _NUMBER,
    **dict.fromkeys(("valid_from", "valid_until"), _DAY),
    "inferred_by": _TEXT,
    "probability": _NUMBER,
    **_REMOVED,
}
VALUE = {
    **dict.fromkeys(("entity", "property", "text", "datatype"), str),
    **dict.fromkeys(("language", "unit"), _TEXT),
    **_ADDED,
    **_REMOVED,
}
_READ = {"added_at": to_time, "removed_at": to_time, "valid_from": to_date, "valid_until": to_date}


def from_row(made: type[T], columns: Mapping[str, Any], row: Sequence[Any]) -> T:
    """What a row says, if there is nothing else in it than can have been written."""
    if not all(map(isinstance, row, columns.values())):
        raise DamageError("a row has something else in it than was written")
    given = dict(zip(columns, row, strict=True))
    for name, read in _READ.items():
        if given.get(name) is not None:
            given[name] = read(given[name])
    return made(**given)
