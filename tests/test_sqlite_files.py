"""The list of databases that this process has open, and what it keeps from being opened by other means."""

import gc
import io
import os
import threading
from pathlib import Path

import pytest

from hmem import sqlite_files
from hmem.errors import DataError, StoreError
from hmem.graph.readers.read import read_table
from hmem.knowledge.store.store import Store
from tests.knowledge.stores import WOLF, by_name, finish, start


@pytest.fixture
def base(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF])
    return tmp_path / "zoo.kb"


def test_a_file_is_on_the_list_while_any_connection_has_it(base: Path) -> None:
    assert not sqlite_files.is_open(base)
    with Store.open(base) as one:
        with Store.open(base, read_only=True):
            assert sqlite_files.is_open(base)
        assert sqlite_files.is_open(base)
        assert sqlite_files.is_open(base.with_name("zoo.kb-shm"))
        one.close()
        assert not sqlite_files.is_open(base)


def test_a_connection_that_is_forgotten_or_fails_leaves_the_list(base: Path, tmp_path: Path) -> None:
    store = Store.open(base)
    del store
    gc.collect()
    assert not sqlite_files.is_open(base)
    (tmp_path / "text").write_text("no database, but long enough to be looked at" * 100)
    with pytest.raises(StoreError):
        Store.open(tmp_path / "text")
    assert not sqlite_files.is_open(tmp_path / "text")


