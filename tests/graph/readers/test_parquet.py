"""Parquet files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write, triples

TABLE = pa.table({"note": [0.5, None], "to": ["b", "c"], "from": ["a", "b"], "type": [1, 2]})


def test_the_three_columns_are_read(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    assert triples(read_table(tmp_path / "a.parquet")) == [("a", "1", "b"), ("b", "2", "c")]
    assert triples(read_table(tmp_path / "a.parquet", columns=(1, 3, 2))) == [("b", "1", "a"), ("c", "2", "b")]
    assert triples(read_table(tmp_path / "a.parquet", columns=("to", "type", "from"))) == [
        ("b", "1", "a"),
        ("c", "2", "b"),
    ]


def test_names_with_dots(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a.h": ["a"], "a.r": ["r"], "a.t": ["b"]}), tmp_path / "a.parquet")
    assert triples(read_table(tmp_path / "a.parquet")) == [("a", "r", "b")]


def test_bad_files(tmp_path: Path, write: Write) -> None:
    path = tmp_path / "a.parquet"

    def error_of() -> str:
        with pytest.raises(DataError) as error:
            read_table(path)
        return str(error.value)

    write("a.parquet", "a\tr\tb\n" * 100)
    assert error_of().startswith(f"{path}: not a sound Parquet file: ")
    write("a.parquet", "")
    assert error_of().startswith(f"{path}: not a sound Parquet file: ")
    pq.write_table(pa.table({"head": ["a", None], "relation": ["r", "r"], "tail": ["b", "b"]}), path)
    assert error_of() == f"{path}: row 1 (counted from 0): expected a head, found a null"
    pq.write_table(pa.table({"a": ["a"], "b": ["r"]}), path)
    assert error_of() == f"{path}: expected columns head, relation and tail, found a, b"
    pq.write_table(pa.table([["a"], ["r"], ["b"]], names=["x", "y", "x"]), path)
    assert error_of() == f"{path}: expected columns with different names, found x, y, x"
    pq.write_table(pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"]}).slice(1), path)
    assert error_of() == f"{path}: expected rows of head, relation and tail, found an empty table"
