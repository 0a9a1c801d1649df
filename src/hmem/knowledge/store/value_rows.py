"""The rows of values: read with their history, set and ended.

Every function here is called inside one transaction.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from hmem.graph.values import Said, Value
from hmem.knowledge.store.database import ALL, Database
from hmem.knowledge.store.describe import MANY, Numbers
from hmem.knowledge.store.read import has_rows, last_row, moment_of
from hmem.knowledge.store.records import VALUE, StoredValue, from_row
from hmem.knowledge.store.validation import check_name, check_value
from hmem.knowledge.store.write import Numbering, Write

# CROSS JOIN keeps SQLite to this order: the values first, then names and moments by number.
SELECT = """
    SELECT value.id, e.name, p.name, value.text, datatype, language, unit, a.at, a.source, x.at, x.source
    FROM value CROSS JOIN entity AS e CROSS JOIN property AS p CROSS JOIN moment AS a
    LEFT JOIN moment AS x ON x.id = value.removed
    WHERE e.id = value.entity AND p.id = value.property AND a.id = value.added
"""
INSERT = """
    INSERT INTO value (entity, property, text, datatype, language, unit, number, added) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
PAGE = 4096
Slot = tuple[int, int]  # an entity and a property by number


class Which(NamedTuple):
    """Values of an entity, of a property, of both, or all."""

    entity: int | None = None
    property: int | None = None

    def conditions(self) -> tuple[list[str], list[int]]:
        chosen = {column: number for column, number in self._asdict().items() if number is not None}
        return [f"value.{column} = ?" for column in chosen], list(chosen.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """What is said by a property, over all entities."""

    id: str
    label: str | None
    values: int
    entities: int  # that have some
    datatype: str  # the most frequent
    unit: str | None
    lowest: str | None  # of what can be compared, as it was written
    median: str | None
    highest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a write of values did."""

    moment: int  # the last moment of the file if nothing changed
    added: int
    removed: int
    unchanged: int
    unknown: list[str]  # ids that no fact has, which were left out


def page(db: Database, which: Which, moment: int, after: int) -> tuple[list[StoredValue], int | None]:
    """Some of the values of a moment behind a row, and the last row of them; None if there are no more.

    Those of one entity come all at once, and by property.
    """
    conditions, numbers = which.conditions()
    conditions.append("value.added <= ? AND (value.removed IS NULL OR value.removed > ?) AND +value.id > ?")
    is_whole = which.entity is not None
    end = "ORDER BY value.property, value.id" if is_whole else f"ORDER BY value.id LIMIT {PAGE}"
    if not is_whole and which.property is None:
        conditions[-1] = conditions[-1].replace("+", "")
    rows = db.execute(f"{SELECT} AND {' AND '.join(conditions)} {end}", (*numbers, moment, moment, after)).fetchall()
    last = None if is_whole or len(rows) < PAGE else int(rows[-1][0])
    return [_stored((*row[:-2], None, None)) for row in rows], last


def history(db: Database, which: Which, limit: int | None) -> list[StoredValue]:
    """All that was ever said, what changed last first."""
    conditions, numbers = which.conditions()
    where = "".join(f" AND {condition}" for condition in conditions)
    latest = "ORDER BY coalesce(value.removed, value.added) DESC, value.id DESC LIMIT ?"
    rows = db.execute(f"{SELECT}{where} {latest}", (*numbers, ALL if limit is None else limit))
    return [_stored(row) for row in rows]


def properties(db: Database) -> Iterator[Property]:
    """The properties by which something is said now, in the order in which they came."""
    rows = db.execute(
        """SELECT property.id, name, count(*), count(DISTINCT entity), count(number) FROM value
        JOIN property ON property.id = property WHERE removed IS NULL GROUP BY property.id ORDER BY property.id"""
    ).fetchall()
    for number, name, values, entities, comparable in rows:
        often = """SELECT {0} FROM value WHERE property = ? AND removed IS NULL
            GROUP BY {0} ORDER BY count(*) DESC, {0} IS NOT NULL, {0}"""
        (datatype,), (unit,) = (db.execute(often.format(each), (number,)).fetchone() for each in ("datatype", "unit"))
        label = db.execute(
            "SELECT text FROM property_text WHERE property = ? AND field = 'label' AND removed IS NULL", (number,)
        ).fetchone()
        at = """SELECT text FROM value WHERE property = ? AND removed IS NULL AND number IS NOT NULL
            ORDER BY number LIMIT 1 OFFSET ?"""
        places = [0, (comparable - 1) // 2, comparable - 1] if comparable else []
        ends = [db.execute(at, (number, place)).fetchone()[0] for place in places] or [None] * 3
        counted = {"values": values, "entities": entities, "datatype": datatype, "unit": unit}
        low, middle, high = ends
        yield Property(id=name, label=label and label[0], **counted, lowest=low, median=middle, highest=high)


def entities(db: Database, as_of: datetime | int | None) -> list[int]:
    """The numbers of those that have values now, or had at a time."""
    moment = moment_of(db, as_of)
    held = "SELECT DISTINCT entity FROM value WHERE added <= ? AND (removed IS NULL OR removed > ?)"
    return [int(number) for (number,) in db.execute(held, (moment, moment))]


def changed_since(db: Database, moment: int) -> bool:
    """Whether some value came or went after a moment."""
    came = last_row(db, "value") > last_row(db, "value", moment)
    return came or has_rows(db, "value", "removed > ?", (moment,))


def columns(db: Database, property: int | None = None) -> list[tuple[int, int, str, str, str | None, float | None]]:
    """Entity, property, text, datatype, unit and number of all values of now, by property."""
    conditions, numbers = Which(property=property).conditions()
    where = " AND ".join(["removed IS NULL", *conditions])
    return db.execute(
        f"SELECT entity, property, text, datatype, unit, number FROM value WHERE {where} ORDER BY property, id", numbers
    ).fetchall()


def state(write: Write, said: Iterable[Said], *, keep: bool = False, create: bool = False) -> tuple[Stated, list[str]]:
    """Let these be the values from now on, in the place of what the same properties of an entity said before.

    With `keep` besides that. With `create` an id that is not stored becomes an entity, else it is left out; the second
    of what is returned are those that were made.
    """
    wanted: dict[tuple[str, str], dict[Value, None]] = {}
    for entity, name, value in said:
        slot = check_name("entity", entity), check_name("property", name)
        wanted.setdefault(slot, {})[check_value(value)] = None
    db, many = write.db, len(wanted) >= MANY
    known, made, names = Numbers(db, "entity", many=many), Numbering(db, "entity"), Numbering(db, "property")
    is_first = many and not has_rows(db, "value")
    unknown: dict[str, None] = {}
    added = removed = unchanged = 0
    for (entity, name), values in wanted.items():
        number = known.get(entity)
        if number is None and not create:
            unknown[entity] = None
            continue
        slot_of = made.number(entity) if number is None else number, names.number(name)
        present = {} if is_first else present_values(db, slot_of)
        gone, new, same = set_slot(write, slot_of, list(values), present, keep=keep)
        added, removed, unchanged = added + new, removed + gone, unchanged + same
    done = Stated(moment=write.last, added=added, removed=removed, unchanged=unchanged, unknown=list(unknown))
    return done, made.new


def set_slot(
    write: Write, slot: Slot, values: Sequence[Value], present: dict[Value, int], *, keep: bool
) -> tuple[int, int, int]:
    """The same for one property of one entity; how many values went, came and stayed."""
    gone = [] if keep else [row for value, row in present.items() if value not in values]
    new = [value for value in values if value not in present]
    if gone or new:
        moment = write.moment()
        write.db.executemany("UPDATE value SET removed = ? WHERE id = ?", ((moment, row) for row in gone))
        rows = ((*slot, each.text, each.datatype, each.language, each.unit, each.number, moment) for each in new)
        write.db.executemany(INSERT, rows)
    return len(gone), len(new), len(values) - len(new)


def present_values(db: Database, slot: Slot) -> dict[Value, int]:
    """What a property of an entity says now, and in which rows."""
    rows = db.execute(
        """SELECT id, text, datatype, language, unit FROM value
        WHERE entity = ? AND property = ? AND removed IS NULL ORDER BY id""",
        slot,
    )
    return {
        Value(text=text, datatype=kind, language=language, unit=unit): row for row, text, kind, language, unit in rows
    }


def _stored(row: Sequence[Any]) -> StoredValue:
    return from_row(StoredValue, VALUE, row[1:])
