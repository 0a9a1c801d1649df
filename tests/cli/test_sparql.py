"""`hmem sparql`: tables, JSON and CSV of what a query finds."""

import json
from pathlib import Path

import pytest

from hmem.knowledge.store.store import Store
from tests.cli.conftest import Command

EATS = "SELECT ?who ?how { ?who ?how :Q2 } ORDER BY ?who"


@pytest.fixture
def kb(here: Path) -> str:
    with Store.create("a.kb") as store:
        store.add([("Q1", "P1", "Q2"), ("Q3", "P1", "Q2")])
        store.naming.describe("entity", "Q1", label="wolf")
        store.naming.describe("relation", "P1", label="eats")
    return "a.kb"


def test_a_table_shows_labels(command: Command, kb: str) -> None:
    answer = command("sparql", kb, EATS)
    assert [" ".join(line.split()) for line in answer.out.splitlines() if "P" in line or "eats" in line] == [
        "wolf (Q1) eats",
        "Q3 eats",
    ]
    assert (answer.code, answer.err) == (0, "")


def test_json_and_csv(command: Command, kb: str) -> None:
    found = json.loads(command("sparql", kb, EATS, "--json", "-").out)
    assert found["head"] == {"vars": ["who", "how"]}
    assert found["results"]["bindings"][0]["who"] == {"type": "uri", "value": "urn:hmem:Q1"}
    assert command("sparql", kb, "-", "--csv", "-", given=EATS).out.split() == ["who,how", "Q1,P1", "Q3,P1"]
    assert command("sparql", kb, EATS, "--csv", "rows.csv") == (0, "", "")
    assert Path("rows.csv").read_bytes() == b"who,how\r\nQ1,P1\r\nQ3,P1\r\n"


def test_yes_no_none_and_more(command: Command, kb: str) -> None:
    assert command("sparql", kb, "ASK { :Q1 :P1 :Q2 }").out == "yes\n"
    assert command("sparql", kb, "ASK { :Q2 :P1 :Q2 }").out == "no\n"
    assert command("sparql", kb, "SELECT * { :Q2 :P1 ?x }").err == "no rows\n"
    assert command("sparql", kb, EATS, "--limit", "1").err == "The first 1 rows; --limit 0 shows all.\n"


def test_errors_are_one_line(command: Command, kb: str) -> None:
    assert command("sparql", kb, "CLEAR ALL") == (
        2,
        "",
        "hmem: CLEAR changes what is stored; only SELECT and ASK are answered here\n",
    )
    cross = " ".join(f"?a{number} ?b{number} ?c{number} ." for number in range(30))
    answer = command("sparql", kb, f"SELECT (COUNT(*) AS ?n) {{ {cross} }}", "--timeout", "0.2")
    assert answer == (1, "", "hmem: the query took more than 0.2 s, and was ended\n")
    assert command("sparql", kb, "-", given=b"\xff").err.startswith("hmem: standard input: expected UTF-8 text")


def test_without_pyoxigraph(command: Command, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyoxigraph", None)
    said = "hmem: SPARQL needs the package pyoxigraph; pip install 'hmem[rdf]'\n"
    assert command("sparql", kb, "ASK {}") == (2, "", said)
