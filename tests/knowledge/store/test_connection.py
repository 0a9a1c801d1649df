"""Several threads and processes at one file, and a file that cannot be written: whole writes, and clear words."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import pytest

from hmem.errors import StoreError
from hmem.knowledge.store import errors
from hmem.knowledge.store.sqlite import connection
from hmem.knowledge.store.store import Store
from tests.knowledge.stores import DOG, PAW, WOLF, by_name, file_of, filled, finish, start

NOBODY = 65534


STORE = Path(connection.__file__).parents[1]


def sqlite_of(store: Store) -> connection.SqliteConnection:
    assert isinstance(store._connection, connection.SqliteConnection)
    return store._connection


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF])
        yield store


def test_two_stores_see_each_other(store: Store) -> None:
    with Store.open(file_of(store)) as other:
        version, own = other.version, store.version
        assert other.version == version
        store.add([DOG])
        assert other.version != version
        assert store.version != own  # one's own writes count
        own = store.version
        assert by_name(other) == [WOLF, DOG]
        other.remove([WOLF])
        assert store.version != own
        assert by_name(store) == [DOG]
        changes = store.changes_since(1, 2, 1)
        assert (changes.entities, changes.added.tolist(), changes.removed.tolist()) == (
            ["dog"],
            [[2, 0, 1]],
            [[0, 0, 1]],
        )


def test_another_process_is_seen(store: Store) -> None:
    version = store.version
    finish(start('Store.open(argv[0]).add([("dog", "hypernym", "canine")], source="it")', file_of(store)))
    assert store.version != version
    assert by_name(store) == [WOLF, DOG]


@pytest.mark.parametrize("way", ["to read", "to write", "to overwrite"])
def test_opening_a_file_again_keeps_the_locks_on_it(store: Store, way: str) -> None:
    # Else the next process that closes the file takes it for unused, and removes a log that is in use.
    if way == "to overwrite":
        with pytest.raises(StoreError, match="is open in this process"):
            Store.create(file_of(store), overwrite=True)
    else:
        Store.open(file_of(store), read_only=way == "to read").close()
    script = """
        for number in range(2):
            with Store.open(argv[0]) as store:
                store.add([(str(number), "is", "theirs")])
            print(number, flush=True)
            input()
            with Store.open(argv[0]) as store:
                print(len(store.triples()), flush=True)
            input()
    """
    other = start(script, file_of(store), stdin=subprocess.PIPE)
    assert other.stdout is not None
    for number in range(2):
        assert int(other.stdout.readline()) == number
        assert file_of(store).with_name("zoo.kb-wal").exists()
        store.add([(str(number), "is", "ours")])
        print(file=other.stdin, flush=True)  # go on
        assert int(other.stdout.readline()) == len(by_name(store)) == 3 + 2 * number
        print(file=other.stdin, flush=True)
    finish(other)
    assert store.check() == []


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_nothing_is_written_to_a_file_that_is_no_longer_there(store: Store, tmp_path: Path, how: str) -> None:
    if how == "removed":
        file_of(store).unlink()
    else:
        Store.create(tmp_path / "other.kb").close()
        (tmp_path / "other.kb").replace(file_of(store))
    for use in (lambda: store.add([DOG]), lambda: store.moment):
        with pytest.raises(StoreError, match="was removed or replaced while it was open; open it anew"):
            use()


def test_the_same_facts_from_several_processes_are_stored_once(store: Store) -> None:
    script = """
        with Store.open(argv[0]) as store:
            print(sum(len(store.add([(f"e{i}", "r", f"e{i % 7}")]).changed) for i in range(60)))
    """
    told = [int(finish(each)) for each in [start(script, file_of(store)) for _ in range(4)]]
    assert sum(told) == 60
    assert store.count()["facts"] == 61
    assert store.check() == []


def test_readers_see_whole_writes_only(store: Store) -> None:
    script = """
        with Store.open(argv[0]) as store:
            for i in range(150):
                pair = [(f"e{i}", "left", "x"), (f"e{i}", "right", "x")]
                store.add(pair)
                if i % 3 == 0:
                    store.remove(pair)
    """
    writer, states = start(script, file_of(store)), set()
    with Store.open(file_of(store), read_only=True) as reader:
        while writer.poll() is None:
            facts = by_name(reader)
            sides = [{head for head, relation, _ in facts if relation == side} for side in ("left", "right")]
            assert sides[0] == sides[1]
            states.add(len(facts))
    finish(writer)
    assert len(states) > 1
    assert store.count()["facts"] == 1 + 2 * 100


def test_threads_take_turns(store: Store) -> None:
    def work(thread: int) -> int:
        for i in range(20):
            store.add([(f"t{thread}", "r", f"{i}")])
            assert len(list(store.listing(head=f"t{thread}"))) == i + 1
        return len(store.triples())

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(work, range(4))) == 81
    assert store.check() == []


def test_the_store_has_one_lock() -> None:
    """That of its connection; a second one would need an order in which they are taken."""
    texts = {str(path.relative_to(STORE)): path.read_text() for path in STORE.rglob("*.py")}
    locks = {name: text.count("Lock()") for name, text in texts.items() if "threading" in text}
    assert locks == {"database.py": 1, "postgres/listening.py": 0}


def test_a_write_inside_a_write_is_refused(store: Store) -> None:
    with store._connection.writing() as db:
        with pytest.raises(StoreError, match="is being written by this very thread"):
            store.add([DOG])
        db.execute("UPDATE moment SET source = 'still under way'")
    assert [fact.source for fact in store.listing()] == ["still under way"]


def test_references_are_checked_unless_a_write_is_trusted(store: Store) -> None:
    def write(tail: int, trusted: bool) -> None:
        with store._connection.writing(trusted=trusted) as db:
            db.execute("INSERT INTO fact (head, relation, tail, added) VALUES (0, 0, ?, 1)", (tail,))

    for tail in (77, 78):
        with pytest.raises(StoreError, match=r'refuses what would break it \("FOREIGN KEY constraint failed"\)'):
            write(tail, trusted=False)
        write(tail, trusted=True)
    assert [problem for problem in store.check() if "points to nothing" in problem] == [
        "fact 2 points to nothing in the table entity",
        "fact 3 points to nothing in the table entity",
    ]


def test_a_fork_does_not_use_the_connection_of_its_parent(store: Store) -> None:
    script = """
        import os
        from hmem.errors import StoreError
        store = Store.open(argv[0])
        if os.fork() == 0:
            try:
                store.add([("child", "r", "x")])
            except StoreError as error:
                print(error, flush=True)
            store.close()
            os._exit(0)
        os.wait()
        store.add([("parent", "r", "x")])
        with Store.open(argv[0]) as own:
            print(len(own.triples()))
    """
    assert finish(start(script, file_of(store))) == (
        f"{file_of(store)} was opened by the process that this one was forked from\n2\n"
    )


def test_a_locked_file_is_waited_for_and_then_said_to_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "BUSY_SECONDS", 0.05)
    with (
        Store.open(file_of(store)) as impatient,
        closing(sqlite3.connect(file_of(store), isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"zoo\.kb is being written by another process; waited 0.05 s"):
            impatient.add([DOG])
        with pytest.raises(StoreError, match="is being written by another process"):
            impatient.compact()
        assert by_name(impatient) == [WOLF]  # reading does not wait
        other.execute("ROLLBACK")
        assert len(impatient.add([DOG]).changed) == 1


def test_a_file_locked_for_good_is_said_to_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.close()
    monkeypatch.setattr(errors, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(file_of(store), isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="is being written by another process"):
            Store.open(file_of(store))
    Store.open(file_of(store)).close()


def test_a_full_disk_changes_nothing(store: Store) -> None:
    facts = [(f"{i}" * 500, "r", "x") for i in range(200)]
    with sqlite_of(store).outside() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(StoreError, match="the disk is full; nothing was changed; free some space and try again"):
        store.add(facts)
    assert by_name(store) == [WOLF]
    assert (store.moment, store.entity_names(), store.check()) == (1, ["wolf", "canine"], [])
    with sqlite_of(store).outside() as db:
        db.execute("PRAGMA max_page_count = 1000000")
    assert len(store.add(facts).changed) == 200


def test_a_file_that_may_not_grow_changes_nothing(tmp_path: Path) -> None:
    """The operating system refuses the write, in the middle of it."""
    script = """
        import resource
        from hmem.errors import StoreError
        store = Store.open(argv[0])
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, most))
        kept, refused = 0, 0
        while not refused:
            try:
                store.add([(f"{kept} {i} " * 20, "r", "x") for i in range(20)])
                kept += 1
            except StoreError as error:
                refused += 1
                print(error)
        assert store.count()["facts"] == 20 * kept > 0, (store.count(), kept)
        assert store.check() == []
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        store.add([("after", "r", "x")])
        print(store.count()["facts"] - 20 * kept, store.check())
    """
    path = tmp_path / "zoo.kb"
    Store.create(path).close()
    told, end = finish(start(script, path)).splitlines()
    assert told.startswith(f"{path} could not be ")
    assert "nothing was changed" in told
    assert end == "1 []"


def as_nobody(script: str, path: Path, imports: str = "") -> str:
    """What a process without rights prints; the tests may be run by root, who is allowed everything.

    What it needs is imported before: it may not be allowed to read the modules either.
    """
    give_up = f"import os\nos.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n" if os.geteuid() == 0 else ""
    return finish(start(imports + give_up + dedent(script), path))


OPEN_BOTH_WAYS = """
    from hmem.errors import StoreError
    try:
        Store.open(argv[0])
    except StoreError as error:
        print(error)
    with Store.open(argv[0], read_only=True) as store:
        print(len(store.triples()), store.check(), len(list(store.listing())))
