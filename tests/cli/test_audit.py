"""`hmem audit` and `hmem missing` over a graph: tables, files, JSON."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hmem.cli.audit import show
from hmem.knowledge.audit import Suspect, Suspects
from hmem.knowledge.base import KnowledgeBase
from tests.cli.conftest import Command


def test_audit_lists_the_most_doubtful_facts(command: Command, zoo: str) -> None:
    code, out, err = command("audit", zoo, "-k", 3, "--sample", 5)
    assert code == 0
    assert "expected instead" in out
    assert "5 of" in err
    assert "--sample 0 looks at all" in err
    found = json.loads(command("audit", zoo, "-k", 3, "--sample", 5, "--json", "-").out)
    assert found["judged"] == 5
    with KnowledgeBase.open(zoo) as kb:
        assert found["of"] == len(kb)
        assert [each["doubt"] for each in found["facts"]] == [each.doubt for each in kb.audit(3, sample=5)]
    about = json.loads(command("audit", zoo, "Wolf n 01", "--json", "-").out)
    assert all("wolf.n.01" in (each["head"], each["tail"]) for each in about["facts"])
    assert command("entities", "describe", zoo, "wolf.n.01", "--label", "Wolf").code == 0
    about = command("audit", zoo, "wolf", "--json", "-")
    assert json.loads(about.out)["labels"]["entities"] == {"wolf.n.01": "Wolf"}
    assert "Wolf (wolf.n.01)" in command("audit", zoo, "wolf").out


@pytest.mark.parametrize("question", [["missing"], ["audit", "--sample", 4]])
def test_a_table_is_written_as_its_name_says(command: Command, zoo: str, question: list[str]) -> None:
    for name in ("found.csv", "found.parquet", "found.json"):
        said = command(*question, zoo, "-k", 4, "--out", name)
        assert (said.code, said.out.strip()) == (0, f"{name}: 4 facts")
    names = [
        [each[part] for part in ("head", "relation", "tail")] for each in json.loads(Path("found.json").read_text())
    ]
    table = pq.read_table("found.parquet").to_pylist()
    with Path("found.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for found in (table, rows):
        assert [[each[part] for part in ("head", "relation", "tail")] for each in found] == names
    both = command(*question, zoo, "-k", 4, "--out", "again.json", "--json", "-")
    assert json.loads(both.out)["facts"][0]["head"] == names[0][0]
    assert (Path("again.json").read_text(), "again.json: 4 facts\n" in both.err) == (
        Path("found.json").read_text(),
        True,
    )
    refused = command(*question, zoo, "--out", "found.txt")
    assert (refused.code, "expected NAME.csv" in refused.err) == (2, True)
    assert command(*question, zoo, "--out", zoo).code != 0
    with KnowledgeBase.open(zoo) as kb:
        assert len(kb) > 0


def test_missing_goes_through_a_relation_or_a_kind(command: Command, zoo: str) -> None:
    found = json.loads(command("missing", zoo, "--relation", "hypernym", "-k", 5, "--json", "-").out)
    assert found["entity"] is None
    assert {each["relation"] for each in found["facts"]} == {"hypernym"}
    with KnowledgeBase.open(zoo) as kb:
        fact = next(iter(kb.store.listing(relation="hypernym")))
        heads = {each.head for each in kb.store.listing(relation="hypernym", tail=fact.tail)}
    found = json.loads(command("missing", zoo, "--having", "hypernym", fact.tail, "-k", 50, "--json", "-").out)
    assert {each["head"] for each in found["facts"]} == heads
    refused = command("missing", zoo, "wolf.n.01", "--relation", "hypernym")
    assert refused.code == 2


def test_nothing_to_look_at_and_nothing_expected(command: Command, capfd: pytest.CaptureFixture[str]) -> None:
    assert command("kb", "create", "empty.kb").code == 0
    none = command("audit", "empty.kb")
    assert (none.code, none.out, none.err) == (0, "", "no facts to look at\n")
    expected = Suspect(head="a", relation="r", tail="c", doubt=0.0, tail_rank=1, head_rank=1)
    show(Suspects([expected], judged=1, facts=1))
    assert capfd.readouterr().err.startswith("nothing speaks against 1 fact: ")
    lonely = Suspect(head="a", relation="r", tail="b", doubt=0.0, tail_rank=1, head_rank=2)
    show(Suspects([lonely, expected], judged=1, facts=2))
    out, err = capfd.readouterr()
    assert out.strip().splitlines()[-1].split() == ["a", "r", "b", "–", "1", "2", "0.0"]
    assert err == "1 of 2 facts were looked at; --sample 0 looks at all.\n"
    assert "because" not in repr(Suspects([lonely], judged=1, facts=1))
