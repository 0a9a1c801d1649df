"""No part of the package ends the locks that SQLite holds: not by looking at a base, reading or replacing it.

A process that closes any descriptor of a file loses all its locks on it. Another process may then throw away a log that
is in use, and acknowledged facts are gone.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from hmem.cli.transfer import read
from hmem.config import load_toml
from hmem.errors import HMemError, StoreError
from hmem.graph.readers.read import read_table
from hmem.graph.registry import load_dataset
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.as_dataset import is_knowledge_base
from hmem.knowledge.store.store import Store
from hmem.reproduction.results import append_line, read_lines
from tests.cli.conftest import Command, command, here  # noqa: F401
from tests.knowledge.stores import DOG, PAW, WOLF, by_name, file_of, finish, start

HELD = """
import fcntl, sys
for path, at, size in ((sys.argv[1], 0x40000002, 510), (sys.argv[1] + "-shm", 128, 1)):
    with open(path, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, size, at)
            print("free")
        except OSError:
            print("held")
"""  # SQLite's shared lock on a database, and the lock that says that its -shm file is in use


def assert_locked(path: Path) -> None:
    """Another process, which is asked since a process cannot see its own locks, finds both files locked."""
    told = subprocess.run([sys.executable, "-c", HELD, str(path)], capture_output=True, text=True)
    assert (told.stdout.split(), told.stderr) == (["held", "held"], "")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF, DOG])
        yield store


def test_the_locks_of_an_open_base_are_seen(store: Store, tmp_path: Path) -> None:
    assert_locked(file_of(store))
    (tmp_path / "copy.kb").write_bytes(b"")
    (tmp_path / "copy.kb-shm").write_bytes(b"")
    with pytest.raises(AssertionError):
        assert_locked(tmp_path / "copy.kb")
    file_of(store).open("rb").close()  # what this file is about
    with pytest.raises(AssertionError):
        assert_locked(file_of(store))


ADD_IN_A_LOOP = """
    for number in range(int(argv[1])):
        with Store.open(argv[0]) as store:
            store.add([("they", "wrote", f"{number}")])
        print(number, flush=True)
