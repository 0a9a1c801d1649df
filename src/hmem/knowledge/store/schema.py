"""The tables of a knowledge base file, and how older files become newer ones.

Every write makes one row in `moment`: its time and its source. A fact points to the moment that added it and,
once it is removed, to the one that removed it. Rows are never deleted, so the file is its own history, and "the facts
as of moment m" are those with added <= m and no removal up to m.

    moment 1 --- "import" ---+--> fact (dog, hypernym, canine)
    moment 2 --- "me" -------+--> fact (wolf, hypernym, dog)   <--+
    moment 3 --- "me" --------------------------------------------+   removed

Entities and relations are numbered from 0, facts and moments from 1, all without gaps and in order of arrival.
"""

import sqlite3
from pathlib import Path

from hmem.errors import StoreError

APPLICATION_ID = int.from_bytes(b"hmem", "big")
VERSION = 1

# One index serves uniqueness, listing by head and the history: 0 stands for "not removed", so that a fact can be
# current only once, while its removed forms differ in the moment of removal.
TABLES = (
    "CREATE TABLE moment (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, source TEXT)",
    "CREATE TABLE entity (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE relation (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE fact (
        id INTEGER PRIMARY KEY,
        head INTEGER NOT NULL REFERENCES entity,
        relation INTEGER NOT NULL REFERENCES relation,
        tail INTEGER NOT NULL REFERENCES entity,
        added INTEGER NOT NULL REFERENCES moment,
        confidence REAL CHECK (confidence BETWEEN 0 AND 1),
        removed INTEGER REFERENCES moment CHECK (removed > added)
    )""",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)
INDEXES = {
    "fact_once": "CREATE UNIQUE INDEX fact_once ON fact (head, relation, tail, ifnull(removed, 0))",
    "fact_by_tail": "CREATE INDEX fact_by_tail ON fact (tail, relation)",
    "fact_removed": "CREATE INDEX fact_removed ON fact (removed) WHERE removed IS NOT NULL",
}

# MIGRATIONS[v] are the statements that make a file of schema v one of schema v + 1.
MIGRATIONS: dict[int, tuple[str, ...]] = {}


def install(connection: sqlite3.Connection) -> None:
    """Make an empty file a knowledge base, all at once. To be called before the write-ahead log is switched on."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in (*TABLES, *INDEXES.values()):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def version_of(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def refuse_other_files(connection: sqlite3.Connection, path: Path, read_only: bool) -> None:
    """A StoreError if the file is of another application or a later hmem; or of an earlier one, and only to be read."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise StoreError("{path} is not a knowledge base of hmem, but a file of something else", path=path)
    version = version_of(connection)
    if version > VERSION:
        problem, hint = f"this hmem knows up to {VERSION}", "upgrade hmem to use it"
    elif version < VERSION and read_only:
        problem, hint = f"this hmem works with {VERSION}", "open it once for writing to bring it up to date"
    else:
        return
    problem = f"{{path}} has schema {version}, {problem}"
    raise StoreError(problem, path=path, found=version, expected=str(VERSION), hint=hint)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file to the present schema, one version at a time, each in one transaction.

    Another process may be doing the same, so the version is looked up anew under the lock of each step.
    """
    while version_of(connection) < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _step(connection, path)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _step(connection: sqlite3.Connection, path: Path) -> None:
    version = version_of(connection)
    if version >= VERSION:
        return
    if version not in MIGRATIONS:
        raise StoreError(f"{{path}} has schema {version}, which this hmem cannot bring to {VERSION}", path=path)
    for statement in MIGRATIONS[version]:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version + 1}")
