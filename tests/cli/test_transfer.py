"""Facts that come from several places and mean the same, and what is said when they do not come at all."""

import errno
from pathlib import Path

import pytest

from hmem.knowledge.store.sqlite.loading import ROWS_AT_ONCE
from hmem.knowledge.store.store import Store
from tests.cli.conftest import Command


@pytest.fixture
def kb(command: Command) -> str:
    Store.create("zoo.kb").close()
    return "zoo.kb"


def entities() -> set[str]:
    with Store.open("zoo.kb") as store:
        return set(store.entity_names())


def facts() -> int:
    with Store.open("zoo.kb") as store:
        return store.count()["facts"]


def test_rdf_files_agree_on_what_is_the_same_and_on_nothing_else(command: Command, kb: str) -> None:
    pytest.importorskip("pyoxigraph")
    Path("one.ttl").write_text("@prefix ex: <http://example.org/> . ex:rex ex:has _:b1 .")
    Path("same.nt").write_text("<http://example.org/rex> <http://example.org/is> <http://example.org/dog> .")
    Path("other.ttl").write_text("@prefix ex: <http://other.org/> . ex:rex ex:has _:b1 .")
    assert command("facts", "import", kb, "one.ttl", "same.nt", "other.ttl").code == 0
    blank = {name for name in entities() if name.startswith("_:")}
    assert len(blank) == 2
    assert entities() - blank == {"http://example.org/rex", "http://example.org/dog", "http://other.org/rex"}
    assert command("facts", "import", kb, "one.ttl").out == "one.ttl: 0 facts added, 1 stored already\n"


def test_short_names_are_there_for_those_who_want_them(command: Command, kb: str) -> None:
    pytest.importorskip("pyoxigraph")
    Path("one.ttl").write_text("@prefix ex: <http://example.org/> . ex:rex ex:is ex:dog .")
    assert command("facts", "import", kb, "one.ttl", "--short-names").code == 0
    assert entities() == {"ex:rex", "ex:dog"}
    Path("a.tsv").write_text("a\tr\tb\n")
    assert command("facts", "import", kb, "a.tsv", "--short-names") == (
        2,
        "",
        "hmem: --short-names has no meaning for tsv; leave it out\n",
    )


def test_a_dataset_is_imported_by_name_or_folder(command: Command, kb: str) -> None:
    Path("toy").mkdir()
    Path("toy/train.tsv").write_text("a\tr\tb\n")
    Path("toy/valid.tsv").write_text("b\tr\ta\n")
    Path("toy/test.tsv").write_text("b\tr\tb\n")
    assert command("facts", "import", kb, "toy").out.startswith("toy: 1 fact added, 0 stored already\n")
    found = command("facts", "import", kb, "wordnet-mini")
    assert found.out.startswith("wordnet-mini: 15,542 facts added, 0 stored already\n")


def test_ctrl_c_says_what_was_stored(command: Command, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rows in (("few.tsv", 3), ("many.tsv", ROWS_AT_ONCE + 1)):
        Path(name).write_text("".join(f"{name}{row}\tr\tb\n" for row in range(rows)))
    monkeypatch.setattr("hmem.knowledge.store.sqlite.loading._Rows._insert", interrupted_at("many.tsv0"))
    assert command("facts", "import", kb, "many.tsv") == (130, "", "hmem: interrupted; nothing was stored\n")
    assert facts() == 0
    assert command("facts", "import", kb, "few.tsv", "many.tsv") == (
        130,
        "",
        "hmem: interrupted; only few.tsv was stored\n",
    )
    assert facts() == 3


def interrupted_at(head: str):  # type: ignore[no-untyped-def]
    """`_insert` that is interrupted in the file with this head, after some of its rows."""
    from hmem.knowledge.store.sqlite import loading

    insert = loading._Rows._insert

    def stopped(rows, source):  # type: ignore[no-untyped-def]
        (first,) = rows.db.execute("SELECT name FROM entity WHERE id = ?", (int(rows.facts[0, 0]),)).fetchone()
        moment = insert(rows, source)
        if first == head:
            raise KeyboardInterrupt
        return moment

    return stopped


@pytest.mark.parametrize("name", ["all.tsv", "all.csv.gz", "all.parquet"])
def test_a_full_disk_is_said_of_the_file_that_was_asked_for(
    command: Command, kb: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "[Errno 28] Error writing bytes to file")

    command("facts", "add", kb, "a", "r", "b")
    monkeypatch.setattr("hmem.knowledge.export.write_table", full)
    assert command("facts", "export", kb, name) == (
        1,
        "",
        f"hmem: {name} cannot be written: No space left on device\n",
    )
    assert [path.name for path in Path().iterdir() if "all" in path.name] == []


def test_a_folder_that_is_not_there_is_said_without_names_of_our_own(command: Command, kb: str) -> None:
    command("facts", "add", kb, "a", "r", "b")
    assert command("facts", "export", kb, "no/all.tsv").err == (
        "hmem: no/all.tsv cannot be written: No such file or directory\n"
    )


@pytest.mark.parametrize("format", ["nt", "ttl.gz", "jsonld", "graphml.zst"])
def test_a_base_goes_into_a_file_and_comes_back(command: Command, kb: str, format: str) -> None:
    command("facts", "add", kb, "a b", "r", "c", "--confidence", "0.5")
    command("entities", "describe", kb, "a b", "--label", "A")
    assert command("facts", "export", kb, f"all.{format}") == (0, f"all.{format}: 1 fact\n", "")
    assert "exists already" in command("facts", "export", kb, f"all.{format}").err
    assert command("kb", "create", "back.kb", "--facts", f"all.{format}").code == 0
    assert command("entities", "show", "back.kb", "A").out.split()[:4] == ["id", "a", "b", "label"]
    assert '"confidence": 0.5' in command("facts", "list", "back.kb", "--json", "-").out


def test_neo4j_is_a_folder_of_two_files(command: Command, kb: str) -> None:
    command("facts", "add", kb, "a", "r", "b")
    assert command("facts", "export", kb, "neo", "--format", "neo4j") == (0, "neo: 1 fact\n", "")
    assert sorted(path.name for path in Path("neo").iterdir()) == ["nodes.csv", "relationships.csv"]
    Path("neo/nodes.csv").unlink()
    assert "relationships.csv exists already" in command("facts", "export", kb, "neo", "--format", "neo4j").err
    assert not Path("neo/nodes.csv").exists()
    assert command("facts", "export", kb, "neo", "--format", "neo4j", "--overwrite").code == 0
    assert command("facts", "import", kb, "neo/relationships.csv").out.startswith("relationships.csv: 0 facts added")
    Path("neo/nodes.csv").unlink()
    Path("neo/nodes.csv").symlink_to(Path(kb).absolute())
    again = command("facts", "export", kb, "neo", "--format", "neo4j", "--overwrite")
    assert "and is not overwritten" in again.err
    assert "is a file" in command("facts", "export", kb, kb, "--format", "neo4j").err
    assert "name the folder" in command("facts", "export", kb, "-", "--format", "neo4j").err