"""


def test_importing_a_base_into_itself_loses_nothing_while_another_process_writes(store: Store) -> None:
    count = 150
    writer, ours = start(ADD_IN_A_LOOP, file_of(store), count), 0
    while writer.poll() is None:
        assert is_knowledge_base(str(file_of(store)))
        assert read(str(file_of(store))).num_rows >= 2
        with KnowledgeBase(file_of(store)) as kb, suppress(HMemError):
            kb.import_(file_of(store))
        store.add([("we", "wrote", f"{ours}")])
        ours += 1
    assert finish(writer).split() == [str(number) for number in range(count)]
    store.close()
    with closing(sqlite3.connect(file_of(store))) as plain:  # none of our code
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = plain.execute(
            "SELECT h.name, t.name FROM fact JOIN entity AS h ON h.id = head JOIN entity AS t ON t.id = tail"
        ).fetchall()
    assert {tail for head, tail in rows if head == "they"} == {str(number) for number in range(count)}
    assert {tail for head, tail in rows if head == "we"} == {str(number) for number in range(ours)}


def test_a_base_is_not_imported_into_itself(store: Store, command: Command) -> None:  # noqa: F811
    (file_of(store).parent / "link").symlink_to(file_of(store))
    for path in (file_of(store), file_of(store).parent / "link"):
        with (
            KnowledgeBase(file_of(store)) as kb,
            pytest.raises(StoreError, match=f"^{path} cannot be imported into"),
        ):
            kb.import_(path)
    answer = command("facts", "import", "zoo.kb", "link")
    expected = "hmem: link cannot be imported into itself: it holds all of its facts already\n"
    assert (answer.code, answer.out, answer.err) == (1, "", expected)
    answer = command("facts", "import", "zoo.kb", "zoo.kb@1")  # facts of the past that were removed may come back
    assert (answer.code, answer.out) == (0, "zoo.kb@1: 0 facts added, 2 stored already\n")


LOOKS: dict[str, Callable[[Path], object]] = {
    "is it a base": lambda path: is_knowledge_base(str(path)),
    "is it one of a past moment": lambda path: is_knowledge_base(f"{path}@1"),
    "read to import": lambda path: read(str(path)),
    "read as text": lambda path: read(str(path), format="tsv"),
    "read as Parquet": lambda path: read_table(path, format="parquet"),
    "read as ids": lambda path: read_table(path, format="openke"),
    "read as RDF": lambda path: read_table(path, format="nt"),
    "read as a dataset": load_dataset,
    "read as settings": load_toml,
    "read as results": read_lines,
    "add to results": lambda path: append_line(path, {}),
    "open": lambda path: Store.open(path).close(),
    "open to read": lambda path: Store.open(path, read_only=True).close(),
    "create": Store.create,
    "overwrite": lambda path: Store.create(path, overwrite=True),
    "create with its own facts": lambda path: KnowledgeBase.create(path, facts=path, overwrite=True),
    "create another with its facts": lambda path: KnowledgeBase.create(path.parent / "new", facts=path).close(),
    "use it as a model": lambda path: KnowledgeBase(path).use_model(path),
}


@pytest.mark.parametrize("name", ["zoo.kb", "zoo.kb-wal", "zoo.kb-shm", "link", "hard link", "hard link to shm"])
def test_no_way_to_look_at_an_open_base_ends_its_locks(store: Store, name: str) -> None:
    (file_of(store).parent / "link").symlink_to(file_of(store))
    (file_of(store).parent / "hard link").hardlink_to(file_of(store))
    (file_of(store).parent / "hard link to shm").hardlink_to(f"{file_of(store)}-shm")
    for what, look in LOOKS.items():
        with suppress(HMemError):
            look(file_of(store).parent / name)
        try:
            assert_locked(file_of(store))
        except AssertionError:
            pytest.fail(f"{what}: the locks are gone")


# KB is the open base; OUT is a new name
COMMANDS = """
kb create KB
kb create KB --overwrite
kb create KB --facts KB --overwrite
kb create OUT --facts KB
kb info KB
kb check KB
kb compact KB
kb use KB KB
kb drift KB
facts add KB dog is_a animal
facts remove KB dog hypernym canine
facts list KB
facts list KB --json KB
facts history KB
facts import KB KB
facts import KB KB --format tsv
facts import KB KB-wal
facts import KB KB-shm
facts import OUT KB
facts export KB OUT.tsv
facts export KB KB
facts export KB KB --format tsv
data show KB
data gen KB --out OUT --heldout 1
data import KB --out OUT
predict KB dog hypernym
explain KB dog hypernym canine
missing KB dog
similar KB dog
train KB --out OUT --config KB
train --from KB --out KB
train OUT --out KB
evaluate KB KB
baseline rules KB
untrained KB
serve KB --port x
"""


@pytest.mark.parametrize("line", COMMANDS.strip().splitlines())
def test_no_command_ends_the_locks_of_a_base_that_this_process_has_open(
    store: Store,
    line: str,
    command: Command,  # noqa: F811
) -> None:
    before = file_of(store).stat().st_ino
    answer = command(*line.replace("KB", "zoo.kb").replace("OUT", "out.kb").split())
    assert "Traceback" not in answer.err
    assert file_of(store).stat().st_ino == before, answer
    assert_locked(file_of(store))
    assert len(store.triples()) >= 1
    assert store.check() == []


def test_a_shared_memory_file_that_was_removed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "zoo.kb"
    with Store.create(path) as first:
        first.add([WOLF])
        path.with_name("zoo.kb-shm").unlink()
        with Store.open(path) as second:
            second.add([DOG])
            with pytest.raises(StoreError, match=r"-shm.* was removed while"):
                first.add([PAW])
        with pytest.raises(StoreError, match=r"-shm.* was removed while"):
            first.triples()
    with Store.open(path) as store:
        assert set(by_name(store)) == {WOLF, DOG}
        assert store.check() == []
