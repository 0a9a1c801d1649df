"""Files of other versions: newer ones are refused, older ones are brought up to date step by step."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hmem.errors import StoreError
from hmem.knowledge.store import schema
from hmem.knowledge.store.store import Store
from tests.knowledge.stores import DOG, WOLF, by_name, finish, start

TO_2 = ("ALTER TABLE moment ADD COLUMN note TEXT", "UPDATE moment SET note = 'from version 1'")
TO_3 = ("ALTER TABLE moment RENAME COLUMN note TO remark",)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([WOLF])
    return tmp_path / "zoo.kb"


def ask(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


def later_hmem(monkeypatch: pytest.MonkeyPatch, *steps: tuple[str, ...]) -> None:
    """As if hmem had moved on since the file was written."""
    monkeypatch.setattr(schema, "VERSION", 1 + len(steps))
    monkeypatch.setattr(schema, "MIGRATIONS", dict(enumerate(steps, 1)))


def test_a_new_file_says_whose_it_is(base: Path) -> None:
    header = base.read_bytes()[:100]
    assert header.startswith(b"SQLite format 3\0")
    assert header[68:72] == b"hmem"
    assert ask(base, "PRAGMA user_version") == [(1,)]
    assert ask(base, "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_file_is_refused(base: Path, read_only: bool) -> None:
    ask(base, "PRAGMA user_version = 4")
    with pytest.raises(StoreError, match=r"zoo\.kb has schema 4, this hmem knows up to 1; upgrade hmem"):
        Store.open(base, read_only=read_only)
    assert ask(base, "SELECT count(*) FROM fact") == [(1,)]


def test_an_older_file_is_brought_up_to_date(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later_hmem(monkeypatch, TO_2, TO_3)
    with Store.open(base) as store:
        assert by_name(store) == [WOLF]
        store.add([DOG])
        assert store.check() == []
    assert ask(base, "SELECT id, remark FROM moment") == [(1, "from version 1"), (2, None)]
    assert ask(base, "PRAGMA user_version") == [(3,)]


def test_a_step_that_fails_changes_nothing(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later_hmem(monkeypatch, TO_2, ("ALTER TABLE moment ADD COLUMN another TEXT", "nonsense"))
    with pytest.raises(StoreError, match=r"zoo\.kb .*syntax error"):
        Store.open(base)
    assert ask(base, "PRAGMA user_version") == [(2,)]  # the first step stands, of the second nothing does
    columns = [column for _, column, *_ in ask(base, "PRAGMA table_info(moment)")]
    assert columns == ["id", "at", "source", "note"]


def test_who_cannot_write_cannot_bring_it_up_to_date(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later_hmem(monkeypatch, TO_2)
    with pytest.raises(StoreError, match="has schema 1, this hmem works with 2; open it once for writing"):
        Store.open(base, read_only=True)


def test_an_unknown_version_is_refused(base: Path) -> None:
    ask(base, "PRAGMA user_version = 0")
    with pytest.raises(StoreError, match="has schema 0, which this hmem cannot bring to 1"):
        Store.open(base)


def test_several_processes_bring_it_up_to_date_once(base: Path) -> None:
    script = f"""
        from hmem.knowledge.store import schema
        schema.VERSION, schema.MIGRATIONS = 3, {{1: {TO_2!r}, 2: {TO_3!r}}}
        with Store.open(argv[0]) as store:
            print(store.count()["facts"])
    """
    assert [finish(each) for each in [start(script, base) for _ in range(4)]] == ["1\n"] * 4
    assert ask(base, "PRAGMA user_version") == [(3,)]