"""


@pytest.fixture
def public(tmp_path: Path) -> Iterator[Path]:
    """A folder that all users may enter, which pytest's own are not."""
    folder = Path("/tmp") / f"hmem-test-{os.getpid()}-{tmp_path.name}"
    folder.mkdir(mode=0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o755), (0o666, 0o555), (0o444, 0o555)])
def test_a_read_only_file_or_folder(public: Path, file: int, folder: int) -> None:
    path = filled(public / "zoo.kb", 100)
    path.chmod(file)
    public.chmod(folder)
    told, found = as_nobody(OPEN_BOTH_WAYS, path).splitlines()
    assert told.startswith(f"{path} cannot be written: the file or its folder is read-only")
    assert found == "91 [] 91"


def test_a_file_that_may_not_be_read(public: Path) -> None:
    path = filled(public / "zoo.kb", 20)
    path.chmod(0)
    script = """
        from hmem.errors import StoreError
        for read_only in (False, True):
            try:
                Store.open(argv[0], read_only=read_only)
            except StoreError as error:
                print(error)
    """
    assert as_nobody(script, path) == f"{path} cannot be read: Permission denied\n" * 2


def test_a_folder_where_nothing_may_be_made(public: Path) -> None:
    script = """
        from hmem.errors import StoreError
        try:
            Store.create(argv[0])
        except StoreError as error:
            print(error)
    """
    assert as_nobody(script, public / "zoo.kb") == f"{public / 'zoo.kb'} cannot be created: Permission denied\n"


