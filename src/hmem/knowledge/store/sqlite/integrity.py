"""Whether a SQLite file is sound, down to its pages."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from hmem.knowledge.store import integrity, schema
from hmem.knowledge.store.database import KINDS, Statements
from hmem.knowledge.store.describe import FIELDS
from hmem.knowledge.store.records import to_microseconds
from hmem.knowledge.store.sqlite.schema import APPLICATION_ID, READING, version_of

MOST_LINES = 20  # of one kind; a badly damaged file has thousands
# What the columns of each table hold, as SQLite lets every column hold anything.
HOLDS: dict[str, dict[str, str]] = {
    **{kind: {"text": "name"} for kind in KINDS},
    "meta": {"text": "key value"},
    "moment": {"integer": "at", "text or null": "source"},
    "fact": {
        "integer": "head relation tail added",
        "integer or null": "removed valid_from valid_until",
        "real or null": "confidence probability",
        "text or null": "inferred_by",
    },
    "value": {
        "integer": "entity property added",
        "integer or null": "removed",
        "text": "text datatype",
        "text or null": "language unit",
        "real or null": "number",
    },
    **{
        f"{kind}_text": {
            "integer": f"{kind} added",
            "integer or null": "removed",
            "text": "field text",
            "text or null": "folded",
        }
        for kind in KINDS
    },
}
SOUND = {  # and what else must be true of a row
    "moment": f"at BETWEEN 0 AND {to_microseconds(datetime.max.replace(tzinfo=UTC))}",
    **{f"{kind}_text": f"field IN {FIELDS[kind]}" for kind in KINDS},
}


def _sound(table: str) -> str:
    """The condition that a row is as it can have been written."""
    held = [
        f"typeof({column}) IN ({', '.join(map(repr, kinds.split(' or ')))})"
        for kinds, columns in HOLDS[table].items()
        for column in columns.split()
    ]
    return " AND ".join([*held, SOUND.get(table, "true")])


TWICE = """
    SELECT count(*) FROM (SELECT 1 FROM main.fact NOT INDEXED WHERE removed IS NULL
    GROUP BY head, relation, tail HAVING count(*) > 1)
"""
COUNTED = {
    **integrity.COUNTED,
    "facts that are stored twice": TWICE,  # the table itself is read, not the index that should keep each once
    **{
        f"rows of {table} with values of a wrong kind": f"SELECT count(*) FROM {table} WHERE NOT ({_sound(table)})"
        for table in HOLDS
    },
}


def check(db: Statements) -> list[str]:
    """The problems found, one sentence each; none for a sound file."""
    problems: list[str] = []
    for question in (_pages, _identity, _indexes, _references, integrity.numbering, integrity.clock, _counts):
        try:
            problems += question(db)
        except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError, MemoryError) as error:  # damage hides the answer
            problems.append(f"could not look into {question.__name__.strip('_')}: {error}")
    return problems


def _pages(db: Statements) -> Iterator[str]:
    """SQLite's own examination of every page and of every index against its table."""
    for (line,) in db.execute(f"PRAGMA integrity_check({MOST_LINES})"):
        if line != "ok":
            yield f"damaged: {' '.join(line.split())}"  # the first has a heading on a line of its own


def _identity(db: Statements) -> Iterator[str]:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        yield f"the application id is {application}, not that of hmem ({APPLICATION_ID})"
    version = version_of(db)
    if version != schema.VERSION and version not in READING:  # an older one that is read as it is
        yield f"the schema is {version}, this hmem works with {schema.VERSION}"


def _indexes(db: Statements) -> Iterator[str]:
    present = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    version = version_of(db)
    expected = (name for since, brought in schema.INDEXES.items() if since <= version for name in brought)
    yield from (f"the index {name} is missing" for name in expected if name not in present)


def _references(db: Statements) -> Iterator[str]:
    for table, row, parent, _ in islice(db.execute("PRAGMA foreign_key_check"), MOST_LINES):
        yield f"{table} {row} points to nothing in the table {parent}"


def _counts(db: Statements) -> Iterator[str]:
    for problem, query in COUNTED.items():
        try:
            (found,) = db.execute(query).fetchone()
        except sqlite3.DatabaseError as error:  # damage hides the answer
            yield f"could not look for {problem}: {error}"
        else:
            if found:
                yield f"{problem}: {found:,}"
