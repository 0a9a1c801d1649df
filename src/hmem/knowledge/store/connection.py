"""One SQLite file, opened safely: whole transactions, clear errors, any number of threads and processes."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hmem.errors import StoreError
from hmem.knowledge.store.errors import explained, refuse_what_is_no_store
from hmem.knowledge.store.schema import migrate, refuse_older, refuse_strangers

BUSY_SECONDS = 10.0  # how long a write waits for that of another process
CACHE_MIB = 64
SETTINGS = (
    "PRAGMA synchronous = FULL",  # what has been acknowledged survives a power cut
    f"PRAGMA cache_size = -{CACHE_MIB << 10}",
    "PRAGMA cell_size_check = ON",  # notice damaged pages early
    "PRAGMA trusted_schema = OFF",
)


class Connection:
    """The way to the file: `reading` and `writing` each give one transaction, seen whole by others or not at all.

    Readers are never blocked, and see the file as it was when their transaction began. Threads of one process take
    turns. A connection does not survive a fork: a child process opens its own.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, *, read_only: bool, is_frozen: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.is_frozen = is_frozen  # what others write is not seen
        self._connection: sqlite3.Connection | None = connection
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._identity = _identity(path)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> "Connection":
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
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Several reads that see the same moment. Inside a write of this thread, they see what it has done so far."""
        with self._lock:
            if self._open().in_transaction:
                with translated(self.path):
                    yield self._open()
            else:
                with self._transaction("BEGIN") as connection:
                    yield connection

    @contextmanager
    def writing(self, *, trusted: bool = False) -> Iterator[sqlite3.Connection]:
        """One write, waiting for that of another process to end. An exception inside undoes all of it.

        A trusted write vouches for its references itself, which saves SQLite four look-ups per fact.
        """
        self._refuse_if_read_only()
        with self._lock:
            if self._open().in_transaction:
                raise StoreError(f"{self.path} is being written by this very thread; let it finish first")
            with self.outside() as connection:
                connection.execute(f"PRAGMA foreign_keys = {not trusted:d}")
            with self._transaction("BEGIN IMMEDIATE") as connection:
                yield connection

    def rewrite(self) -> None:
        """Fold the write-ahead log into the file, and leave out what is unused."""
        self._refuse_if_read_only()
        with self.outside() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    @contextmanager
    def outside(self) -> Iterator[sqlite3.Connection]:
        """For the few statements that stand in no transaction."""
        with self._lock, translated(self.path):
            yield self._open()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
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

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            raise StoreError(f"{self.path} was opened to be read only; open it without read_only=True to change it")

    def _open(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            raise StoreError(f"{self.path} was opened by the parent process; open it anew in this one")
        if self._connection is None:
            raise StoreError(f"{self.path} is closed; open it again")
        if _identity(self.path) != self._identity:
            raise StoreError("{path} was removed or replaced while it was open; open it anew", path=self.path)
        return self._connection


@contextmanager
def translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path, BUSY_SECONDS) from error


def connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,  # transactions are begun and ended here, in plain sight
        check_same_thread=False,  # the lock above sees to it
    )


def _connect_to_read(path: Path) -> tuple[sqlite3.Connection, bool]:
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
        if error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and not _size(log):
            return connect(path, "ro&immutable=1"), True
        raise
    except BaseException:
        connection.close()
        raise
    return connection, False


def _prepare(connection: sqlite3.Connection, path: Path, read_only: bool) -> None:
    for setting in SETTINGS:
        connection.execute(setting)
    refuse_strangers(connection, str(path))
    _refuse_half_a_page(connection, path)
    if read_only:
        refuse_older(connection, str(path))
    else:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreError(f"{path} lies where SQLite cannot keep a write-ahead log; move it to a local disk")
        migrate(connection, str(path))
    connection.execute("SELECT max(id) FROM moment").fetchone()  # what is badly damaged is best told at once


def _refuse_half_a_page(connection: sqlite3.Connection, path: Path) -> None:
    """SQLite reads a page that was cut off as if zeros followed; that is right only if the whole one is in the log."""
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if _size(path) % page_size and not _size(path.with_name(path.name + "-wal")):
        raise StoreError(f"{path} is damaged: it was cut off in the middle of a page; go back to a copy of it")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name; None if there is none. What is written to another one would be lost."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
