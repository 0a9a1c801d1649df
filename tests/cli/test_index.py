"""`hmem index`: a graph in a folder, and what is wrong with one."""

import json
from pathlib import Path

import pytest

from hmem.graph.disk.index import DiskGraph
from tests.cli.conftest import Answer, Command


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.tsv"
    path.write_text("wolf\teats\thare\nfox\teats\thare\nwolf\teats\thare\n")
    return path


def test_it_says_what_it_wrote(command: Command, facts: Path, tmp_path: Path) -> None:
    code, out, err = command("index", facts, "--out", tmp_path / "graph")
    assert (code, err) == (0, "")
    assert "facts      2 (1 row repeats another)" in out
    assert "entities   3" in out
    assert DiskGraph.open(tmp_path / "graph").vocab.entities.id_of("hare") == 2
    code, out, _ = command("index", facts, "--out", tmp_path / "graph", "--overwrite", "--json", "-")
    assert code == 0
    assert {name: json.loads(out)[name] for name in ("rows", "facts", "relations")} == {
        "rows": 3,
        "facts": 2,
        "relations": 1,
    }


def test_one_that_is_there_stays(command: Command, facts: Path, tmp_path: Path) -> None:
    command("index", facts, "--out", tmp_path / "graph")
    code, _, err = command("index", facts, "--out", tmp_path / "graph")
    assert code == 1
    assert err.endswith("graph exists already; to begin anew: --overwrite\n")


def test_check(command: Command, facts: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    command("index", facts, "--out", graph)
    assert command("index", "--check", graph) == Answer(0, f"{graph} is what was written\n", "")
    (graph / "fillers.bin").write_bytes(bytes((graph / "fillers.bin").stat().st_size))
    assert command("index", "--check", graph) == Answer(1, "", f"{graph}: fillers.bin is not what was written\n")
    (graph / "fillers.bin").write_bytes(b"")
    code, _, err = command("index", "--check", graph)
    assert code == 1
    assert "graph is damaged: fillers.bin has 0 bytes instead of 16; write it anew" in err


def test_mistakes(command: Command, facts: Path, tmp_path: Path) -> None:
    assert command("index", facts)[2] == "hmem: give a file of facts and --out DIR, or --check DIR\n"
    facts.write_text("wolf\teats\n")
    code, _, err = command("index", facts, "--out", tmp_path / "graph")
    assert (code, err.count("\n")) == (1, 1)
    assert not (tmp_path / "graph").exists()
