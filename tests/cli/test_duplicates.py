"""`hmem duplicates`, `hmem merge` and `hmem facts undo`."""

import csv
import json
from pathlib import Path

import pytest

from hmem.knowledge.store.store import Store
from tests.cli.conftest import Command

FACTS = [("Kelvingrove", "wrote", "heat"), ("Kelvingrvoe", "wrote", "heat"), ("Kelvingrvoe", "born in", "Belfast")]


@pytest.fixture
def kb(here: Path) -> str:
    with Store.create("a.kb") as store:
        store.add([*FACTS, ("Joule", "born in", "Salford"), ("Joule", "wrote", "work")])
    return "a.kb"


def test_from_a_proposal_to_a_merge_and_back(command: Command, kb: str) -> None:
    answer = command("duplicates", kb)
    (line,) = (line for line in answer.out.splitlines() if "Kelvin" in line and "names nearly alike" in line)
    assert line.strip().startswith("Kelvingrvoe   Kelvingrove")
    assert command("merge", kb, "Kelvingrove", "Kelvingrvoe") == (
        0,
        "Kelvingrvoe is Kelvingrove now: 1 fact moved, 1 stored already\n",
        "To turn it back: hmem facts undo a.kb 2\n",
    )
    assert "Kelvingrove" in command("facts", "list", kb, "--head", "kelvingrvoe").out
    assert command("duplicates", kb).err == "no two entities seem to be one\n"
    assert command("facts", "undo", kb, "2").out == "write 2: 2 taken back, 2 restored\n"
    with Store.open(kb) as store:
        assert [fact.names for fact in store.listing(head="Kelvingrvoe")] == [
            ("Kelvingrvoe", "wrote", "heat"),
            ("Kelvingrvoe", "born in", "Belfast"),
        ]


def test_json_and_files(command: Command, kb: str) -> None:
    (pair,) = json.loads(command("duplicates", kb, "--json", "-").out)["pairs"]
    assert (pair["kept"], pair["other"]) == ("Kelvingrvoe", "Kelvingrove")
    assert command("duplicates", kb, "--out", "pairs.csv").out == "pairs.csv: 1 pair\n"
    (row,) = csv.DictReader(Path("pairs.csv").read_text().splitlines())
    assert row["reasons"] == "; ".join(pair["reasons"])
    done = json.loads(command("merge", kb, "Kelvingrove", "Kelvingrvoe", "--json", "-").out)
    assert (done["moved"], done["aliases"]) == (1, ["Kelvingrvoe"])
    assert json.loads(command("facts", "undo", kb, "2", "--json", "-").out)["restored"] == 2


def test_writes_are_listed_by_number(command: Command, kb: str) -> None:
    command("merge", kb, "Kelvingrove", "Kelvingrvoe", "--source", "me")
    last, first = json.loads(command("facts", "writes", kb, "--json", "-").out)
    assert {key: last[key] for key in ("moment", "source", "added", "removed", "said")} == {
        "moment": 2,
        "source": "me",
        "added": 1,
        "removed": 2,
        "said": 1,
    }
    assert (first["moment"], first["added"], first["removed"], first["said"]) == (1, 5, 0, 0)
    answer = command("facts", "writes", kb, "--limit", "1")
    assert [line.split()[-4:] for line in answer.out.splitlines() if " me " in line] == [["2", "1", "2", "1"]]
    assert answer.err == "The newest 1; --limit 0 shows all.\n"
    Store.create("empty.kb").close()
    assert command("facts", "writes", "empty.kb").err == "nothing was written yet to empty.kb\n"


def test_errors_are_one_line(command: Command, kb: str) -> None:
    assert command("merge", kb, "Joule", "Joule").err == 'hmem: "Joule" is one entity; a merge takes two\n'
    assert command("facts", "undo", kb, "9").err == "hmem: there was no write 9; the last one is 1\n"
