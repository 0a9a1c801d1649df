"""The writes of a base, and how they are turned back: each by one write more, so that the history keeps what was.

Every function here is called inside one transaction.
"""

from dataclasses import dataclass

from hmem.errors import DataError
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.knowledge.store.database import ALL, KINDS, Database
from hmem.knowledge.store.read import last_moment, last_row
from hmem.knowledge.store.records import StoredWrite, to_time
from hmem.knowledge.store.write import Write

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
class Undone:
    """What undoing a write did: of facts, values and texts."""

    moment: int  # the last moment of the file if nothing changed
    removed: int  # that the write had brought
    restored: int  # that it had taken away
    left: int  # that a later write changed, which stay as they are


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
    _refuse_what_never_was(db, moment)
    last = last_moment(db)
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


def undo_since(write: Write, moment: int) -> Undone:
    """Let everything be as it was before a write: what came since goes, and what went comes again."""
    db = write.db
    _refuse_what_never_was(db, moment)
    removed = restored = 0
    for table, (columns, same) in TABLES.items():
        sure = set(same).difference(NULLABLE)  # those that an index finds
        came = f"{table} AS now WHERE now.id > {last_row(db, table, moment - 1)} AND now.removed IS NULL"
        gone = f"{table} AS old WHERE old.added < {moment} AND old.removed >= {moment}"
        alike = " AND ".join(
            f"now.{each} {'=' if each in sure else 'IS NOT DISTINCT FROM'} old.{each}" for each in columns.split(", ")
        )
        is_new = f"{came} AND NOT EXISTS (SELECT 1 FROM {gone} AND {alike})"
        is_over = f"{gone} AND NOT EXISTS (SELECT 1 FROM {came} AND {alike})"
        (now,) = db.execute(f"SELECT count(*) FROM {is_new}").fetchone()
        (back,) = db.execute(f"SELECT count(*) FROM {is_over}").fetchone()
        removed, restored = removed + now, restored + back
        if not now and not back:
            continue
        at = write.moment()
        db.execute(f"UPDATE {table} SET removed = {at} WHERE id IN (SELECT now.id FROM {is_new})")
        own = ", ".join(f"old.{each}" for each in columns.split(", "))
        db.execute(
            f"INSERT INTO {table} ({columns}, added)"
            f" SELECT {own}, {at} FROM {is_over} AND old.removed < {at} ORDER BY old.id"
        )
    return Undone(moment=write.last, removed=removed, restored=restored, left=0)


def _refuse_what_never_was(db: Database, moment: int) -> None:
    last = last_moment(db)
    if not 1 <= moment <= last:
        raise DataError(f"there was no write {moment}; the last one is {last}")


def _same(table: str, columns: tuple[str, ...]) -> str:
    """When a later row stands in the way of an old one: it says the same, or what only one may say."""
    alike = " AND ".join(
        f"now.{column} {'IS NOT DISTINCT FROM' if column in NULLABLE else '='} old.{column}" for column in columns
    )
    if not table.endswith("_text"):
        return alike
    thing, field, _ = columns
    return f"now.{thing} = old.{thing} AND now.{field} = old.{field} AND (now.text = old.text OR now.{ONE_TEXT})"
