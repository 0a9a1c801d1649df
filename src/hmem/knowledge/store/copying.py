"""All rows of one base into another, of any engine: the same numbers, moments, sources, removed facts and notes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hmem.errors import StoreError
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.knowledge.store.database import KINDS, Connection, Database

ROWS_AT_ONCE = 50_000
_OF_TEXT = ("field", "text", "folded", "added", "removed")
# In an order in which each refers to those before it; the first column is the key.
TABLES: dict[str, tuple[str, ...]] = {
    "moment": ("id", "at", "source"),
    **dict.fromkeys(KINDS, ("id", "name")),
    "fact": ("id", "head", "relation", "tail", "added", "removed", *QUALIFIERS),
    "value": ("id", "entity", "property", "text", "datatype", "language", "unit", "number", "added", "removed"),
    **{f"{kind}_text": ("id", kind, *_OF_TEXT) for kind in KINDS},
    "meta": ("key", "value"),
}
WRONG = "the rows of {} are not those that they were copied from, so nothing was copied"
Rows = list[tuple[Any, ...]]
Watch = Callable[[str, int, int], object]  # what is done, how many rows are, and of how many


def copy_rows(source: Connection, target: Connection, watch: Watch = lambda what, done, total: None) -> dict[str, int]:
    """Copy all rows into a base that has none, as one write, and read them again; how many there are in each table.

    Those of the source are of one moment, whatever is written there meanwhile.
    """
    with source.reading() as old, target.writing(trusted=True) as new:
        counts = {table: int(old.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in TABLES}
        for what, work in (("copying", _copy), ("comparing", _compare)):
            for table, columns in TABLES.items():
                done = 0
                for rows in _pages(old, table, columns):
                    work(new, table, columns, rows)
                    done += len(rows)
                    watch(f"{what} {table}", done, counts[table])
        for table, count in counts.items():
            if int(new.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) != count:
                raise StoreError(WRONG.format(table), path=target.path)
    return counts


def _copy(new: Database, table: str, columns: Sequence[str], rows: Rows) -> None:
    new.load(table, columns, rows)


def _compare(new: Database, table: str, columns: Sequence[str], rows: Rows) -> None:
    key = columns[0]
    asked = f"SELECT {', '.join(columns)} FROM {table} WHERE {key} >= ? AND {key} <= ? ORDER BY {key}"
    if new.execute(asked, (rows[0][0], rows[-1][0])).fetchall() != rows:
        raise StoreError(WRONG.format(table))


def _pages(db: Database, table: str, columns: Sequence[str]) -> Iterator[Rows]:
    """The rows of a table in the order of their key."""
    key, after = columns[0], None
    while True:
        where = "" if after is None else f"WHERE {key} > ?"
        asked = f"SELECT {', '.join(columns)} FROM {table} {where} ORDER BY {key} LIMIT ?"
        rows: Rows = db.execute(asked, (*(() if after is None else (after,)), ROWS_AT_ONCE)).fetchall()
        if rows:
            yield rows
        if len(rows) < ROWS_AT_ONCE:
            return
        after = rows[-1][0]
