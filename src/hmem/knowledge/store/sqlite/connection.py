"""One SQLite file, opened safely: whole transactions, clear errors, any number of threads and processes.

Two locks, taken in this order where both are held: that of a connection, for whole transactions, and that of
`hmem.sqlite_files`, for an instant. The rest of the store has none. Callers with a lock of their own take it first.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hmem import sqlite_files
from hmem.errors import Place, StoreError
from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import Triples, as_triples
from hmem.knowledge.store import errors
from hmem.knowledge.store.database import Connection, Database, Kind, Progress
from hmem.knowledge.store.read import find_id, last_moment
from hmem.knowledge.store.sqlite import integrity
from hmem.knowledge.store.sqlite.errors import explained, refuse_what_is_no_store
from hmem.knowledge.store.sqlite.loading import insert_facts
from hmem.knowledge.store.sqlite.migrate import migrate
from hmem.knowledge.store.sqlite.schema import read_as_present, refuse_other_files

CACHE_MIB = 64
ROWS_AT_ONCE = 1 << 16
SETTINGS = (
    "PRAGMA synchronous = FULL",  # what has been acknowledged survives a power cut
    f"PRAGMA cache_size = -{CACHE_MIB << 10}",
    "PRAGMA cell_size_check = ON",  # notice damaged pages early
    "PRAGMA trusted_schema = OFF",
)


class SqliteConnection(Connection):
    """A file, opened. Other connections read while this one writes, and see it as it was when they began."""

    path: Path

    def __init__(self, path: Path, connection: "RegisteredConnection", *, read_only: bool, is_frozen: bool) -> None:
        super().__init__(path, read_only=read_only, is_frozen=is_frozen)
        self._connection: RegisteredConnection | None = connection
        self._file = connection.registration.file
        self._shared = self._shared_memory()
        self._writes = 0  # of this connection, which SQLite does not count

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> "SqliteConnection":
        refuse_what_is_no_store(path)
        with translated(path):
            connection, is_frozen = _connect_to_read(path) if read_only else (connect(path, "rw"), False)
            try:
                _prepare(connection, path, read_only)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, read_only=read_only, is_frozen=is_frozen)

    def close(self) -> None:
        """Let go of the file; the last process to do so folds the write-ahead log into it."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def reading(self) -> Iterator[Database]:
        with self._lock:
            if self._open().in_transaction:
                with translated(self.path):
                    yield self._open()
            else:
                with self._transaction("BEGIN") as connection:
                    yield connection

    @contextmanager
    def writing(self, *, trusted: bool = False) -> Iterator[Database]:
        """A trusted write saves SQLite four look-ups per fact."""
        self._refuse_if_read_only()
        with self._lock:
            if self._open().in_transaction:
                raise self._nested()
            with self.outside() as connection:
                connection.execute(f"PRAGMA foreign_keys = {not trusted:d}")
            with self._transaction("BEGIN IMMEDIATE") as connection:
                yield connection
            self._writes += 1
            self._open()  # and what was written is where others look for it

    def moment(self) -> int:
        return self.read(last_moment)

    def version(self) -> int:
        """It may change without a write too, where the file can be read only and its log was left behind."""
        with self.outside() as connection:
            return (self._writes << 32) + int(connection.execute("PRAGMA data_version").fetchone()[0])

    def size(self) -> int:
        return size_of(self.path) + size_of(self.path.with_name(self.path.name + "-wal"))

    def check(self) -> list[str]:
        with self.outside() as connection:  # a transaction could not even be ended in a file badly damaged
            return integrity.check(connection)

    def compact(self) -> None:
        """Fold the write-ahead log into the file, and leave out what is unused."""
        self._refuse_if_read_only()
        with self.outside() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def is_at(self, place: Place) -> bool:
        return isinstance(place, Path) and sqlite_files.file_id(place) == self._file

    @contextmanager
    def outside(self) -> Iterator["RegisteredConnection"]:
        """For the few statements that stand in no transaction."""
        with self._lock, translated(self.path):
            yield self._open()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator["RegisteredConnection"]:
        connection = self._open()
        with translated(self.path):
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk, for one, has undone it already
                    connection.execute("ROLLBACK")
                raise

    def _open(self) -> "RegisteredConnection":
        if self._process != os.getpid():
            raise errors.forked(self.path)
        if self._connection is None:
            raise errors.closed(self.path)
        if sqlite_files.file_id(self.path) != self._file:
            raise _moved(self.path)
        if self._shared_memory() != self._shared:
            problem = "{path}-shm, by which its users know of each other, was removed while {path} was open"
            hint = "what was written last may be missing: end all processes that use it, and see hmem kb check"
            raise StoreError(problem, path=self.path, hint=hint)
        return self._connection

    def _shared_memory(self) -> sqlite_files.FileId | None:
        """Which file the processes that have this one open share; it stays the same as long as any of them has."""
        return None if self.is_frozen else sqlite_files.file_id(self.path.with_name(self.path.name + "-shm"))


