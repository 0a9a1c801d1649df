"""Which schema a SQLite file has, and what is done about it."""

import sqlite3
from pathlib import Path

from hmem.errors import StoreError
from hmem.knowledge.store import schema
from hmem.knowledge.store.database import Statements
from hmem.knowledge.store.schema import NEW_COLUMNS, TEXT_TABLES, VALUE_TABLES

APPLICATION_ID = int.from_bytes(b"hmem", "big")

# What makes a file of an older schema look like one of the present to a connection that only reads it: temporary
# tables, which belong to the connection and not to the file.
READING: dict[int, tuple[str, ...]] = {
    1: (
        "CREATE TEMP VIEW fact AS SELECT *, "
        + ", ".join(f"NULL AS {column.split()[0]}" for column in NEW_COLUMNS)
        + " FROM main.fact",
        *(table.replace("CREATE TABLE", "CREATE TEMP TABLE") for table in TEXT_TABLES),
    ),
    2: tuple(table.replace("CREATE TABLE", "CREATE TEMP TABLE") for table in VALUE_TABLES),
}


def install(connection: sqlite3.Connection) -> None:
    """Make an empty file a knowledge base, all at once. To be called before the write-ahead log is switched on."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in schema.STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {schema.VERSION}")
    connection.execute("COMMIT")


def version_of(connection: Statements) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def refuse_other_files(connection: sqlite3.Connection, path: Path) -> None:
    """A StoreError if the file is of another application or a later hmem."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise StoreError("{path} is not a knowledge base of hmem, but a file of something else", path=path)
    schema.refuse_later(version_of(connection), path)


def read_as_present(connection: sqlite3.Connection, path: Path) -> None:
    """Let a connection that only reads see an older file as one of the present schema, with nothing in what is new."""
    version = version_of(connection)
    if version < schema.VERSION and version not in READING:
        raise schema.unread(version, path)
    for step in range(version, schema.VERSION):
        for statement in READING[step]:
            connection.execute(statement)


def step(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file from its schema to the next, in the transaction that is open."""
    version = version_of(connection)
    for statement in schema.migration(version, path):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version + 1}")
