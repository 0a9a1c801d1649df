"""The tables of a knowledge base in the words of PostgreSQL, in a schema of their own.

They are those of `hmem.knowledge.store.schema`. Rows are numbered without gaps, as in SQLite: a new row takes the
highest number of its table and one, which is right because writes take turns. Names and texts are compared by their
bytes, and those that may be longer than what a B-tree can hold are found by their hash. What refers to what is kept
right by the writes, as in a trusted write to SQLite, and looked at by `check`: a look-up for each reference of each row
would take longer than all the rest of an import.
"""

import re
from collections.abc import Iterator

from hmem.errors import Place
from hmem.knowledge.store import schema
from hmem.knowledge.store.database import Statements

WORDS = (
    (re.compile(r"\bat INTEGER"), "at BIGINT"),
    (re.compile(r" REFERENCES \w+"), ""),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bname TEXT NOT NULL UNIQUE"), 'name TEXT COLLATE "C" NOT NULL, EXCLUDE USING hash (name WITH =)'),
    (re.compile(r"\bTEXT\b(?! COLLATE)"), 'TEXT COLLATE "C"'),
    (re.compile(r" WITHOUT ROWID"), ""),
    (re.compile(r"\bifnull\("), "coalesce("),
    (re.compile(r", field, text, "), ", field, md5(text), "),  # of an index
    (re.compile(r"_text \(folded\)"), "_text USING hash (folded)"),
    (re.compile(r"fact \(inferred_by\)"), "fact (id)"),
)
NUMBERED_FROM_1 = re.compile(r"CREATE TABLE (fact|value|\w+_text) \(")
BASE = "CREATE TABLE base (version INTEGER NOT NULL)"
LOCK = int.from_bytes(b"hmem", "big") << 32  # with the number of a base's own table, what its writes lock


def in_words_of_postgres(statement: str) -> Iterator[str]:
    """A statement that makes a table or an index, and what else it takes."""
    for word, other in WORDS:
        statement = word.sub(other, statement)
    yield statement
    if found := NUMBERED_FROM_1.match(statement):
        table = found[1]
        yield f"""CREATE FUNCTION next_{table}() RETURNS INTEGER LANGUAGE SQL
            BEGIN ATOMIC SELECT coalesce(max(id), 0) + 1 FROM {table}; END"""
        yield f"ALTER TABLE {table} ALTER id SET DEFAULT next_{table}()"


def install(db: Statements) -> None:
    """Make the tables of an empty base, in the transaction that is open."""
    for statement in schema.STATEMENTS:
        for each in in_words_of_postgres(statement):
            db.execute(each)
    db.execute(BASE)
    db.execute("INSERT INTO base (version) VALUES (?)", (schema.VERSION,))


def version_of(db: Statements) -> int:
    (version,) = db.execute("SELECT version FROM base").fetchone()
    return int(version)


def step(db: Statements, place: Place) -> None:
    """Bring a base from its schema to the next, in the transaction that is open."""
    version = version_of(db)
    for statement in schema.migration(version, place):
        for each in in_words_of_postgres(statement):
            db.execute(each)
    db.execute("UPDATE base SET version = ?", (version + 1,))
