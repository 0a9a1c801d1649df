"""CSV files of Neo4j's import as others write them, and what is refused."""

from pathlib import Path

import pytest

from hmem.errors import DataError
from hmem.graph.readers.rdf_descriptions import split_facts
from hmem.graph.readers.read import read_table
from hmem.graph.values import Value


def write(folder: Path, relationships: str, nodes: str = "") -> Path:
    (folder / "relationships.csv").write_text(relationships)
    if nodes:
        (folder / "nodes.csv").write_text(nodes)
    return folder / "relationships.csv"


def test_the_example_of_the_manual(tmp_path: Path) -> None:
    relationships = ':START_ID(P),role,:END_ID(M),:TYPE\nkeanu,"Neo",tt1,ACTED_IN\ncarrie,Trinity,tt1,ACTED_IN\n'
    nodes = 'id:ID(P),name,born:int,:LABEL\nkeanu,"Keanu ""K"" Reeves",1964,Actor;Person\ncarrie,,,Actor\n'
    facts, told = split_facts(read_table(write(tmp_path, relationships, nodes)))
    assert [tuple(row.values()) for row in facts.to_pylist()] == [
        ("keanu", "ACTED_IN", "tt1"),
        ("carrie", "ACTED_IN", "tt1"),
    ]
    assert [(each.id, each.label, each.kind) for each in told.descriptions] == [
        ("keanu", 'Keanu "K" Reeves', "Actor"),
        ("carrie", None, "Actor"),
    ]
    assert told.values == [("keanu", "born", Value.of(1964))]


def test_relationships_alone(tmp_path: Path) -> None:
    assert len(read_table(write(tmp_path, ":START_ID,:END_ID,:TYPE\na,b,r\n"))) == 1


@pytest.mark.parametrize(
    ("relationships", "nodes", "problem"),
    [
        (":START_ID,:END_ID,name\na,b,c\n", "", "expected one column of each of :START_ID, :TYPE, :END_ID"),
        (":START_ID,:END_ID,:TYPE\na,b\n", "", "csv:2: expected 3 comma-separated fields, found 2"),
        (":START_ID,:END_ID,:TYPE\na,,r\n", "", "expected a value for :END_ID, found it empty"),
        (":START_ID,:END_ID,:TYPE\n", "", "expected relationships, found none"),
        (":START_ID,:END_ID,:TYPE\na,b,r\n", "name,:LABEL\nx,y\n", "nodes.csv:1: expected one column of each of :ID"),
    ],
)
def test_what_is_refused(tmp_path: Path, relationships: str, nodes: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_table(write(tmp_path, relationships, nodes))


def test_blank_lines_say_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "\n:START_ID,:END_ID,:TYPE\n\na,b,r\n\n")
    assert read_table(path).to_pylist() == [{"head": "a", "relation": "r", "tail": "b"}]
