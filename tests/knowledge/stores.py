"""What the tests of the store share: small bases, other processes, and a plain model of what a store must remember."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from hmem.knowledge.store import copying
from hmem.knowledge.store.database import Database
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.sqlite import connection
from hmem.knowledge.store.store import Store

WOLF: Names3 = ("wolf", "hypernym", "canine")
DOG: Names3 = ("dog", "hypernym", "canine")
PAW: Names3 = ("paw", "part_of", "wolf")


def by_name(store: Store, as_of: int | None = None) -> list[Names3]:
    """The facts of a moment, as names."""
    triples = store.triples(as_of).tolist()  # first, since names only ever grow in number
    entities, relations = store.entity_names(), store.relation_names()
    return [(entities[h], relations[r], entities[t]) for h, r, t in triples]


def all_rows(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """All that a base holds, by table."""

    def found(db: Database) -> dict[str, list[tuple[object, ...]]]:
        return {
            table: db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1").fetchall()
            for table, columns in copying.TABLES.items()
        }

    return store._connection.read(found)


def filled(path: Path, facts: int = 3000) -> Path:
    """A closed base with so many facts, a few hundred to a relation, and names long enough to fill many pages."""
    with Store.create(path) as store:
        store.add(
            [(f"entity number {i}", f"relation {i % 7}", f"entity number {i * i % facts}") for i in range(facts)],
            source="test",
        )
        store.remove([(f"entity number {i}", f"relation {i % 7}", f"entity number {i * i % facts}") for i in range(9)])
    return path


def file_of(store: Store) -> Path:
    """The file of a store in SQLite."""
    assert isinstance(store.path, Path)
    return store.path


@contextmanager
def hasty() -> Iterator[None]:
    """Stores opened meanwhile do not wait for the disk: for laws that need many writes and no power cut."""
    with pytest.MonkeyPatch.context() as patch:
        settings = (setting.replace("synchronous = FULL", "synchronous = OFF") for setting in connection.SETTINGS)
        patch.setattr(connection, "SETTINGS", tuple(settings))
        yield


def start(script: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """Another process that runs `script` with Store at hand and `argv` to read."""
    code = "import sys; from hmem.knowledge.store.store import Store; argv = sys.argv[1:]\n" + dedent(script)
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """What the process printed, once it has ended well."""
    printed, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints
    return printed


class Remembering:
    """Sets of facts, one for each moment: what the store must be able to tell, in the plainest form."""

    def __init__(self) -> None:
        self.states: list[frozenset[Names3]] = [frozenset()]

    @property
    def now(self) -> frozenset[Names3]:
        return self.states[-1]

    def add(self, facts: list[Names3]) -> list[Names3]:
        """The facts that are new, each once, in the order given."""
        new = [fact for fact in dict.fromkeys(facts) if fact not in self.now]
        self._next(self.now | set(new))
        return new

    def remove(self, facts: list[Names3]) -> list[Names3]:
        gone = [fact for fact in dict.fromkeys(facts) if fact in self.now]
        self._next(self.now - set(gone))
        return gone

    def undo(self, moment: int) -> tuple[frozenset[Names3], frozenset[Names3]]:
        """What the write of a moment had brought is gone, and what it took is back, unless it changed since."""
        before, since = self.states[moment - 1], self.states[moment:]
        removed = frozenset.intersection(*since) - before
        restored = before - frozenset.union(*since)
        self._next((self.now - removed) | restored)
        return removed, restored

    def _next(self, state: frozenset[Names3]) -> None:
        if state != self.now:
            self.states.append(state)