def test_a_log_left_behind_is_read_too(store: Store, tmp_path: Path) -> None:
    """A base copied with its log, or left by a process that was killed, loses nothing."""
    store.add([DOG])
    copy = tmp_path / "copy"
    copy.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{file_of(store)}{suffix}", copy / f"zoo.kb{suffix}")
    store.add([PAW])
    for read_only in (True, False):
        with Store.open(copy / "zoo.kb", read_only=read_only) as found:
            assert by_name(found) == [WOLF, DOG]


ASK_IMPORTS = """
from hmem.graph.names import Vocabulary
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.live_graph import LiveGraph
"""
ASK_AGAIN_AND_AGAIN = """
    with Store.open(argv[0], read_only=True) as store:
        live = LiveGraph(store, Vocabulary(["wolf"], ["hypernym"]))
        for _ in range(3):
            live.refresh()
            print(ModelLink.of(store).folder.name, live.moment)
        before, _ = store.version, store.moment
        print(store.version == before)
"""


def test_a_log_that_may_only_be_read_does_not_block(public: Path, store: Store) -> None:
    """SQLite then makes its index of the log anew for every read, and takes each for a write of another process."""
    store.set_meta(model="models/zoo", model_checksum="0", model_moment="1", model_trained_until="1")
    store.compact()
    shutil.copy(file_of(store), public)
    (public / "zoo.kb-wal").touch()  # as a killed writer may leave them
    (public / "zoo.kb-shm").write_bytes(bytes(1 << 15))
    for file in public.iterdir():
        file.chmod(0o444)
    told = as_nobody(ASK_AGAIN_AND_AGAIN, public / "zoo.kb", ASK_IMPORTS).splitlines()
    assert told == ["zoo 1"] * 3 + ["False"]
