"""What the store asks of an engine: transactions, a little SQL, and a few things that each does in its own way.

The rest of the package is written once, in the SQL that SQLite and PostgreSQL have in common, with ? for a value. The
engines are `hmem.knowledge.store.sqlite` and `hmem.knowledge.store.postgres`.
"""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, get_args, runtime_checkable

from hmem.errors import Hint, Place, StoreError
from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import Triples

Kind = Literal["entity", "relation", "property"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Progress = Callable[[int, int], None]  # how many facts are done, and of how many
ALL = 2**62  # of which LIMIT leaves nothing out
P = ParamSpec("P")
T = TypeVar("T")


@runtime_checkable
class Rows(Protocol):
    """What a statement found."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


@runtime_checkable
class Statements(Protocol):
    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Rows: ...


@runtime_checkable
class Database(Statements, Protocol):
    """One transaction that is open."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Any: ...

    def triples(self, sql: str, values: Sequence[Any] = ...) -> Triples:
        """The rows of three numbers that a statement finds, however many they are."""

    def find_ids(self, kind: Kind, names: Sequence[str]) -> list[int | None]:
        """The number of each name, as far as it has one."""

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Many new rows of a table."""

    def insert_facts(
        self, facts: Triples, qualifiers: Qualifiers, source: str | None, progress: Progress | None
    ) -> tuple[Triples, int]:
        """Store those of some facts that are not there yet, under one new moment.

        What a model inferred and is asserted now, or inferred otherwise, is ended, and stored anew. The facts that are
        new, and the moment: the last one before if there are none. No fact is given twice, and their names are stored.
        """


class Connection(ABC):
    """The way to a base: each read and each write is one transaction, seen whole by others or not at all.

    Threads that share a connection take turns: it owns a lock, and holds it from the beginning of a transaction to its
    end. The thread that has it may read inside its own write. A connection does not survive a fork.
    """

    def __init__(self, path: Place, *, read_only: bool, is_frozen: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.is_frozen = is_frozen  # what other processes write is not seen
        self._lock = threading.RLock()
        self._process = os.getpid()

    def read(self, function: Callable[Concatenate[Database, P], T], /, *given: P.args, **named: P.kwargs) -> T:
        """What a function finds, all of one moment."""
        with self.reading() as db:
            return function(db, *given, **named)

    def write(self, function: Callable[Concatenate[Database, P], T], /, *given: P.args, **named: P.kwargs) -> T:
        """What a function does, as one write; an exception undoes all of it."""
        with self.writing() as db:
            return function(db, *given, **named)

    def load(self, function: Callable[Concatenate[Database, P], T], /, *given: P.args, **named: P.kwargs) -> T:
        """The same for a function that vouches for its references itself."""
        with self.writing(trusted=True) as db:
            return function(db, *given, **named)

    @abstractmethod
    def reading(self) -> AbstractContextManager[Database]:
        """Several reads that see the same moment. Inside a write of this thread, they see what it has done so far."""

    @abstractmethod
    def writing(self, *, trusted: bool = False) -> AbstractContextManager[Database]:
        """One write, waiting for that of another process to end. An exception inside undoes all of it.

        A trusted write vouches for its references itself, which is quicker where the engine looks them up.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the base."""

    @abstractmethod
    def moment(self) -> int:
        """The number of the last write that changed what is stored."""

    @abstractmethod
    def version(self) -> int:
        """A number that changes whenever something was written, a note too; asked before every answer."""

    @abstractmethod
    def size(self) -> int:
        """The bytes that the base takes."""

    @abstractmethod
    def check(self) -> list[str]:
        """What is wrong with the base, in words."""

    @abstractmethod
    def compact(self) -> None:
        """Give back unused space."""

    @abstractmethod
    def is_at(self, place: Place) -> bool:
        """Whether this is the base there."""

    def when_written(self, tell: Callable[[], object]) -> Callable[[], None]:
        """Call `tell` soon after others have written, in any thread, until what is returned is called.

        An engine that is not told of writes calls nothing: who must know asks for `version` now and then anyway.
        """
        return lambda: None

    def _nested(self) -> StoreError:
        return StoreError("{path} is being written by this very thread; let it finish first", path=self.path)

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            hint = Hint(text="open it anew to change it", option="read_only", value=False)
            raise StoreError("{path} was opened to be read only", path=self.path, hint=hint)
