"""Files of other versions: newer ones are refused, older ones are brought up to date step by step."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hmem.errors import StoreError
from hmem.graph.values import Value
from hmem.knowledge.store import schema
from hmem.knowledge.store.sqlite.connection import connect
from hmem.knowledge.store.sqlite.migrate import migrate
from hmem.knowledge.store.store import Store
from tests.knowledge.stores import DOG, WOLF, by_name, finish, start

DATA = Path(__file__).resolve().parents[2] / "data"
OLD = DATA / "first_format" / "people.kb"  # of schema 1
SECOND = DATA / "second_format" / "zoo.kb"  # of schema 2, with labels
LAYOUT = (
    "SELECT m.name, p.name, p.type FROM sqlite_master AS m, pragma_table_info(m.name) AS p ORDER BY 1, p.cid",
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name",
)
NOW = schema.VERSION
ON = ("ALTER TABLE moment ADD COLUMN note TEXT", "UPDATE moment SET note = 'from before'")
AND_ON = ("ALTER TABLE moment RENAME COLUMN note TO remark",)


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
    monkeypatch.setattr(schema, "VERSION", NOW + len(steps))
    monkeypatch.setattr(schema, "MIGRATIONS", dict(enumerate(steps, NOW)))


def test_a_new_file_says_whose_it_is(base: Path) -> None:
    header = base.read_bytes()[:100]
    assert header.startswith(b"SQLite format 3\0")
    assert header[68:72] == b"hmem"
    assert ask(base, "PRAGMA user_version") == [(NOW,)]
    assert ask(base, "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_file_is_refused(base: Path, read_only: bool) -> None:
    ask(base, f"PRAGMA user_version = {NOW + 3}")
    with pytest.raises(StoreError, match=rf"zoo\.kb has schema {NOW + 3}, this hmem knows up to {NOW}; upgrade hmem"):
        Store.open(base, read_only=read_only)
    assert ask(base, "SELECT count(*) FROM fact") == [(1,)]


def test_an_older_file_is_brought_up_to_date(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later_hmem(monkeypatch, ON, AND_ON)
    with Store.open(base) as store:
        assert by_name(store) == [WOLF]
        store.add([DOG])
        assert store.check() == []
    assert ask(base, "SELECT id, remark FROM moment") == [(1, "from before"), (2, None)]
    assert ask(base, "PRAGMA user_version") == [(NOW + 2,)]
    assert list(base.parent.glob("*schema*")) == []


def test_a_step_that_fails_changes_nothing(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later_hmem(monkeypatch, ON, ("ALTER TABLE moment ADD COLUMN another TEXT", "nonsense"))
    with pytest.raises(StoreError, match=r"zoo\.kb .*syntax error"):
        Store.open(base)
    assert ask(base, "PRAGMA user_version") == [(NOW + 1,)]  # the first step stands, of the second nothing does
    columns = [column for _, column, *_ in ask(base, "PRAGMA table_info(moment)")]
    assert columns == ["id", "at", "source", "note"]


def test_a_copy_of_what_was_there_is_kept_until_a_step_has_succeeded(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = base.with_name(f"zoo.kb.schema{NOW}")
    copy.write_text("left by a process that was killed", encoding="utf-8")
    with monkeypatch.context() as patch:
        later_hmem(patch, (*ON, "nonsense"))
        with pytest.raises(StoreError, match=r"zoo\.kb .*syntax error"):
            Store.open(base)
    with Store.open(copy) as store:
        assert by_name(store) == [WOLF]
        assert store.check() == []
    later_hmem(monkeypatch, ON)
    Store.open(base).close()
    assert not copy.exists()


def test_a_file_of_the_first_schema_gains_empty_labels_and_loses_nothing(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD, tmp_path))
    tables = ("moment", "entity", "relation", "fact", "meta")
    before = [ask(path, f"SELECT * FROM {table}") for table in tables]
    with Store.open(path) as store:
        assert store.check() == []
        assert store.count()["facts"] == len([row for row in before[3] if row[6] is None])
    after = [ask(path, f"SELECT * FROM {table}") for table in tables]
    assert [row[:7] for row in after[3]] == before[3]
    assert {row[7:] for row in after[3]} == {(None,) * 4}
    assert [*after[:3], after[4]] == [*before[:3], before[4]]
    new = tmp_path / "new.kb"
    Store.create(new).close()
    assert [ask(path, each) for each in LAYOUT] == [ask(new, each) for each in LAYOUT]


def test_a_file_of_the_second_schema_gains_values_and_loses_nothing(tmp_path: Path) -> None:
    path = Path(shutil.copy(SECOND, tmp_path))
    tables = ("moment", "entity", "relation", "fact", "entity_text", "relation_text", "meta")
    before = [ask(path, f"SELECT * FROM {table}") for table in tables]
    with Store.open(path) as store:
        assert store.check() == []
        assert store.count()["values"] == 0
        assert [ask(path, f"SELECT * FROM {table}") for table in tables] == before
        assert store.values.set("gray wolf", "height", [Value.of(0.8, "m")])
        assert store.check() == []
    new = tmp_path / "new.kb"
    Store.create(new).close()
    assert [ask(path, each) for each in LAYOUT] == [ask(new, each) for each in LAYOUT]
    assert list(tmp_path.glob("*.schema*")) == []


@pytest.mark.parametrize("old", [OLD, SECOND])
def test_an_older_file_can_be_read_where_nothing_can_be_written(tmp_path: Path, old: Path) -> None:
    path = Path(shutil.copy(old, tmp_path))
    content = path.read_bytes()
    with Store.open(path, read_only=True) as store:
        read = by_name(store), [*store.listing()], store.history(), store.count(), store.check()
        assert not [*store.values.listing(), *store.values.history(), *store.values.properties()]
        assert store.contains(*read[0][0])
    assert path.read_bytes() == content
    assert read[4] == []
    Store.open(path).close()
    with Store.open(path) as store:
        assert (by_name(store), [*store.listing()], store.history()) == read[:3]


def test_processes_that_open_a_file_of_the_first_schema_at_once_find_the_same(tmp_path: Path) -> None:
    path = Path(shutil.copy(OLD, tmp_path))
    with Store.open(path, read_only=True) as store:
        facts = store.count()["facts"]
    script = """
        with Store.open(argv[0]) as store:
            print(store.count()["facts"], store.check())
    """
    assert [finish(each) for each in [start(script, path) for _ in range(4)]] == [f"{facts} []\n"] * 4
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_who_cannot_write_cannot_bring_it_up_to_date(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later_hmem(monkeypatch, ON)
    with pytest.raises(StoreError, match=f"has schema {NOW}, this hmem works with {NOW + 1}; open it once for"):
        Store.open(base, read_only=True)


def test_an_unknown_version_is_refused(base: Path) -> None:
    ask(base, "PRAGMA user_version = 0")
    with pytest.raises(StoreError, match=f"has schema 0, which this hmem cannot bring to {NOW}"):
        Store.open(base)


def test_a_step_knows_the_tables_that_another_process_has_just_changed(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(connect(base, "rw")) as slow:
        assert slow.execute("SELECT count(*) FROM moment").fetchone() == (1,)
        later_hmem(monkeypatch, ON)
        Store.open(base).close()
        later_hmem(monkeypatch, ON, AND_ON)
        migrate(slow, base, connect)
    assert ask(base, "SELECT remark FROM moment") == [("from before",)]


def test_several_processes_bring_it_up_to_date_once(base: Path) -> None:
    script = f"""
        from hmem.knowledge.store import schema
        schema.VERSION, schema.MIGRATIONS = {NOW + 2}, {{{NOW}: {ON!r}, {NOW + 1}: {AND_ON!r}}}
        with Store.open(argv[0]) as store:
            print(store.count()["facts"])
    """
    assert [finish(each) for each in [start(script, base) for _ in range(4)]] == ["1\n"] * 4
    assert ask(base, "PRAGMA user_version") == [(NOW + 2,)]
