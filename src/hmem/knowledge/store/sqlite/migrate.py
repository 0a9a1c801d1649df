"""Files of an older hmem brought to the present schema, one version at a time, each in one transaction.

While a step is taken, `zoo.kb.schema1` beside `zoo.kb` is a copy of the file as it was. It goes away when the step has
succeeded, and stays if it has not, or if the process was killed meanwhile.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hmem import sqlite_files
from hmem.knowledge.store import schema
from hmem.knowledge.store.sqlite.schema import step, version_of

Connect = Callable[[Path, str], sqlite3.Connection]


def migrate(connection: sqlite3.Connection, path: Path, connect: Connect) -> None:
    """Bring a file to the present schema.

    Another process may be doing the same, so the version is looked up anew under the lock of each step.
    """
    while version_of(connection) < schema.VERSION:
        connection.execute("BEGIN IMMEDIATE")
        copy = None
        try:
            version = version_of(connection)
            if version < schema.VERSION:
                # SQLite remembers the tables as they were when this connection last looked at them, and ALTER TABLE
                # trusts that. A look at them notices what another process has changed since.
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
                copy = _copy(path, version, connect)
                step(connection, path)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if copy is not None:
            copy.unlink(missing_ok=True)


def _copy(path: Path, version: int, connect: Connect) -> Path:
    """A copy of the file as it was before this write, which may not have changed anything yet."""
    copy = path.with_name(f"{path.name}.schema{version}")
    copy.unlink(missing_ok=True)  # left by a process that was killed: who has the lock is alone
    sqlite_files.create_empty(copy)
    try:
        with closing(connect(path, "ro")) as before, closing(connect(copy, "rw")) as after:
            before.backup(after)
    except BaseException:
        copy.unlink(missing_ok=True)
        raise
    return copy
