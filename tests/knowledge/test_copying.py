"""A copy of a base is the base: every row, whatever engine has it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hmem.errors import StoreError
from hmem.graph.values import Value
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.copying import copy
from hmem.knowledge.store import copying
from hmem.knowledge.store.database import Database
from hmem.knowledge.store.places import At
from hmem.knowledge.store.store import Store
from tests.cli.conftest import Command, command, here  # noqa: F401
from tests.knowledge.conftest import ModelFolder
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import DOG, PAW, WOLF, all_rows

WAYS = [("sqlite", "postgres"), ("postgres", "sqlite"), ("sqlite", "sqlite"), ("postgres", "postgres")]


def fill(place: At) -> None:
    """Something of all that a base can hold, and of all that can happen to it."""
    with Store.create(place) as store:
        store.add([WOLF, DOG], source="me", confidence=[0.1 + 0.2, None], valid_from="1999", valid_until="2001-02-03")
        store.add([PAW, ("a\n\\.\nb", "\t", "\\N"), ("x" * 10_000, "\N{WOLF FACE}" * 3000, "' \" ? %s %")], source="it")
        store.add([("cat", "eats", "mouse")], inferred_by="some@model", probability=0.7)
        store.add([("cat", "eats", "mouse")])
        store.remove([DOG], source="who")
        store.add([DOG])
        store.naming.describe("entity", "wolf", label="a wolf", aliases=["Wolf", "w" * 9000], kind="animal")
        store.naming.describe("relation", "eats", inverse="is eaten by", description="as food")
        values = [Value(text="1.5", datatype="decimal", unit="m"), Value(text="", datatype="string", language="de")]
        store.values.set("wolf", "height", values)
        store.values.set("wolf", "height", values[1:])
        store.naming.describe("property", "height", label="Height")
        store.merge("canine", "cat", source="merged")
        store.undo(1)
        store.set_meta(anything="some\nthing")


def rows(place: At) -> dict[str, list[tuple[object, ...]]]:
    with Store.open(place, read_only=True) as store:
        return all_rows(store)


@contextmanager
def bases(*engines: Engine) -> Iterator[list[At]]:
    with ExitStack() as stack:
        yield [stack.enter_context(new_base(engine)) for engine in engines]


@pytest.mark.parametrize("engines", WAYS, ids=" to ".join)
def test_a_copy_has_every_row_and_goes_on_alike(
    engines: tuple[Engine, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "ROWS_AT_ONCE", 3)
    with bases(*engines) as (source, target):
        fill(source)
        told: list[tuple[str, int, int]] = []
        counts = copy(source, target, watch=lambda *each: told.append(each))
        before = rows(source)
        assert rows(target) == before
        assert counts == {table: len(found) for table, found in before.items()}
        assert min(counts.values()) > 0
        assert ("copying fact", 3, counts["fact"]) in told
        with pytest.raises(StoreError, match="exists already"):
            copy(source, target)
        for place in (source, target):
            with Store.open(place) as store:
                assert store.check() == []
                monkeypatch.setattr("time.time_ns", lambda: 4_000_000_000_000_000_000)
                store.undo(8)
                store.add([("new", "eats", "wolf")], by_label=True)
                assert store.values.set("new", "height", [Value(text="2", datatype="integer")])
        assert rows(target) == rows(source) != before


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_rows_that_come_out_otherwise_are_noticed_and_nothing_is_there(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = copying._copy
    with bases("sqlite", engine) as (source, target):
        fill(source)

        def wrong(new: Database, table: str, columns: tuple[str, ...], found: copying.Rows) -> None:
            plain(new, table, columns, found)
            if table == "fact":
                new.execute("UPDATE fact SET confidence = 0.5 WHERE id = 2")

        monkeypatch.setattr(copying, "_copy", wrong)
        with pytest.raises(StoreError, match="the rows of fact are not those that they were copied from"):
            copy(source, target)
        with pytest.raises(StoreError, match="there is no knowledge base"):
            Store.open(target)


def test_a_copy_uses_the_same_model(tmp_path: Path, model_folder: ModelFolder) -> None:
    folder = model_folder("recall")
    (tmp_path / "elsewhere").mkdir()
    with bases("postgres") as (address,):
        KnowledgeBase.create(tmp_path / "a.kb", model=folder, facts=[WOLF, DOG]).close()
        copy(tmp_path / "a.kb", address)
        copy(address, tmp_path / "elsewhere" / "b.kb")
        for place in (tmp_path / "a.kb", address, tmp_path / "elsewhere" / "b.kb"):
            with KnowledgeBase.open(place, read_only=True) as kb:
                assert kb.model_link is not None
                assert kb.model_link.folder == folder


def test_the_command(tmp_path: Path, command: Command) -> None:  # noqa: F811
    with bases("sqlite", "postgres") as (source, target):
        fill(source)
        answer = command("kb", "copy", str(source), str(target))
        assert answer.code == 0
        assert answer.out.startswith(f"{target}: 9 facts, 10 entities, 13 writes, removed ones included; all ")
        assert command("kb", "copy", str(source), str(target)).err.endswith("to begin anew: --overwrite\n")
        assert command("kb", "check", str(target)).code == 0
