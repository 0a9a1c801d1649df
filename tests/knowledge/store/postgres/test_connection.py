"""A base in PostgreSQL: what it says when it cannot be used, and what it does when the connection is lost."""

import importlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from hmem.errors import ConfigError, StoreError, UnknownNameError
from hmem.knowledge.store import errors as store_errors
from hmem.knowledge.store import schema
from hmem.knowledge.store.database import Database
from hmem.knowledge.store.places import Address
from hmem.knowledge.store.postgres import create, errors, listening, server
from hmem.knowledge.store.postgres.connection import PostgresConnection
from hmem.knowledge.store.postgres.schema import in_words_of_postgres
from hmem.knowledge.store.store import Store
from hmem.serve.sockets import bind
from tests.knowledge.stores import DOG, PAW, WOLF, by_name, finish, start
from tests.pooler import pooled
from tests.postgres import Postgres, postgres, refuse_without


@pytest.fixture
def address() -> str:
    return postgres().new_address()


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with Store.create(address) as made:
        yield made


def raw(store: Store) -> Any:
    """The connection of psycopg that a store has at present."""
    assert isinstance(store._connection, PostgresConnection)
    return store._connection._open()


def on_the_side(address: str, *statements: str) -> None:
    """What an administrator types."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(address.partition("&schema=")[0], autocommit=True) as other:
        for statement in statements:
            other.execute(statement)


def lose(store: Store, address: str) -> None:
    """End the store's session on the server."""
    on_the_side(address, f"SELECT pg_terminate_backend({raw(store).info.backend_pid})")


def test_bases_of_one_database_know_nothing_of_each_other(store: Store) -> None:
    store.add([WOLF])
    with Store.create(postgres().new_address()) as other:
        other.add([DOG, PAW])
        assert (by_name(store), by_name(other)) == ([WOLF], [DOG, PAW])


def test_a_base_that_exists_is_replaced_only_if_asked_and_not_while_it_is_open(
    store: Store, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([WOLF])
    with pytest.raises(StoreError, match="exists already; to begin anew: overwrite=True"):
        Store.create(address)
    monkeypatch.setattr(create, "LEAVING", 0.1)
    with pytest.raises(StoreError, match="is open in this or another process"):
        Store.create(address, overwrite=True)
    monkeypatch.undo()
    store.close()
    with pytest.raises(UnknownNameError), Store.building(address, overwrite=True) as new:  # noqa: PT012
        new.add([DOG])
        new.remove([WOLF])
    with Store.open(address) as again:
        assert by_name(again) == [WOLF]
    with Store.building(address, overwrite=True) as new:
        new.add([DOG])
        new.naming.describe("entity", "dog", label="a dog")
        with pytest.raises(StoreError, match="there is no knowledge base"):
            Store.open(postgres().address("nowhere"))
    with Store.open(address) as again:
        assert by_name(again) == [DOG]
        assert again.check() == []


def test_tables_of_others_are_left_alone(address: str) -> None:
    name = address.partition("&schema=")[2]
    on_the_side(address, f"CREATE SCHEMA {name}", f"CREATE TABLE {name}.fact (a int)")
    with pytest.raises(StoreError, match="is a schema with a table fact of something else; choose another"):
        Store.create(address)
    on_the_side(address, f"DROP TABLE {name}.fact", f"CREATE TABLE {name}.mine (a int)")
    Store.create(address).close()
    Store.create(address, overwrite=True).close()
    on_the_side(address, f"DROP TABLE {name}.mine")  # it is still there


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://me:secret@127.0.0.1:1/zoo", "cannot be reached: Connection refused; is the server running"),
        (
            "postgresql://hmem:secret@/nothing?host={folder}",
            'cannot be opened: database "nothing" does not exist; make',
        ),
        ("postgresql://nobody:secret@/postgres?host={folder}", 'cannot be opened: role "nobody" does not exist'),
        ("postgresql://hmem:secret@/postgres?host={folder}&schema=none", "there is no knowledge base"),
        ("postgresql://hmem:secret@/postgres?host={folder}&wrong=1", 'is no address that can be used: .*"wrong"'),
        ("postgresql://hmem@/postgres?host=/nowhere&password=secret", "cannot be reached: No such file or directory"),
    ],
)
def test_what_cannot_be_opened_is_said_in_one_line_without_the_password(url: str, reason: str) -> None:
    with pytest.raises(StoreError, match=reason) as caught:
        Store.open(url.replace("{folder}", str(postgres().folder)))
    said = str(caught.value)
    assert "secret" not in said + repr(caught.value) + str(caught.value.path) + repr(caught.value.path)
    assert "\n" not in said


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://me:sec#ret@host/zoo",
        "postgresql://me:sec[ret@host/zoo",
        "postgresql://me:sec/ret@host/zoo",
        "postgresql://me:sec?ret@host/zoo",
        "postgresql://me:x@sec@host/zoo",
        "postgresql://me:sec%@host/zoo",
        "postgresql:me:sec@host/zoo",
        "mysql://me:sec@host/zoo",
        "host=127.0.0.1 user=me password=sec",
    ],
)
def test_a_password_that_is_no_part_of_the_address_is_not_shown_either(wrong: str) -> None:
    with pytest.raises(ConfigError, match="expected an address such as") as caught:
        Store.open(wrong)
    assert "sec" not in str(caught.value)


