"""Two entities made one, and writes undone: each one write like any other, so that the history keeps what was.

Every function here is called inside one writing transaction.
"""

from dataclasses import dataclass

from hmem.errors import DataError
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.values import Value
from hmem.knowledge.store.database import ALL, KINDS, Database
from hmem.knowledge.store.describe import Telling
from hmem.knowledge.store.read import last_moment, last_row
from hmem.knowledge.store.records import StoredWrite, to_time
from hmem.knowledge.store.texts import description
from hmem.knowledge.store.value_rows import present_values, set_slot
from hmem.knowledge.store.write import END_FACT, Write

SAID = ", ".join(QUALIFIERS)  # of a fact besides its names
# Of each table what a row says, and by which columns two rows say the same.
TABLES = {
    "fact": (f"head, relation, tail, {SAID}", ("head", "relation", "tail")),
    "value": (
        "entity, property, text, datatype, language, unit, number",
        ("entity", "property", "text", "datatype", "language", "unit"),
    ),
    **{f"{kind}_text": (f"{kind}, field, text, folded", (kind, "field", "text")) for kind in KINDS},
}
NULLABLE = ("language", "unit")
ONE_TEXT = "field <> 'alias'"  # of which a thing has one at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a merge did."""

    moment: int
    kept: str
    other: str
    moved: int  # facts of the other that are facts of the kept one now
    stored_before: int  # that the kept one had too
    dropped: int  # between the two
    values: int  # that the kept one did not have
    aliases: tuple[str, ...]  # that are new


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What undoing a write did: of facts, values and texts."""

    moment: int  # the last moment of the file if nothing changed
    removed: int  # that the write had brought
    restored: int  # that it had taken away
    left: int  # that a later write changed, which stay as they are


def merge(write: Write, kept: int, other: int) -> Merged:
    """Make `other` a name of `kept`, by their numbers."""
    db = write.db
    if kept == other:
        raise DataError(f'"{description(db, "entity", kept).id}" is one entity; a merge takes two')
    names = [description(db, "entity", number) for number in (kept, other)]
    moved, before, dropped = _move_facts(write, kept, other)
    values = _move_values(write, kept, other)
    telling, (mine, its) = Telling(write), names
    told = [its.label, *its.aliases, its.id]
    aliases = [text for text in dict.fromkeys(told) if text and text not in (mine.id, mine.label, *mine.aliases)]
    telling.set("entity", kept, "alias", aliases, keep=True)
    for field in ("kind", "description"):
        if getattr(mine, field) is None and (said := getattr(its, field)) is not None:
            telling.set("entity", kept, field, [said])
    for field in ("label", "alias", "kind", "description"):
        telling.set("entity", other, field, [])
    return Merged(
        moment=write.last,
        kept=mine.id,
        other=its.id,
        moved=moved,
        stored_before=before,
        dropped=dropped,
        values=values,
        aliases=tuple(aliases),
    )


def _move_facts(write: Write, kept: int, other: int) -> tuple[int, int, int]:
    """How many facts moved, how many were there before, and how many were between the two."""
    db, moved, before, dropped = write.db, 0, 0, 0
    rows = db.execute(
        "SELECT id, head, relation, tail FROM fact WHERE (head = ? OR tail = ?) AND removed IS NULL ORDER BY id",
        (other, other),
    ).fetchall()
    moment = write.moment()  # also of what has no facts: its names change
    db.executemany(END_FACT, ((moment, row) for row, *_ in rows))
    for row, head, relation, tail in rows:
        if {head, tail} == {kept, other}:
            dropped += 1
            continue
        fact = (kept if head == other else head, relation, kept if tail == other else tail)
        was = db.execute(
            """SELECT id, inferred_by IS NOT NULL AND (SELECT inferred_by FROM fact WHERE id = ?) IS NULL FROM fact
            WHERE head = ? AND relation = ? AND tail = ? AND removed IS NULL""",
            (row, *fact),
        ).fetchone()
        if was is not None and not was[1]:
            before += 1
            continue
        if was is not None:  # what was asserted takes the place of what a model concluded
            db.execute(END_FACT, (moment, was[0]))
        db.execute(
            f"INSERT INTO fact (head, relation, tail, added, {SAID}) SELECT ?, ?, ?, ?, {SAID} FROM fact WHERE id = ?",
            (*fact, moment, row),
        )
        moved += 1
    return moved, before, dropped


def _move_values(write: Write, kept: int, other: int) -> int:
    """How many values are new to the kept entity."""
    by = write.db.execute("SELECT DISTINCT property FROM value WHERE entity = ? AND removed IS NULL", (other,))
    new = 0
    for (each,) in by.fetchall():
        said: dict[Value, int] = present_values(write.db, (other, each))
        new += set_slot(write, (kept, each), list(said), present_values(write.db, (kept, each)), keep=True)[1]
        set_slot(write, (other, each), [], said, keep=False)
    return new


def writes(db: Database, limit: int | None) -> list[StoredWrite]:
    """The writes, the latest first."""
    rows = db.execute(
        "SELECT id, at, source FROM moment ORDER BY id DESC LIMIT ?", (ALL if limit is None else limit,)
    ).fetchall()
    return [_counted(db, number, at, source) for number, at, source in rows]


def _counted(db: Database, moment: int, at: int, source: str | None) -> StoredWrite:
    came = {table: last_row(db, table, moment) - last_row(db, table, moment - 1) for table in TABLES}
    gone = {
        table: int(db.execute(f"SELECT count(*) FROM {table} WHERE removed = ?", (moment,)).fetchone()[0])
        for table in TABLES
    }
    said = sum(came[table] + gone[table] for table in TABLES if table != "fact")
    return StoredWrite(
        moment=moment, at=to_time(at), source=source, added=came["fact"], removed=gone["fact"], said=said
    )


def undo(write: Write, moment: int) -> Undone:
    """Take back what a write brought, and bring back what it took away, where no later write has changed it."""
    db = write.db
    last = last_moment(db)
    if not 1 <= moment <= last:
        raise DataError(f"there was no write {moment}; the last one is {last}")
    removed = restored = left = 0
    for table, (columns, same) in TABLES.items():
        first, end = last_row(db, table, moment - 1), last_row(db, table, moment)
        brought = f"FROM {table} WHERE id > {first} AND id <= {end}"
        gone = f"FROM {table} AS old WHERE removed = {moment}"
        is_later = f"(added > {moment} OR added = {moment} AND removed <= {last})"  # or what took its place ended since
        since = f"EXISTS (SELECT 1 FROM {table} AS now WHERE {is_later} AND {_same(table, same)})"
        (now,) = db.execute(f"SELECT count(*) {brought} AND removed IS NULL").fetchone()
        (all_brought,) = db.execute(f"SELECT count(*) {brought}").fetchone()
        (all_gone,) = db.execute(f"SELECT count(*) {gone}").fetchone()
        (back,) = db.execute(f"SELECT count(*) {gone} AND NOT {since}").fetchone()
        removed, restored, left = removed + now, restored + back, left + all_brought - now + all_gone - back
        if not now and not back:
            continue
        at = write.moment()
        db.execute(f"UPDATE {table} SET removed = {at} WHERE id > {first} AND id <= {end} AND removed IS NULL")
        db.execute(f"INSERT INTO {table} ({columns}, added) SELECT {columns}, {at} {gone} AND NOT {since} ORDER BY id")
    return Undone(moment=write.last, removed=removed, restored=restored, left=left)


def _same(table: str, columns: tuple[str, ...]) -> str:
    """When a later row stands in the way of an old one: it says the same, or what only one may say."""
    alike = " AND ".join(
        f"now.{column} {'IS NOT DISTINCT FROM' if column in NULLABLE else '='} old.{column}" for column in columns
    )
    if not table.endswith("_text"):
        return alike
    thing, field, _ = columns
    return f"now.{thing} = old.{thing} AND now.{field} = old.{field} AND (now.text = old.text OR now.{ONE_TEXT})"
