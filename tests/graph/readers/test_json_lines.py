"""Facts in JSON: an object a line, or one list."""

import gzip
import json
from pathlib import Path

import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write, triples

ABC = [("a", "r", "b"), ("b", "r", "ç")]
ROWS = [{"head": "a", "relation": "r", "tail": "b"}, {"tail": "ç", "head": "b", "relation": "r"}]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.jsonl.gz"])
def test_an_object_a_line_or_a_list_of_them(tmp_path: Path, name: str) -> None:
    text = json.dumps(ROWS, indent=1) if name == "a.json" else "\ufeff" + "\r\n\n".join(map(json.dumps, ROWS))
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    assert triples(read_table(path)) == ABC


def test_fields_are_found_by_their_names(write: Write) -> None:
    row = {"id": 7, "from": "a", "type": "r", "to": "b", "confidence": 0.5, "valid_from": "2019"}
    table = read_table(write("a.jsonl", json.dumps(row) + '\n{"from": "b", "type": "r", "to": 3}\n'))
    assert triples(table.select(["head", "relation", "tail"])) == [("a", "r", "b"), ("b", "r", "3")]
    assert table.column("confidence").to_pylist() == [0.5, None]
    assert table.column("valid_from").to_pylist()[1] is None
    path = write("b.jsonl", '{"x": "a", "y": "r", "z": "b", "w": 1}\n["b", "r", "c"]\n')
    with pytest.raises(DataError, match="expected objects such as"):
        read_table(path)
    assert triples(read_table(write("c.jsonl", '["a", "r", "\\"b\\""]\n'))) == [("a", "r", '"b"')]
    path = write("d.jsonl", '{"x": "a", "y": "r", "z": "b", "w": 1}\n')
    assert triples(read_table(path, columns=("x", "y", "z"))) == ABC[:1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"head": "a", "relation": "r", "tail": "b"}\n{"head": "a"\n', ":2: not JSON: "),
        ('{"head": "a", "relation": "r", "tail": null}\n', ":1: expected text as tail, found null"),
        ('{"head": "", "relation": "r", "tail": "b"}\n', ':1: expected text as head, found ""'),
        ('{"head": ["a"], "relation": "r", "tail": "b"}\n', r':1: expected text as head, found \["a"\]'),
        ('{"head": "\\ud800", "relation": "r", "tail": "b"}\n', ":1: expected text as head"),
        ("7\n", ":1: expected objects such as .*, found 7"),
        ("\n", ": expected objects such as .*, found none"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_fact_is_named_with_its_line(write: Write, text: str, problem: str) -> None:
    with pytest.raises(DataError, match=f"a.jsonl{problem}" if problem.startswith(":") else problem):
        read_table(write("a.jsonl", text))
