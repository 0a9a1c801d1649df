"""A new base is made whole or not at all, and an old one is replaced only while it is not in use."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hmem.errors import StoreError
from hmem.knowledge.store import errors
from hmem.knowledge.store.sqlite import create as creation
from hmem.knowledge.store.store import Store
from tests.knowledge.stores import DOG, WOLF, by_name, filled, finish, start


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "BUSY_SECONDS", 0.05)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF])
    return tmp_path / "zoo.kb"


def test_a_new_base_is_empty_and_one_file_when_closed(tmp_path: Path) -> None:
    with Store.create(str(tmp_path / "zoo 100% #1?.kb")) as store:
        assert store.moment == 0
        assert by_name(store) == []
        assert store.check() == []
    assert [path.name for path in tmp_path.iterdir()] == ["zoo 100% #1?.kb"]


def test_an_existing_file_is_left_alone(base: Path) -> None:
    with pytest.raises(StoreError, match="exists already; to begin anew: overwrite=True"):
        Store.create(base)
    with Store.open(base) as store:
        assert by_name(store) == [WOLF]


def test_overwriting_begins_anew(base: Path) -> None:
    with Store.create(base, overwrite=True) as store:
        assert by_name(store) == []
        store.add([DOG])
    with Store.open(base) as store:
        assert (by_name(store), store.moment, store.check()) == ([DOG], 1, [])
    assert list(base.parent.iterdir()) == [base]


def test_overwriting_what_is_not_there_creates_it(tmp_path: Path) -> None:
    with Store.create(tmp_path / "new.kb", overwrite=True) as store:
        assert store.moment == 0


OVERWRITE = """
    from hmem.errors import StoreError
    from hmem.knowledge.store import errors
    errors.BUSY_SECONDS = 0.05
    try:
        Store.create(argv[0], overwrite=True)
    except StoreError as error:
        print(error)
"""


def test_a_base_in_use_is_not_overwritten(base: Path) -> None:
    with Store.open(base) as store:
        with pytest.raises(StoreError, match="is open in this process; close it before overwriting it"):
            Store.create(base, overwrite=True)
        told = finish(start(OVERWRITE, base))
        assert told == f"{base} is open in another process; close it there before overwriting it\n"
        store.add([DOG])
    assert list(base.parent.iterdir()) == [base]
    with Store.open(base) as store:
        assert by_name(store) == [WOLF, DOG]


@pytest.mark.parametrize("damaged", [False, True])
def test_the_log_of_the_old_base_does_not_reach_the_new_one(base: Path, damaged: bool) -> None:
    crashed = base.with_name("crashed.kb")  # as a process that was killed leaves it
    with Store.open(base) as store:
        store.add([DOG])
        for suffix in ("", "-wal"):
            shutil.copy(f"{base}{suffix}", f"{crashed}{suffix}")
    if damaged:  # a page size of 0, so that SQLite does not even look for the log
        whole = crashed.read_bytes()
        crashed.write_bytes(whole[:16] + bytes(2) + whole[18:])
    with Store.create(crashed, overwrite=True) as store:
        assert by_name(store) == []
        assert store.check() == []


def test_a_damaged_base_can_be_overwritten(tmp_path: Path) -> None:
    base = filled(tmp_path / "zoo.kb")
    whole = base.read_bytes()
    base.write_bytes(whole[:100] + bytes(4000) + whole[4100:])
    with Store.create(base, overwrite=True) as store:
        assert store.check() == []


@pytest.mark.parametrize("content", [b"dog\thypernym\tcanine\n", b"SQLite format 3\0 but not really"])
def test_other_files_are_never_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "thesis.txt"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="so it is not overwritten; remove it yourself"):
        Store.create(path, overwrite=True)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_the_base_of_another_application_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE photo (id)")
    with pytest.raises(StoreError, match="not a knowledge base of hmem, so it is not overwritten"):
        Store.create(path, overwrite=True)


def test_an_empty_file_can_be_overwritten(tmp_path: Path) -> None:
    (tmp_path / "zoo.kb").touch()
    with Store.create(tmp_path / "zoo.kb", overwrite=True) as store:
        assert store.check() == []


def test_a_folder_is_not(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store.create(tmp_path, overwrite=True)
    with pytest.raises(StoreError, match="exists already"):
        Store.create(tmp_path)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"zoo\.kb cannot be created: No such file or directory"):
        Store.create(tmp_path / "nowhere" / "zoo.kb")


@pytest.mark.parametrize("overwrite", [False, True])
def test_creating_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    def full(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE moment (id)")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(creation, "install", full)
    with pytest.raises(StoreError, match="disk is full"):
        Store.create(tmp_path / "zoo.kb", overwrite=overwrite)
    assert list(tmp_path.iterdir()) == []


def test_of_several_creators_one_wins(tmp_path: Path) -> None:
    script = """
        Store.create(argv[0]).add([("a", "b", "c")])
        print("made it")
    """
    ends = [each.communicate(timeout=60) for each in [start(script, tmp_path / "zoo.kb") for _ in range(4)]]
    assert sorted(printed for printed, _ in ends) == ["", "", "", "made it\n"]
    assert all("exists already" in complaint for printed, complaint in ends if not printed)
    with Store.open(tmp_path / "zoo.kb") as store:
        assert by_name(store) == [("a", "b", "c")]


CREATE_AND_STOP = """
    import os, pyarrow as pa
    from pathlib import Path
    from hmem.knowledge.store.sqlite.create import built_beside
    with built_beside(Path(argv[0]), overwrite=bool(argv[1])) as new:
        with Store.open(new) as store:
            store.add([("half", "of", "it")])
            os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("overwrite", [False, True])
def test_creating_that_is_killed_leaves_no_base_or_the_old_one(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "zoo.kb"
    if overwrite:
        with Store.create(path) as store:
            store.add([WOLF])
    start(CREATE_AND_STOP, path, "yes" if overwrite else "").communicate()
    assert path.exists() == overwrite
    lefts = list(tmp_path.glob(".zoo.kb.*.new*"))
    assert lefts != []  # it got as far as it should
    if overwrite:
        with Store.open(path) as store:
            assert by_name(store) == [WOLF]
    Store.create(path, overwrite=True).close()
    assert all(left.exists() for left in lefts)  # another process might still be at work on them
    for left in lefts:
        os.utime(left, (0, 0))
    Store.create(path, overwrite=True).close()
    assert list(tmp_path.iterdir()) == [path]


def test_where_there_are_no_hard_links_one_creator_wins_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    with creation.built_beside(tmp_path / "late.kb", overwrite=False):
        Store.create(tmp_path / "zoo.kb").close()
        assert list(tmp_path.glob("*.kb")) == [tmp_path / "zoo.kb"]
    with Store.open(tmp_path / "late.kb") as store:
        assert store.check() == []

    def create_late() -> None:
        with creation.built_beside(tmp_path / "own.kb", overwrite=False):
            Store.create(tmp_path / "own.kb").close()

    with pytest.raises(StoreError, match=r"own\.kb exists already"):
        create_late()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["late.kb", "own.kb", "zoo.kb"]