@contextmanager
def translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path) from error
    except (errors.DamageError, UnicodeDecodeError) as error:  # Python's module cannot read the complaint about a name
        raise errors.damaged(path, error) from error


class RegisteredConnection(sqlite3.Connection):
    """A connection whose file is on the list of `hmem.sqlite_files` until the connection is closed or forgotten."""

    registration: sqlite_files.Registration

    def close(self) -> None:
        super().close()
        sqlite_files.release(self.registration)

    def triples(self, sql: str, values: Sequence[int] = ()) -> Triples:
        """In pieces, since a million rows of Python integers take a hundred times the memory of their array."""
        rows, pieces = self.execute(sql, values), []
        while some := rows.fetchmany(ROWS_AT_ONCE):
            try:
                flat = np.fromiter(chain.from_iterable(some), dtype=np.int32, count=3 * len(some))
            except (TypeError, ValueError, OverflowError):
                raise errors.DamageError("a fact has something else than numbers in its row") from None
            pieces.append(flat.reshape(-1, 3))
        return np.concatenate(pieces) if pieces else as_triples([])

    def find_ids(self, kind: Kind, names: Sequence[str]) -> list[int | None]:
        return [find_id(self, kind, name) for name in names]

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        marks = ", ".join("?" * len(columns))
        self.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    def insert_facts(
        self, facts: Triples, qualifiers: Qualifiers, source: str | None, progress: Progress | None
    ) -> tuple[Triples, int]:
        return insert_facts(self, facts, qualifiers, source, progress)


def connect(path: Path, mode: str) -> RegisteredConnection:
    """A connection to an existing file: the only way in which this package opens one with SQLite."""
    while True:
        registration = sqlite_files.register(path)
        try:
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=errors.BUSY_SECONDS,
                isolation_level=None,  # transactions are begun and ended here, in plain sight
                check_same_thread=False,  # the lock of SqliteConnection sees to it
                factory=RegisteredConnection,
            )
        except BaseException:
            sqlite_files.release(registration)
            raise
        connection.registration = registration
        if sqlite_files.file_id(path) == registration.file:
            return connection
        connection.close()  # another file took its place meanwhile, and SQLite may have opened either


def _connect_to_read(path: Path) -> tuple[RegisteredConnection, bool]:
    """A connection that cannot write, even where the folder cannot be written either; and whether it is frozen.

    SQLite needs a file beside a base in use. In a folder that does not allow it, and with no log left behind by a
    writer, the base is read as one that does not change while it is open.
    """
    connection = connect(path, "ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        log = path.with_name(path.name + "-wal")
        if error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and not size_of(log):
            return connect(path, "ro&immutable=1"), True
        raise
    except BaseException:
        connection.close()
        raise
    return connection, False


def _moved(path: Path) -> StoreError:
    """What is written to a file without a name is lost, and its log would be taken for that of the file now there."""
    return StoreError("{path} was removed or replaced while it was open; open it anew", path=path)


def _prepare(connection: RegisteredConnection, path: Path, read_only: bool) -> None:
    for setting in SETTINGS:
        connection.execute(setting)
    refuse_other_files(connection, path)  # which waits for a process that is replacing the file
    if sqlite_files.file_id(path) != connection.registration.file:
        raise _moved(path)
    _refuse_half_a_page(connection, path)
    if read_only:
        read_as_present(connection, path)
    else:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            problem = "{path} lies where SQLite cannot keep a write-ahead log"
            raise StoreError(problem, path=path, hint="move it to a local disk")
        migrate(connection, path, connect)
    connection.execute("SELECT max(id) FROM moment").fetchone()  # bad damage is reported now, not at the first use


def _refuse_half_a_page(connection: sqlite3.Connection, path: Path) -> None:
    """SQLite reads a page that was cut off as if zeros followed; that is right only if the whole one is in the log."""
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if size_of(path) % page_size and not size_of(path.with_name(path.name + "-wal")):
        problem = "{path} is damaged: it was cut off in the middle of a page"
        raise StoreError(problem, path=path, hint="go back to a copy of it")


def size_of(path: Path) -> int:
    """The bytes of a file; none if it does not exist, or no longer."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
