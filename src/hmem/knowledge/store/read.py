"""Facts out of the file: the graph as of any moment, and what changed since one.

Every function here is called inside one transaction, so what it reads belongs to one moment.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.triples import Triples, is_among
from hmem.knowledge.store.database import Database, Kind, Rows
from hmem.knowledge.store.errors import DamageError
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.records import Changes, Names3, to_microseconds

Time: TypeAlias = datetime | int | None  # or the number of a moment; None is now
CONTAINS = """
    SELECT 1 FROM fact WHERE head = (SELECT id FROM entity WHERE name = ?)
    AND relation = (SELECT id FROM relation WHERE name = ?)
    AND tail = (SELECT id FROM entity WHERE name = ?) AND ifnull(removed, 0) = 0
"""


def last_moment(db: Database) -> int:
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM moment").fetchone()
    return int(last)


def moment_of(db: Database, as_of: Time) -> int:
    """The last moment up to a time; a number is a moment already, and None is now."""
    last = last_moment(db)
    if as_of is None:
        return last
    if isinstance(as_of, int):
        return min(as_of, last)
    moments = range(1, last + 1)  # their times only ever grow
    return bisect_right(moments, to_microseconds(as_of), key=lambda moment: _at(db, moment))


def names(db: Database, kind: Kind, start: int = 0) -> list[str]:
    found = [name for (name,) in db.execute(f"SELECT name FROM {kind} WHERE id >= ? ORDER BY id", (start,))]
    if not all(type(name) is str for name in found):
        raise DamageError(f"a name in the table {kind} is no text")
    return found


def numbers(db: Database, kind: Kind, start: int, limit: int) -> list[int]:
    """The numbers of some names, from one on."""
    rows = db.execute(f"SELECT id FROM {kind} WHERE id >= ? ORDER BY id LIMIT ?", (start, limit))
    return [int(number) for (number,) in rows]


def find_id(db: Database, kind: Kind, name: str) -> int | None:
    found = db.execute(f"SELECT id FROM {kind} WHERE name = ?", (name,)).fetchone()
    return None if found is None else int(found[0])


def triples(db: Database, as_of: Time = None, evidence: Evidence | None = None) -> Triples:
    """The facts as of a time, in the order in which they were added; all of them, or those that are evidence."""
    return db.triples(*_as_of(db, "head, relation, tail", as_of, evidence))


def _as_of(db: Database, columns: str, as_of: Time, evidence: Evidence | None) -> tuple[str, tuple[int, ...]]:
    """The statement for columns of the facts as of a time, in the order in which they were added; and its values."""
    counts = _counts(evidence)
    if as_of is None:
        return f"SELECT {columns} FROM fact WHERE removed IS NULL{counts} ORDER BY id", ()
    moment = moment_of(db, as_of)
    asked = f"SELECT {columns} FROM fact WHERE id <= ? AND (removed IS NULL OR removed > ?){counts} ORDER BY id"
    return asked, (last_fact(db, moment), moment)


def _counts(evidence: Evidence | None) -> str:
    """What is to be added to a condition on facts."""
    return "" if evidence is None else f" AND {evidence.condition()}"


def is_qualified(db: Database) -> bool:
    """Whether anything qualifies any fact that ever was."""
    return has_rows(db, "fact", " OR ".join(f"{name} IS NOT NULL" for name in QUALIFIERS))


def qualifiers(db: Database, as_of: Time = None, evidence: Evidence | None = None) -> dict[str, pa.Array]:
    """What qualifies the facts as of a time, a column for each that says something of any, in the order of facts."""
    found = {}
    for name, kind in QUALIFIERS.items():
        if has_rows(db, "fact", f"{name} IS NOT NULL"):
            rows = db.execute(*_as_of(db, name, as_of, evidence))
            try:
                values = pa.array([value for (value,) in rows], pa.int32() if kind == pa.date32() else kind)
            except pa.ArrowException:
                raise DamageError(f"a fact has something else in {name} than it was written with") from None
            if values.null_count < len(values):
                found[name] = values.cast(kind)
    return found


def contains(db: Database, fact: Names3) -> bool:
    """Whether the fact is there now, by name: one look into each index, also for a name that is not stored."""
    return db.execute(CONTAINS, fact).fetchone() is not None


def inferred(db: Database, facts: Iterable[Names3]) -> dict[Names3, str]:
    """Those of some facts that a model inferred, and which model."""
    model = CONTAINS.replace("SELECT 1", "SELECT inferred_by")
    rows = {fact: db.execute(model, fact).fetchone() for fact in facts}
    return {fact: row[0] for fact, row in rows.items() if row is not None and row[0] is not None}


def models(db: Database) -> dict[str, int]:
    """The models that inferred facts, and how many of each there are now."""
    rows = db.execute(
        """SELECT inferred_by, count(*) FROM fact WHERE inferred_by IS NOT NULL AND removed IS NULL
        GROUP BY inferred_by ORDER BY 2 DESC, 1"""
    )
    return {str(model): int(count) for model, count in rows}


def changes_since(
    db: Database, moment: int, num_entities: int, num_relations: int, evidence: Evidence | None = None
) -> Changes:
    """What is different now from what was at `moment`, in all facts or in those that are evidence."""
    seen = last_fact(db, moment)
    added = triples_after(db, seen, evidence)
    gone = (
        f"SELECT head, relation, tail FROM fact WHERE removed > ? AND id <= ?{_counts(evidence)} ORDER BY removed, id"
    )
    removed = ended = db.triples(gone, (moment, seen))
    unsure, confidences = _unsure_after(db, seen, evidence)
    if len(added) and len(removed):  # removed and added again: it was there, and it is
        added, removed = added[~is_among(added, removed)], removed[~is_among(removed, added)]
    return Changes(
        moment=last_moment(db),
        entities=names(db, "entity", num_entities),
        relations=names(db, "relation", num_relations),
        added=added,
        removed=removed,
        ended=ended,
        unsure=unsure,
        confidences=confidences,
        has_labels=any(has_rows(db, f"{kind}_text") for kind in ("entity", "relation")),
        has_inferred=has_rows(db, "fact", "inferred_by IS NOT NULL"),
    )


def has_rows(db: Database, table: str, where: str = "true", values: Sequence[object] = ()) -> bool:
    return db.execute(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1", values).fetchone() is not None


def triples_after(db: Database, fact: int, evidence: Evidence | None = None) -> Triples:
    """The current facts with a higher number than `fact`."""
    new = f"SELECT head, relation, tail FROM fact WHERE id > ? AND removed IS NULL{_counts(evidence)} ORDER BY id"
    return db.triples(new, (fact,))


def _unsure_after(db: Database, fact: int, evidence: Evidence | None) -> tuple[Triples, Float[np.ndarray, " n"]]:
    """Those of the current facts with a higher number that have a confidence below 1, and this confidence."""
    which = f"FROM fact WHERE id > ? AND removed IS NULL AND confidence < 1{_counts(evidence)} ORDER BY id"
    facts = db.triples(f"SELECT head, relation, tail {which}", (fact,))
    values = [value for (value,) in db.execute(f"SELECT confidence {which}", (fact,))]
    try:
        return facts, np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DamageError("a fact has a confidence that is no number") from None


def last_fact(db: Database, moment: int | None = None) -> int:
    """The highest number of a fact, or of one added up to `moment`: facts are numbered as they come, so halve."""
    return last_row(db, "fact", moment)


def last_row(db: Database, table: str, moment: int | None = None) -> int:
    """The same of any table whose rows point to the moments that added them."""
    (last,) = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
    if moment is None:
        return int(last)
    return bisect_right(range(1, last + 1), moment, key=lambda row: _added(db, table, row))


def count(db: Database) -> dict[str, int]:
    """How many there are of everything; without gaps in the numbering, the last number tells."""
    last = {
        table: db.execute(f"SELECT coalesce(max(id), -1) + 1 FROM {table}").fetchone()[0]
        for table in ("entity", "relation")
    }
    removed, gone = (
        db.execute(f"SELECT count(*) FROM {table} WHERE removed IS NOT NULL").fetchone()[0]
        for table in ("fact", "value")
    )
    return {
        "facts": last_fact(db) - removed,
        "entities": last["entity"],
        "relations": last["relation"],
        "removed": removed,
        "values": last_row(db, "value") - gone,
        "moments": last_moment(db),
    }


def metas(db: Database) -> dict[str, str]:
    """All notes."""
    return {str(key): str(value) for key, value in db.execute("SELECT key, value FROM meta")}


def _at(db: Database, moment: int) -> int:
    return _number(db.execute("SELECT at FROM moment WHERE id = ?", (moment,)))


def _added(db: Database, table: str, row: int) -> int:
    return _number(db.execute(f"SELECT added FROM {table} WHERE id >= ? ORDER BY id LIMIT 1", (row,)))


def _number(rows: Rows) -> int:
    match rows.fetchone():
        case (int(number),):
            return number
    raise DamageError("a moment or a fact has no number where it should have one")
