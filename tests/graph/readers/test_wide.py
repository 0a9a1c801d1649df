"""Tables with a row for each entity and a column for each relation."""

import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write, triples

FAMILY = [("Anna", "father", "Bert"), ("Anna", "lives in", "Graz"), ("Anna", "lives in", "Linz"), ("Bert", "son", "-")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'name;father;lives in;son\r\nAnna;"Bert";Graz | Linz;\r\n\r\nBert;;;-\r\n'),
        ("a.tsv", "name\tfather\tlives in\tson\nAnna\tBert\tGraz|Linz|\t\nBert\t\t\t-\n"),
        ("a.txt", '"name, first",father,lives in,son\nAnna,Bert,Graz|Linz,\nBert,,,-\n'),
    ],
)
def test_a_cell_is_a_fact_and_an_empty_one_none(write: Write, name: str, text: str) -> None:
    assert triples(read_table(write(name, text), format="wide")) == FAMILY


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name,father\nAnna,Bert,Graz\n", "a.csv:2: expected 2 comma-separated fields, found 3"),
        ("name,father\n,Bert\n", "a.csv:2: expected the name of an entity as name, found it empty"),
        ("name,father,father\nAnna,Bert,\n", "a.csv:1: expected a heading with a different name for each column"),
        ("name\nAnna\n", "a.csv:1: expected a heading"),
        ("name,father\nAnna,\n", "a.csv: expected a heading, and rows .*, found no fact"),
        ("", "a.csv: expected a heading"),
    ],
)
def test_what_is_no_such_table(write: Write, text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_table(write("a.csv", text), format="wide")