@pytest.mark.parametrize("option", ["password", "PASSWORD", "pasword", "sslpassword", "scram_client_key"])
def test_no_option_that_may_be_a_secret_is_shown(option: str) -> None:
    shown = str(Address.parse(f"POSTGRES://me@host/zoo?{option}=sec&sslmode=require"))
    assert shown == "postgresql://me@host/zoo?sslmode=require"


@pytest.mark.parametrize("name", ["it's", 'a"b', "q?x", "p%s", "ifnull(", "A.B c", "\N{WOLF FACE}", "b\\s", "x" * 63])
def test_a_schema_may_have_any_name(name: str) -> None:
    address = postgres().address(quote(name, safe=""))
    for overwrite in (False, True):
        with Store.create(address, overwrite=overwrite) as store:
            store.add([WOLF])
            assert store.compact()[0] > 0
            assert store.version
            assert store.check() == []
    with Store.open(address) as store:
        assert by_name(store) == [WOLF]


def test_what_is_usual_in_a_database_changes_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its isolation of transactions, nor how it rounds, nor how the user's programs write text."""
    on_the_side(
        address,
        "CREATE DATABASE odd",
        "ALTER DATABASE odd SET default_transaction_isolation = 'serializable'",
        "ALTER DATABASE odd SET extra_float_digits = 0",
    )
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    address = address.replace("/postgres?", "/odd?")
    Store.create(address).close()

    def write(writer: int) -> None:
        with Store.open(address) as store:
            for number in range(10):
                store.add([(f"\N{WOLF FACE} {writer}", "r", f"{number}")], confidence=0.1 + 0.2)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    with Store.open(address) as store:
        assert {fact.confidence for fact in store.listing()} == {0.1 + 0.2}
        assert (store.moment, store.check()) == (30, [])


def test_a_limit_on_the_time_of_a_statement_is_named(address: str) -> None:
    limited = address.replace("&schema=", "&options=-c%20statement_timeout%3D50&schema=")
    Store.create(address).close()
    told = pytest.raises(StoreError, match=r"in the time that its server allows .*; raise statement_timeout")
    with Store.open(address) as store, Store.open(limited) as other, store._connection.writing(), told:
        other.add([WOLF])


def test_without_the_package_it_says_how_to_get_it(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ConfigError, match=r"needs the package psycopg; pip install 'hmem\[postgres\]'"):
        Store.open(address)


def test_an_old_server_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "OLDEST", 990000)
    with pytest.raises(StoreError, match="hmem works with 99 and later"):
        Store.create(address)


def test_who_may_only_read_reads(store: Store, address: str) -> None:
    store.add([WOLF])
    name = address.partition("&schema=")[2]
    on_the_side(address, "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN")
    other = address.replace("//hmem@", "//reader@")
    with pytest.raises(StoreError, match="may not be used like that by this user"):
        Store.open(other)
    on_the_side(
        address, f"GRANT USAGE ON SCHEMA {name} TO reader", f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader"
    )
    with Store.open(other) as reader:
        assert by_name(reader) == [WOLF]
        with pytest.raises(StoreError, match=r"may not be used like that by this user \(permission denied for table"):
            reader.add([DOG])
        assert by_name(reader) == [WOLF]
    on_the_side(address, "DROP OWNED BY reader", "DROP ROLE reader")


def test_other_versions(store: Store, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add([WOLF])
    name = address.partition("&schema=")[2]
    on_the_side(address, f"UPDATE {name}.base SET version = {schema.VERSION + 1}")
    with pytest.raises(
        StoreError, match=f"has schema {schema.VERSION + 1}, this hmem knows up to {schema.VERSION}; upgrade"
    ):
        Store.open(address)
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 2)
    more = (schema._text_table("moment"), "ALTER TABLE moment ADD COLUMN note TEXT")
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, more)
    with pytest.raises(StoreError, match="open it once for writing to bring it up to date"):
        Store.open(address, read_only=True)
    with Store.open(address) as migrated:
        assert by_name(migrated) == [WOLF]
        assert migrated._connection.read(_columns, name) >= {"note", "source"}
    on_the_side(address, f"UPDATE {name}.base SET version = 1")
    monkeypatch.delitem(schema.MIGRATIONS, 1)
    with pytest.raises(StoreError, match="has schema 1, which this hmem cannot bring to"):
        Store.open(address)


