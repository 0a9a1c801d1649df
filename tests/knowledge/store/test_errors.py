"""Files that are not, or no longer, what they should be: one clear error each."""

import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hmem.errors import HMemError, StoreError
from hmem.knowledge.store.sqlite.errors import explained
from hmem.knowledge.store.store import Store
from tests.knowledge.stores import DOG, WOLF, filled

PAGE_SIZE = 4096


def open_either_way(path: Path, reason: str) -> None:
    for read_only in (False, True):
        with pytest.raises(StoreError, match=reason) as caught:
            Store.open(path, read_only=read_only)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    open_either_way(tmp_path / "zoo.kb", "there is no knowledge base .*; make one with: hmem kb create")
    assert list(tmp_path.iterdir()) == []


def test_a_folder(tmp_path: Path) -> None:
    open_either_way(tmp_path, "is a folder; a knowledge base is a single file$")
    (tmp_path / "model.safetensors").touch()
    open_either_way(tmp_path, "file; make one that uses this model with: hmem kb create KB --model .* --facts DATA")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "zoo.kb").touch()
    open_either_way(tmp_path / "zoo.kb", "is empty; make it a knowledge base with")
    assert (tmp_path / "zoo.kb").stat().st_size == 0


@pytest.mark.parametrize("content", ["dog\thypernym\tcanine\n" * 1000, "x", "SQLite format 3"])
def test_a_text_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "zoo.kb").write_text(content)
    open_either_way(tmp_path / "zoo.kb", "is not a knowledge base of hmem")
    assert (tmp_path / "zoo.kb").read_text() == content


def test_the_file_of_another_application(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE fact (id)")
    before = path.read_bytes()
    open_either_way(path, "is not a knowledge base of hmem, but a file of something else")
    assert path.read_bytes() == before


def test_a_base_without_its_tables(tmp_path: Path) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF])
    with closing(sqlite3.connect(tmp_path / "zoo.kb")) as other:
        other.executescript("DROP TABLE fact; DROP TABLE moment")
    open_either_way(tmp_path / "zoo.kb", 'cannot be used as it is: SQLite says "no such table: moment"')


@pytest.mark.parametrize("share", [0.999, 0.5, 0.01])
def test_a_truncated_file(tmp_path: Path, share: float) -> None:
    path = filled(tmp_path / "zoo.kb")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    open_either_way(path, "is damaged|is not a knowledge base")


def use_all_of(store: Store) -> None:
    store.triples()
    store.triples(as_of=1)
    store.changes_since(0, 0, 0)
    list(store.listing())
    store.history()
    store.listing(tail="entity number 4")
    store.count()
    store.add([WOLF])
    store.remove([WOLF])


def test_any_damaged_page_is_noticed(tmp_path: Path) -> None:
    path = filled(tmp_path / "zoo.kb", 600)
    whole = path.read_bytes()
    assert len(whole) > 12 * PAGE_SIZE
    opening: dict[int, str] = {}
    using: dict[int, str] = {}
    for start in range(0, len(whole), PAGE_SIZE):
        path.write_bytes(whole[:start] + b"\xa5" * PAGE_SIZE + whole[start + PAGE_SIZE :])
        try:
            store = Store.open(path)
        except StoreError as error:
            opening[start] = str(error)
            continue
        with store:
            problems = store.check()
            assert problems, f"damage at {start} went unnoticed"
            assert all("\n" not in problem for problem in problems)
            try:
                use_all_of(store)
            except StoreError as error:
                using[start] = str(error)
    assert opening
    assert using
    assert "is not a knowledge base" in opening.pop(0)
    assert all(f"{path} is damaged" in told for told in [*opening.values(), *using.values()])


def test_a_garbled_name_is_noticed(tmp_path: Path) -> None:
    path = filled(tmp_path / "zoo.kb", 20)
    path.write_bytes(path.read_bytes().replace(b"entity number 7", b"entity \xff\xff\xff\xff\xff\xff 7"))
    with Store.open(path) as store:
        with pytest.raises(StoreError, match=r"zoo\.kb .*(UTF-8|damaged)"):
            store.entity_names()
        assert store.check()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("SQLITE_BUSY", "is being written by another process; waited 60 s"),
        ("SQLITE_BUSY_RECOVERY", "is being written by another process"),
        ("SQLITE_FULL", "the disk is full; nothing was changed; free some space"),
        ("SQLITE_IOERR_WRITE", r"could not be read or written \(IOERR_WRITE\), and nothing was changed"),
        ("SQLITE_READONLY_DIRECTORY", "the file or its folder is read-only"),
        ("SQLITE_CANTOPEN", "check that its folder exists"),
        ("SQLITE_CORRUPT_INDEX", "is damaged"),
        ("SQLITE_NOTADB", "is not a knowledge base"),
        ("SQLITE_NOMEM", "more memory"),
        ("SQLITE_CONSTRAINT_UNIQUE", "may be damaged"),
        ("SQLITE_ERROR", 'SQLite says "what it says"'),
    ],
)
def test_what_sqlite_says_in_words(code: str, reason: str) -> None:
    error = sqlite3.OperationalError("what it says")
    error.sqlite_errorname = code
    with pytest.raises(StoreError, match=rf"^zoo\.kb .*{reason}"):
        raise explained(error, Path("zoo.kb"))


def test_an_error_of_the_module_itself_has_no_code() -> None:
    assert 'SQLite says "Could not decode"' in str(explained(sqlite3.OperationalError("Could not decode"), Path("a")))


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE fact SET head = 99 WHERE id = 1",
        "UPDATE fact SET head = -1 WHERE id = 1",
        "UPDATE fact SET head = 'text' WHERE id = 1",
        "UPDATE fact SET head = 1 << 40 WHERE id = 1",
        "UPDATE fact SET added = 'text' WHERE id = 1",
        "UPDATE entity SET name = x'ff' WHERE id = 0",
        "UPDATE moment SET at = 1 << 62",
        "UPDATE moment SET at = 'text'",
        "UPDATE moment SET source = x'ff'",
        "UPDATE fact SET id = 1 << 62 WHERE id = 1",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = x'ff'",
    ],
)
def test_rows_that_cannot_have_been_written_are_one_error(tmp_path: Path, harm: str) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF])
    with closing(sqlite3.connect(tmp_path / "zoo.kb")) as other:
        other.executescript(f"PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; {harm}")
    try:
        damaged = Store.open(tmp_path / "zoo.kb")
    except StoreError:
        return
    with damaged as store:
        assert store.check() != []
        for use in (
            store.triples,
            lambda: store.triples(as_of=1),
            lambda: store.triples(as_of=datetime.now(UTC)),
            store.table,
            lambda: store.changes_since(0, 0, 0),
            lambda: list(store.listing()),
            store.history,
            store.count,
            store.entity_names,
            lambda: store.add([DOG]),
        ):
            with suppress(HMemError):
                use()
