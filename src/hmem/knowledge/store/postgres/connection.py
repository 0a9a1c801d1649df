"""A base in PostgreSQL, opened: whole transactions, clear errors, and a new connection where one was lost.

Reads are transactions that see one moment. Writes take turns by an advisory lock of their base, so that rows are
numbered as they come. A connection belongs to one store, whose threads take turns; it has one lock, as in SQLite.

A read whose connection is lost is done again. So is a write that cannot have been carried out. One whose connection
was lost while it was committed may have been, and that is found out: every write that changes something makes a moment,
which is looked for under the lock of the next attempt, for which the lost one has to have ended. Another write may have
made one of that number since, and of that time too where clocks are behind, but not in that transaction.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from hmem.errors import Place, StoreError
from hmem.knowledge.store import errors
from hmem.knowledge.store.database import Connection, Database
from hmem.knowledge.store.places import Address
from hmem.knowledge.store.postgres import integrity as own_integrity
from hmem.knowledge.store.postgres.database import PostgresDatabase
from hmem.knowledge.store.postgres.errors import LostError, PreparedError, explained, import_psycopg
from hmem.knowledge.store.postgres.listening import listen
from hmem.knowledge.store.postgres.migrate import migrate, own_table
from hmem.knowledge.store.postgres.schema import LOCK
from hmem.knowledge.store.postgres.server import Server

if TYPE_CHECKING:
    import psycopg

ATTEMPTS = 3  # at what a lost connection has ended
Mark = tuple[int, int, str]  # the number of a moment, its time, and the number of the transaction that made it
P = ParamSpec("P")
T = TypeVar("T")


class PostgresConnection(Connection):
    path: Address

    def __init__(self, server: Server, table: int, *, read_only: bool) -> None:
        """By the number of the base's own table, which tells it from one that takes its place."""
        super().__init__(server.address, read_only=read_only)
        self._server = server
        self._table = table
        self._raw: psycopg.Connection[Any] | None = None
        self._database: PostgresDatabase | None = None  # while a transaction is open
        self._holds = False  # a transaction around all others
        self._is_closed = False
        self._seen: tuple[Any, ...] | None = None
        self._version = 0

    @classmethod
    def open(cls, address: Address, *, read_only: bool = False) -> "PostgresConnection":
        server = Server(address)
        with translated(address), server.connected() as raw:
            table = own_table(raw, address)
            migrate(raw, address, table, read_only=read_only)
        return cls(server, table, read_only=read_only)

    def close(self) -> None:
        with self._lock:
            if self._raw is not None and self._process == os.getpid() and not self._holds:
                self._raw.close()
            self._raw, self._is_closed = None, True

    # Whole functions, which are tried again

    def read(self, function: Callable[Concatenate[Database, P], T], /, *given: P.args, **named: P.kwargs) -> T:
        return self._tried(partial(super().read, function, *given, **named))

    def write(self, function: Callable[Concatenate[Database, P], T], /, *given: P.args, **named: P.kwargs) -> T:
        doubtful: Mark | None = None
        results: list[T] = []
        for left in reversed(range(ATTEMPTS)):
            try:
                with self.writing() as db:
                    if doubtful is not None and _is_there(db, doubtful):
                        return results[-1]
                    doubtful = None
                    results.append(function(db, *given, **named))
                return results[-1]
            except LostError as error:
                if self._database is not None:
                    raise
                doubtful = error.mark or doubtful
                if not left:
                    raise (error if doubtful is None else self._unknown(doubtful, error)) from None
            except StoreError as error:
                if doubtful is None:
                    raise
                raise self._unknown(doubtful, error) from error
        raise AssertionError

    load = write

    # Transactions

    @contextmanager
    def reading(self) -> Iterator[Database]:
        with self._lock:
            if self._database is not None:
                with self._translated():
                    yield self._database
                return
            with self._translated():
                raw, _ = self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                with self._transaction(raw) as database:
                    yield database
                    raw.execute("COMMIT")

    @contextmanager
    def writing(self, *, trusted: bool = False) -> Iterator[Database]:
        self._refuse_if_read_only()
        with self._lock:
            if self._holds:
                with self._step() as database:
                    yield database
                return
            if self._database is not None:
                raise self._nested()
            with self._translated():
                wait = f"SET LOCAL lock_timeout = {round(errors.BUSY_SECONDS * 1000)}"
                lock = f"SELECT pg_advisory_xact_lock({LOCK + self._table})"
                begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
                raw, before = self._begin(begin, wait, *self._server.durable, lock)
                with self._transaction(raw) as database:
                    yield database
                    mark = _mark(database, self._table, before)
                    try:
                        raw.execute("COMMIT")
                    except self._server.psycopg.Error as error:
                        told = explained(error, self.path)
                        if raw.closed:
                            raise LostError(told.problem, path=self.path, hint=told.hint, mark=mark) from error
                        raise

    @contextmanager
    def holding(self, raw: "psycopg.Connection[Any]") -> Iterator[None]:
        """Let all reads and writes of the block be steps of a transaction that is open already."""
        self._raw, self._holds = raw, True
        self._database = PostgresDatabase(raw)
        try:
            yield
        finally:
            self._database = None
            self.close()

    def _begin(self, begin: str, *statements: str) -> "tuple[psycopg.Connection[Any], int]":
        """A transaction begun in the base's schema, on a new connection if need be; and the last moment."""
        own = "SELECT tableoid::bigint, (SELECT coalesce(max(id), 0) FROM moment) FROM base"
        for is_new in (False, True):
            raw = self._open()
            try:
                found = raw.execute("; ".join([begin, self._server.path, *statements, own]), prepare=False)
                while found.nextset():
                    pass
                table, last = found.fetchone()  # type: ignore[misc]
                if table != self._table:
                    raw.execute("ROLLBACK")
                    raise self._replaced()
                return raw, last
            except self._server.psycopg.Error:
                if not raw.closed:  # the transaction has begun, and the rest of it failed
                    raw.execute("ROLLBACK")
                if is_new or not raw.closed:
                    raise
        raise AssertionError

    @contextmanager
    def _transaction(self, raw: "psycopg.Connection[Any]") -> Iterator[PostgresDatabase]:
        self._database = PostgresDatabase(raw)
        try:
            yield self._database
        except BaseException:
            if not raw.closed:
                raw.execute("ROLLBACK")
            raise
        finally:
            self._database = None

    @contextmanager
    def _step(self) -> Iterator[PostgresDatabase]:
        """A part of the transaction that is held, undone as a whole if it fails."""
        assert self._database is not None
        with self._translated():
            self._database.execute("SAVEPOINT step")
            try:
                yield self._database
            except BaseException:
                if self._raw is not None and not self._raw.closed:
                    self._database.execute("ROLLBACK TO step")
                raise
            self._database.execute("RELEASE step")

    def _open(self) -> "psycopg.Connection[Any]":
        if self._process != os.getpid():
            raise errors.forked(self.path)
        if self._is_closed:
            raise errors.closed(self.path)
        if self._raw is None or self._raw.closed:
            raw = self._server.connect_patiently() if self._raw is not None else self._server.connect()
            if own_table(raw, self.path) != self._table:
                raw.close()
                raise self._replaced()
            self._raw = raw
        return self._raw

    def _replaced(self) -> StoreError:
        return StoreError("{path} was replaced while it was open; open it anew", path=self.path)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with translated(self.path):
                yield
        except StoreError as error:
            raw = self._raw
            if isinstance(error, PreparedError):
                self._server.prepares = False
                if raw is not None:
                    raw.close()
            if isinstance(error, LostError) or raw is None or not raw.closed:
                raise
            raise LostError(error.problem, path=self.path, hint=error.hint) from error

    def _unknown(self, doubtful: Mark, error: StoreError) -> StoreError:
        """The error of a write of which nobody can tell whether it was carried out."""
        why = error.problem.replace("{path}", "it")
        problem = f"the connection to {{path}} was lost while write {doubtful[0]} was committed, and since then {why}"
        hint = "whether it was carried out is not known; see the list of writes before you do it again"
        return StoreError(problem, path=self.path, hint=hint)

    # What is asked without a transaction

    def moment(self) -> int:
        return int(self._look("coalesce(max(id), 0)")[0])

    def version(self) -> int:
        """Counted up when the last moment or a note is another than at the last look."""
        notes = f"SELECT md5(string_agg(key || '=' || value, ';' ORDER BY key)) FROM {self._server.schema}.meta"
        seen = self._look(f"coalesce(max(id), 0), ({notes})")
        with self._lock:
            if seen != self._seen:
                self._seen, self._version = seen, self._version + 1
            return self._version

    def _look(self, what: str) -> tuple[Any, ...]:
        """Something of all moments, if they are those of this base."""
        own = f"SELECT tableoid::bigint FROM {self._server.schema}.base"
        *found, table = self._ask(f"SELECT {what}, ({own}) FROM {self._server.schema}.moment")
        if table != self._table:
            raise self._replaced()
        return tuple(found)

    def size(self) -> int:
        within = "(SELECT oid FROM pg_namespace WHERE nspname = %s)"
        tables = f"SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = {within}"
        total = f"SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM ({tables}) AS own"
        return int(self._ask(total, (self.path.schema,))[0])

    def check(self) -> list[str]:
        with self._lock, self._translated():
            self._open()
        return own_integrity.check(self)

    def compact(self) -> None:
        """Rewrite the tables; who reads or writes meanwhile waits."""
        self._refuse_if_read_only()
        with self._lock, self._translated():
            for table in own_integrity.TABLES:
                self._open().execute(f"VACUUM (FULL, ANALYZE) {self._server.schema}.{table}")

    def is_at(self, place: Place) -> bool:
        return isinstance(place, Address) and str(place) == str(self.path)

    def when_written(self, tell: Callable[[], object]) -> Callable[[], None]:
        return listen(self._server, str(self._table), tell)

    def _ask(self, sql: str, values: tuple[str, ...] | None = None) -> tuple[Any, ...]:
        """The one row that a statement finds, which is a transaction of its own, or part of the one that is open."""

        def asked() -> tuple[Any, ...]:
            with self._lock, self._translated():
                row: tuple[Any, ...] | None = self._open().execute(sql, values).fetchone()
                assert row is not None
                return row

        return self._tried(asked)

    def _tried(self, read: Callable[[], T]) -> T:
        """What is read; again where the connection was lost, but for a transaction that it takes with it."""
        for _ in range(ATTEMPTS - 1):
            try:
                return read()
            except LostError:
                if self._database is not None:
                    raise
        return read()


@contextmanager
def translated(address: Address) -> Iterator[None]:
    try:
        yield
    except errors.DamageError as error:
        raise errors.damaged(address, error) from error
    except import_psycopg().Error as error:
        raise explained(error, address) from error


def _mark(db: Database, table: int, before: int) -> Mark | None:
    """The moment that this write has made, if it has made one; and whoever listens is told when it is committed."""
    told = f"(SELECT pg_notify('hmem', '{table}')) AS told"
    last = f"SELECT id, at, moment.xmin::text FROM {told} LEFT JOIN moment ON id > ? ORDER BY id DESC LIMIT 1"
    number, at, made_in = db.execute(last, (before,)).fetchone()
    return None if number is None else (number, at, made_in)


def _is_there(db: Database, mark: Mark) -> bool:
    asked = "SELECT 1 FROM moment WHERE id = ? AND at = ? AND xmin::text = ?"
    return db.execute(asked, mark).fetchone() is not None