def _columns(db: Database, name: str) -> set[str]:
    asked = "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = 'moment'"
    return {column for (column,) in db.execute(asked, (name,))}


def test_a_lost_connection_is_made_anew(store: Store, address: str) -> None:
    store.add([WOLF])
    for use in (store.triples, lambda: store.moment, lambda: store.version, lambda: store.add([DOG]), store.check):
        lose(store, address)
        use()
    assert by_name(store) == [WOLF, DOG]


def test_a_connection_that_is_lost_in_the_middle(store: Store, address: str) -> None:
    """What was read is read again, what was written is written again, and no more than once."""
    lost: list[int] = []

    def losing(work: Callable[[Database], object]) -> Callable[[Database], object]:
        def once(db: Database) -> object:
            found = work(db)
            if not lost:
                lost.append(1)
                lose(store, address)
                return work(db)  # which finds the connection gone
            return found

        return once

    def note(db: Database) -> object:
        db.execute("INSERT INTO meta (key, value) VALUES ('a', 'b')")
        return db.execute("SELECT count(*) FROM meta").fetchone()[0]

    store._connection.write(losing(note))
    assert store.metas() == {"a": "b"}
    lost.clear()
    assert store._connection.read(losing(lambda db: db.execute("SELECT count(*) FROM meta").fetchone()[0])) == 1


def lose_at_commit(
    store: Store, patch: pytest.MonkeyPatch, *, is_carried_out: bool, then: Callable[[], object] = lambda: None
) -> None:
    """Let the connection be lost while the next commit is on its way: before the server has it, or after."""
    own = raw(store)
    execute = own.execute

    def lost(sql: str, *given: object, **named: object) -> object:
        if sql != "COMMIT":
            return execute(sql, *given, **named)
        if is_carried_out:
            execute(sql)
        own.close()
        then()
        raise pytest.importorskip("psycopg").OperationalError("the connection was lost")

    patch.setattr(own, "execute", lost)


@pytest.mark.parametrize("is_carried_out", [True, False])
@pytest.mark.parametrize("work", ["add", "merge", "undo"])
def test_a_write_whose_end_is_not_known_is_carried_out_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, work: str, is_carried_out: bool
) -> None:
    store.add([WOLF, DOG, PAW])
    lose_at_commit(store, monkeypatch, is_carried_out=is_carried_out)
    match work:
        case "add":
            assert len(store.add([("lynx", "hypernym", "feline")], source="me").changed) == 1
        case "merge":
            assert store.merge("wolf", "dog").stored_before == 1
        case "undo":
            assert store.undo(1).removed == 3
    assert store.moment == 2
    assert store.check() == []


def test_a_pooler_may_lend_another_connection_for_each_transaction() -> None:
    """Statements that one connection has prepared are unknown to the next, or known by a name that is taken."""
    refuse_without()
    with bind("127.0.0.1", 0) as free:
        port: int = free.getsockname()[1]
    pg = Postgres(host="127.0.0.1", port=port)
    try:
        with pooled(port) as own:
            address = f"postgresql://hmem@127.0.0.1:{own}/postgres?sslmode=disable&gssencmode=disable"
            Store.create(address).close()

            def write(writer: int) -> None:
                with Store.open(address) as store:
                    for number in range(15):
                        fact = (f"{writer}", "r", f"{number}")
                        store.add([fact])
                        assert store.contains(*fact)

            with ThreadPoolExecutor(3) as pool:
                list(pool.map(write, range(3)))
            with Store.open(address) as store:
                assert (store.moment, store.check()) == (45, [])
    finally:
        pg.remove()


