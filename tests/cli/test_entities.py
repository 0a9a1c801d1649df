"""`hmem entities`, and labels in the other commands."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

FACTS = "Q1\tP1\tQ2\nQ3\tP1\tQ2\nQ3\tP1\tQ4\nQ5\tP1\tQ2\n"
TABLE = "id\tlabel\tkind\tdescription\taliases\nQ1\twolf\tanimal\tIt howls.\tlobo|Canis lupus\nQ3\tpet\tdog\t\t\n"
TABLE += "Q4\tpet\tcat\t\t\nP1\teats\t\t\t\nQ9\tnobody\t\t\t\n"


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("facts.tsv").write_text(FACTS, encoding="utf-8")
    Path("entities.tsv").write_text(TABLE, encoding="utf-8")
    made = command("kb", "create", "a.kb", "--facts", "facts.tsv", "--entities", "entities.tsv")
    assert "kinds           animal 1, cat 1, dog 1" in made.out
    return tmp_path / "a.kb"


def test_what_is_known_is_shown(named: Path, command: Command) -> None:
    shown = command("entities", "show", named, "LOBO")
    assert [line.split(maxsplit=1) for line in shown.out.splitlines()] == [
        ["id", "Q1"],
        ["label", "wolf"],
        ["aliases", "lobo, Canis lupus"],
        ["kind", "animal"],
        ["description", "It howls."],
    ]
    assert json.loads(command("entities", "show", named, "eats", "--relation", "--json", "-").out)["id"] == "P1"
    assert "animal" in command("entities", "kinds", named).out


def test_importing_says_what_was_left_out(named: Path, command: Command) -> None:
    assert command("entities", "import", named, "entities.tsv").out == (
        "entities.tsv: 0 described, 4 as before, 1 left out, which no fact has\n"
    )
    Path("more.tsv").write_text("Q2\tx\tmeat\n", encoding="utf-8")
    assert command("entities", "import", named, "more.tsv", "--columns", "id,,label").out == (
        "more.tsv: 1 described, 0 as before\n"
    )
    assert "label  meat" in command("entities", "show", named, "Q2").out


def test_describing_one(named: Path, command: Command) -> None:
    shown = command("entities", "describe", named, "wolf", "--label", "grey wolf", "--alias", "timber wolf")
    assert "grey wolf" in shown.out
    assert "lobo" not in shown.out
    command("entities", "describe", named, "eats", "--relation", "--inverse", "is eaten by")
    assert "is eaten by" in command("entities", "show", named, "P1", "--relation").out


def test_facts_are_listed_and_changed_by_label(named: Path, command: Command) -> None:
    listed = command("facts", "list", named, "--head", "canis lupus", "--relation", "eats").out
    assert "wolf (Q1)" in listed
    assert " eats " in listed
    assert command("facts", "add", named, "wolf", "eats", "Q4").out == "added: wolf (Q1) eats pet (Q4)\n"
    assert command("facts", "remove", named, "wolf", "eats", "Q4").out == "removed: wolf (Q1) eats pet (Q4)\n"
    assert "wolf (Q1)" in command("facts", "history", named, "wolf").out


def test_a_label_that_several_have_asks_which(named: Path, command: Command) -> None:
    code, out, err = command("facts", "list", named, "--head", "pet")
    assert (code, out) == (1, "")
    assert err == 'hmem: "pet" is the name of 2 entities: Q3 (dog), Q4 (cat); say which by its id\n'


def test_labels_that_are_nearly_right_are_understood_or_suggested(named: Path, command: Command) -> None:
    taken = command("facts", "list", named, "--head", "canis_lupus")
    assert taken.err == 'entity "canis_lupus": taken for Canis lupus\n'
    assert command("facts", "list", named, "--head", "canis lupo").err.startswith(
        'hmem: no entity "canis lupo"; did you mean Canis lupus'
    )


def test_answers_show_labels_with_ids_beside(named: Path, command: Command) -> None:
    asked = command("predict", named, "wolf", "eats", "-k", "3")
    assert asked.out.startswith("wolf (Q1) eats ?\n")
    assert "pet (Q4)" in asked.out
    found = json.loads(command("predict", named, "wolf", "eats", "-k", "3", "--json", "-").out)
    assert found["question"] == {"head": "Q1", "relation": "P1", "tail": None}
    assert found["labels"]["entities"]["Q4"] == "pet"


def test_values_are_set_shown_and_remembered(named: Path, command: Command) -> None:
    shown = command("entities", "set", named, "wolf", "height", "0.8", "--unit", "m", "--source", "me").out
    assert shown.splitlines()[-1].split() == ["height", "0.8", "m"]
    command("entities", "set", named, "wolf", "height", "0.85", "--unit", "m")
    command("entities", "set", named, "Q2", "height", "1", "--unit", "m")
    command("entities", "set", named, "wolf", "called", "loup", "--language", "fr")
    command("entities", "set", named, "wolf", "code", "007")
    lines = [line.split() for line in command("values", named, "canis lupus").out.splitlines()[3:] if line]
    assert [line[:5] for line in lines] == [
        ["wolf", "(Q1)", "height", "0.85", "m"],
        ["wolf", "(Q1)", "called", "loup", "(fr)"],
        ["wolf", "(Q1)", "code", "007", "string"],
    ]
    assert "0.8 m" in command("values", named, "wolf", "--history").out
    found = json.loads(command("values", named, "wolf", "--property", "height", "--json", "-").out)
    assert [(row["text"], row["datatype"], row["unit"]) for row in found] == [("0.85", "xsd:decimal", "m")]
    (height, *_) = json.loads(command("values", named, "--json", "-").out)
    assert (height["values"], height["lowest"], height["highest"]) == (2, "0.85", "1")
    assert "values          4" in command("kb", "info", named).out
    command("entities", "set", named, "wolf", "height")
    assert "height" not in command("entities", "show", named, "wolf").out


def test_what_is_no_such_value_is_refused(named: Path, command: Command) -> None:
    code, _, err = command("entities", "set", named, "wolf", "legs", "many", "--type", "int")
    assert (code, err) == (2, "hmem: 'many' is no int\n")
    code, _, err = command("entities", "set", named, "wolf", "legs", "4", "--type", "itn")
    assert code == 2
    assert "did you mean int" in err
    assert command("values", named).err.startswith(f"{named} has no values; hmem entities import")
    assert command("values", named, "wolf").err == "nothing is said of Q1\n"


def test_values_come_with_tables_and_facts(named: Path, command: Command) -> None:
    Path("more.csv").write_text("id,height [m]\nQ1,0.8\nQ9,3\n", encoding="utf-8")
    assert command("entities", "import", named, "more.csv").out == (
        "more.csv: 0 described, 1 as before, 1 value changed, 1 left out, which no fact has\n"
    )
    Path("legs.tsv").write_text("Q1\tlegs\t4\nQ2\tP1\tQ4\n", encoding="utf-8")
    out = command("facts", "import", named, "legs.tsv", "--values", "legs").out
    assert out.startswith("legs.tsv: 1 fact added, 0 stored already, 1 value\n")
    assert [line.split() for line in command("entities", "show", named, "wolf").out.splitlines()[-2:]] == [
        ["height", "0.8", "m"],
        ["legs", "4"],
    ]
    made = command("kb", "create", "b.kb", "--facts", "legs.tsv", "--values", "legs")
    assert "values          1" in made.out


def test_a_property_can_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"p{each}\tworks as\tjob{each % 2}\np{each}\tP1\t{1000 + 9000 * (each % 2) + each}\n" for each in range(40)]
    Path("facts.tsv").write_text("".join(rows) + "new\tworks as\tjob1\n", encoding="utf-8")
    command("kb", "create", "a.kb", "--facts", "facts.tsv", "--values", "P1")
    Path("names.tsv").write_text("P1\tpay\n", encoding="utf-8")
    command("entities", "import", "a.kb", "names.tsv")
    code, out, err = command("predict", "a.kb", "new", "pay")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("new pay ≈ 10,000, with 80% between ")
    assert lines[1].startswith("the median of all that have one is ")
    assert any(line.startswith(" new works as job1 ") and "+" in line for line in lines)
    assert "of the 40 known values on average" in err
    found = json.loads(command("predict", "a.kb", "p1", "P1", "--json", "-").out)
    assert (found["by_facts"], found["known"], found["stored"]) == (True, 39, ["10001"])
    assert command("predict", "a.kb", "new", "salary").code == 1
    assert "which is off by" not in err
    _, _, err = command("predict", "a.kb", "p1", "pay")
    assert err.endswith("Stored, and left out here: 10001.\n")


def test_properties_in_a_table(named: Path, command: Command) -> None:
    empty = command("values", named)
    assert (empty.code, empty.err) == (
        0, f"{named} has no values; hmem entities import {named} FILE reads them from the columns of a table\n"
    )  # fmt: skip
    for name, height in (("wolf", "0.8"), ("Q2", "0.5")):
        assert command("entities", "set", named, name, "height", height, "--unit", "m").code == 0
    table = command("values", named).out.splitlines()
    assert table[1].split() == ["property", "datatype", "unit", "lowest", "median", "highest", "values", "entities"]
    assert table[3].split() == ["height", "decimal", "m", "0.5", "0.5", "0.8", "2", "2"]
    few = command("values", named, "--property", "height", "--limit", 1)
    assert few.err == "The first 1; --limit 0 shows all.\n"


def test_kinds_are_counted(named: Path, command: Command) -> None:
    assert json.loads(command("entities", "kinds", named, "--json", "-").out) == {"animal": 1, "cat": 1, "dog": 1}
    command("kb", "create", "empty.kb")
    none = command("entities", "kinds", "empty.kb")
    assert (none.out, none.err.split(";")[0]) == ("", "empty.kb has no kinds")


def test_another_id_and_back(named: Path, command: Command) -> None:
    done = command("entities", "rename", named, "wolf", "Q100")
    assert (done.out, done.err) == ("Q1 is Q100 now: 1 fact moved\n", f"To turn it back: hmem facts undo {named} 3\n")
    assert "Q100" in command("entities", "show", named, "Q1").out
    command("facts", "add", named, "Q5", "ate", "Q2")
    assert command("entities", "rename", named, "ate", "P1", "--relation").out == (
        "ate is P1 now: 0 facts moved, 1 stored already\n"
    )
    assert json.loads(command("entities", "rename", named, "Q4", "Q6", "--json", "-").out)["was"] == "Q4"
    assert "hmem merge KB" in command("entities", "rename", named, "Q5", "Q3").err
    undone = command("facts", "undo", named, "3", "--and-later").out
    assert undone.startswith("write 3 and later: ")
    assert len(command("facts", "export", named, "-").out.splitlines()) == 4


def test_an_entity_is_taken_out(named: Path, command: Command) -> None:
    assert command("entities", "remove", named, "Q3").out == "removed: Q3, with 2 facts\n"
    assert len(command("facts", "export", named, "-").out.splitlines()) == 2
    assert json.loads(command("entities", "remove", named, "wolf", "--json", "-").out)["facts"] == 1
    command("facts", "undo", named, "3")
    assert "dog" in command("entities", "show", named, "Q3").out