def test_what_is_a_database(base: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\tb\tc\n")
    os.mkfifo(tmp_path / "pipe")
    for is_open in (False, True):
        if is_open:
            store = Store.open(base)
        assert sqlite_files.is_database(base)
        for name in ("text", "none", "", "pipe", "zoo.kb-wal", "zoo.kb-shm", "no\0name"):
            assert not sqlite_files.is_database(tmp_path / name)
    store.close()


def test_no_output_takes_a_name_that_sqlite_would_take_for_its_own(base: Path) -> None:
    for suffix in ("-journal", "-wal", "-shm"):
        path = base.with_name(f"zoo.kb{suffix}")
        assert not path.exists()
        with pytest.raises(StoreError, match="a file that SQLite keeps beside a database"):
            sqlite_files.refuse_to_replace(path)
        sqlite_files.refuse_to_replace(base.with_name(f"other.kb{suffix}"))


def test_a_database_that_is_open_is_not_opened_to_look_at_it(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> io.FileIO:
        raise AssertionError(f"{path} was opened")

    with Store.open(base):
        monkeypatch.setattr(io, "FileIO", refuse)
        assert sqlite_files.is_database(base)
        for name in ("zoo.kb", "zoo.kb-wal", "zoo.kb-shm"):
            with pytest.raises(DataError, match="found a"):
                sqlite_files.open_plain(base.with_name(name))
            with pytest.raises(StoreError, match="is not overwritten; choose another name"):
                sqlite_files.refuse_to_replace(base.with_name(name))
        with pytest.raises(StoreError, match="is open in this process"):
            sqlite_files.read_header(base, 16)


def test_files_of_a_database_are_refused_open_or_not(base: Path, tmp_path: Path) -> None:
    for name in ("zoo.kb-wal", "zoo.kb-shm", "zoo.kb-journal", "notes-wal"):
        (tmp_path / name).write_text("left behind")
    for name, found in (("zoo.kb", "SQLite database"), ("zoo.kb-shm", "beside a database"), ("zoo.kb-wal", "beside")):
        with pytest.raises(DataError, match=f"{name}: expected a file of text or data, found a .*{found}"):
            sqlite_files.open_plain(tmp_path / name)
        with pytest.raises(StoreError, match=f"{name} is a .*{found}"):
            sqlite_files.refuse_to_replace(tmp_path / name)
    sqlite_files.refuse_to_replace(tmp_path / "notes-wal")
    assert sqlite_files.read_text(tmp_path / "notes-wal") == "left behind"
    sqlite_files.refuse_to_replace(tmp_path / "new")


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("through it",))
    writer.start()
    assert sqlite_files.read_text(tmp_path / "pipe") == "through it"
    writer.join()


def test_nothing_is_opened_with_sqlite_while_a_file_is_looked_at(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the look would end with a close that takes the new connection's locks away."""
    opened = threading.Event()
    early = []

    def open_it() -> None:
        Store.open(base).close()
        opened.set()

    other = threading.Thread(target=open_it)

    class Slow(io.FileIO):
        def close(self) -> None:
            if not self.closed:
                other.start()
                early.append(opened.wait(0.2))
            super().close()

    monkeypatch.setattr(io, "FileIO", Slow)
    assert sqlite_files.is_database(base)
    other.join(timeout=30)
    assert (early, opened.is_set()) == ([False], True)


def test_an_open_base_has_one_name(base: Path, tmp_path: Path) -> None:
    (tmp_path / "hard").hardlink_to(base)
    (tmp_path / "soft").symlink_to(base)
    with Store.open(base), Store.open(tmp_path / "soft") as soft:
        assert by_name(soft) == [WOLF]
        with pytest.raises(StoreError, match=r"hard is another name of .*zoo\.kb, which is open; use that name"):
            Store.open(tmp_path / "hard")
    with Store.open(tmp_path / "hard") as hard:
        assert by_name(hard) == [WOLF]


def test_a_base_that_was_open_when_the_process_was_forked_is_not_opened_in_the_child(base: Path) -> None:
    """SQLite would believe that it holds the locks of the parent; the parent's close then removes the child's log."""
    script = """
        import os
        from hmem.errors import StoreError
        closed, open_ = Store.open(argv[0]), Store.open(argv[1])
        closed.close()
        if os.fork() == 0:
            from pathlib import Path
            from hmem import sqlite_files
            print(sqlite_files.is_open(Path(argv[0])), sqlite_files.is_open(Path(argv[1])), flush=True)
            with Store.open(argv[0]) as own:
                own.add([("child", "wrote", "this")])
            for read_only in (False, True):
                try:
                    Store.open(argv[1], read_only=read_only)
                except StoreError as error:
                    print(error, flush=True)
            os._exit(0)
        os.wait()
    """
    other = base.with_name("other.kb")
    Store.create(other).close()
    are_open, *told = finish(start(script, base, other)).splitlines()
    assert are_open == "False True"  # the child must not close a descriptor of what its parent has open
    assert (
        told
        == [
            f"{other} was open in the process that this one was forked from, and cannot be opened here too; "
            "start this process without a fork (multiprocessing: spawn), or close the file before"
        ]
        * 2
    )
    with Store.open(base) as store:
        assert by_name(store) == [WOLF, ("child", "wrote", "this")]


def test_an_output_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), sqlite_files.replacing(path) as beside:
        beside.write_text(str(1 / beside.write_bytes(b"")))
    assert [each.name for each in tmp_path.iterdir()] == ["out.json"]
    assert path.read_text() == "old"
    link = tmp_path / "link"
    link.symlink_to(path)
    with sqlite_files.replacing(link) as beside:
        beside.write_text("new")
    assert (link.is_symlink(), path.read_text()) == (True, "new")


def test_leftovers_of_a_killed_process_are_removed_after_a_day(tmp_path: Path) -> None:
    old, new = tmp_path / ".1234.part.a.json", tmp_path / ".5678.part.a.json"
    for left in (old, new):
        left.touch()
    os.utime(old, (0, 0))
    with sqlite_files.replacing(tmp_path / "a.json") as beside:
        beside.touch()
    assert (old.exists(), new.exists()) == (False, True)


def test_devices_are_written_to(tmp_path: Path) -> None:
    with sqlite_files.replacing(Path("/dev/null")) as beside:
        beside.write_text("gone")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("name", sqlite_files.OF_MODEL)
def test_no_output_replaces_a_part_of_a_model(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    for each in sqlite_files.MODEL:
        (tmp_path / each).touch()
    with pytest.raises(StoreError, match="part of a model, and is not overwritten"):
        sqlite_files.refuse_to_replace(tmp_path / name)
    sqlite_files.refuse_to_replace(tmp_path / "metrics.csv")


def test_no_output_replaces_its_own_input(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("a\tr\tb\n")
    read_table(path)
    with pytest.raises(StoreError, match="what is read here, and is not overwritten"):
        sqlite_files.refuse_to_replace(path)
    sqlite_files.refuse_to_replace(path, appending=True)