def test_the_write_of_another_is_not_taken_for_a_lost_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the clock is so far behind that both have the same number and the same time."""
    store.add([PAW])
    monkeypatch.setattr("time.time_ns", lambda: 0)
    with Store.open(store.path) as other:
        lose_at_commit(store, monkeypatch, is_carried_out=False, then=lambda: other.add([DOG]))
        store.add([WOLF])
    assert by_name(store) == [PAW, DOG, WOLF]


def test_a_base_that_was_replaced_is_not_mixed_up_with_the_new_one(store: Store, address: str) -> None:
    store.add([WOLF])
    on_the_side(address, f"DROP SCHEMA {address.partition('&schema=')[2]} CASCADE")
    with pytest.raises(StoreError, match="is not a knowledge base of hmem, or is one no longer"):
        store.triples()
    with Store.create(address) as new:
        new.add([DOG])
    for use in (store.triples, lambda: store.moment, lambda: store.version, lambda: store.add([PAW])):
        with pytest.raises(StoreError, match="was replaced while it was open"):
            use()
    with Store.open(address) as new:
        assert by_name(new) == [DOG]


def test_if_nobody_can_tell_it_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise errors.LostError("{path} cannot be reached: gone", path=store.path)

    lose_at_commit(store, monkeypatch, is_carried_out=True)
    monkeypatch.setattr(server.Server, "connect_patiently", gone)
    with pytest.raises(StoreError, match=r"whether it was carried out is not known; see the list of writes") as caught:
        store.add([WOLF])
    assert "while write 1 was committed, and since then it cannot be reached: gone" in str(caught.value)


@pytest.mark.slow
def test_writers_take_turns_and_number_without_gaps(address: str) -> None:
    Store.create(address).close()
    script = """
        with Store.open(argv[0]) as store:
            for i in range(20):
                store.add([(f"{argv[1]} {i}", f"r{i % 3}", f"{i}")])
                if i % 5 == 0:
                    try:
                        store.add([(f"{argv[1]} {i} never", "r", "x"), ("", "", "")])
                    except Exception:
                        pass
        """
    for process in [start(script, address, number) for number in range(2)]:
        finish(process)
    with Store.open(address) as store:
        assert len(store.triples()) == 40
        assert store.moment == 40
        assert store.check() == []


def test_a_writer_waits_for_the_other_and_then_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_errors, "BUSY_SECONDS", 0.05)
    with Store.open(store.path) as other, other._connection.writing():
        with pytest.raises(StoreError, match=r"is being written by another process; waited 0.05 s"):
            store.add([WOLF])
        assert by_name(store) == []  # reads do not wait


def test_writes_of_others_are_heard_of(store: Store, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "TURN", 0.05)
    monkeypatch.setattr(listening, "AGAIN_AFTER", 0.05)
    heard = threading.Semaphore(0)
    with Store.open(store.path) as other:
        stop = other.when_written(heard.release)
        assert heard.acquire(timeout=20)  # that it listens from now on
        store.add([WOLF])
        assert heard.acquire(timeout=20)
        assert other.moment == 1
        on_the_side(address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN hmem'")
        assert heard.acquire(timeout=20)  # something may have been missed meanwhile
        store.add([DOG])
        assert heard.acquire(timeout=20)
        stop()


def test_the_version_is_another_after_each_write(store: Store) -> None:
    with Store.open(store.path) as other:
        seen = [other.version]
        for write in (lambda: store.add([WOLF]), lambda: store.set_meta(a="b"), lambda: store.set_meta(a="c")):
            write()
            assert other.version == other.version not in seen
            seen.append(other.version)


def test_threads_share_a_store(store: Store) -> None:
    def work(thread: int) -> int:
        for number in range(10):
            store.add([(f"t{thread}", "r", str(number))])
            assert len(list(store.listing(head=f"t{thread}"))) == number + 1
        return thread

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 6
    assert store.check() == []


def test_the_check_finds_what_tables_do_not_make_sure_of(store: Store, address: str) -> None:
    store.add([WOLF, DOG])
    name = address.partition("&schema=")[2]
    on_the_side(
        address,
        f"INSERT INTO {name}.fact (head, relation, tail, added) VALUES (99, 0, 0, 7)",
        f"UPDATE {name}.fact SET id = 9 WHERE id = 1",
        f"DROP INDEX {name}.fact_by_tail",
        f"INSERT INTO {name}.value (entity, property, text, datatype, added) VALUES (0, 0, 'x', 'y', 1)",
    )
    found = "\n".join(store.check())
    for problem in (
        "the index fact_by_tail is missing",
        "rows of fact that point to nothing in the table entity: 1",
        "rows of fact that point to nothing in the table moment: 1",
        "rows of value that point to nothing in the table property: 1",
        "3 rows of fact are numbered 2 to 9; expected 1 to 3",
    ):
        assert problem in found


def test_statements_in_the_words_of_postgres() -> None:
    table, function, default = in_words_of_postgres(schema._text_table("entity"))
    assert "REFERENCES" not in table
    assert 'text TEXT COLLATE "C" NOT NULL' in table
    assert "max(id)" in function
    assert "next_entity_text()" in default
