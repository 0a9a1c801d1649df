"""Tables of pandas, polars and pyarrow."""

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hmem.errors import DataError
from hmem.graph.readers import arrow
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import triples

ABC = [("a", "r", "b"), ("b", "r", "c")]
COLUMNS: dict[str, list[Any]] = {"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", "c"]}


def error_of(source: object, **options: Any) -> str:
    with pytest.raises(DataError) as error:
        read_table(source, **options)
    return str(error.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_by_name_and_position(make: Any) -> None:
    assert triples(read_table(make(COLUMNS))) == ABC
    shuffled = {"note": [None, 1.5], "tail": ["b", "c"], "head": ["a", "b"], "relation": ["r", "r"]}
    assert triples(read_table(make(shuffled))) == ABC
    unnamed = {"x": ["a", "b"], "y": ["r", "r"], "z": ["b", "c"]}
    assert triples(read_table(make(unnamed))) == ABC
    assert triples(read_table(make(unnamed), columns=("z", "y", "x"))) == [(t, r, h) for h, r, t in ABC]
    assert triples(read_table(make(unnamed), columns=(2, 1, 0))) == [(t, r, h) for h, r, t in ABC]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_integers_become_text(make: Any) -> None:
    assert triples(read_table(make({"h": [1, -2], "r": [0, 0], "t": [3, 4]}))) == [("1", "0", "3"), ("-2", "0", "4")]


def test_readers_and_batches_of_arrow() -> None:
    table = pa.table(COLUMNS)
    assert triples(read_table(table.to_reader(max_chunksize=1))) == ABC
    assert triples(read_table(pa.concat_tables([table, table]))) == ABC * 2
    assert triples(read_table(table.slice(1))) == ABC[1:]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int64(), pa.large_string()),
    ],
    ids=str,
)
def test_every_kind_of_text(kind: Any) -> None:
    table = pa.table({name: pa.array(values, pa.string()).cast(kind) for name, values in COLUMNS.items()})
    assert triples(read_table(table)) == ABC


def test_only_names_that_occur_are_in_the_dictionaries() -> None:
    frame = pd.DataFrame(COLUMNS).astype("category")
    assert triples(read_table(frame[frame["head"] == "b"])) == ABC[1:]
    assert triples(read_table(pl.DataFrame(COLUMNS).with_columns(pl.col("head").cast(pl.Categorical)))) == ABC
    with_null = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["r", None]))
    assert triples(read_table(pa.table({**COLUMNS, "relation": with_null}))) == ABC


def test_categories_of_integers() -> None:
    frame = pd.DataFrame({"head": [1, 2], "relation": [5, 5], "tail": [2, 3]}).astype("category")
    assert triples(read_table(frame)) == [("1", "5", "2"), ("2", "5", "3")]


def test_the_index_of_pandas_is_no_column() -> None:
    frame = pd.DataFrame({"x": ["a", "b"], "y": ["r", "r"], "z": ["b", "c"]}, index=[7, 3])
    assert triples(read_table(frame)) == ABC
    with_index = pa.Table.from_pandas(frame)
    assert with_index.column_names == ["x", "y", "z", "__index_level_0__"]
    assert triples(read_table(with_index)) == ABC


def test_rows_are_counted_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "_ROWS_PER_CHUNK", 2)
    names = ["a", "b", "c", "d", None, "f"]
    table = pa.table({"head": pa.chunked_array([names[:3], names[3:]]), "relation": ["r"] * 6, "tail": ["t"] * 6})
    assert error_of(table) == "Table: row 4 (counted from 0): expected a head, found a null"
    assert triples(read_table(table.slice(0, 4))) == [(name, "r", "t") for name in "abcd"]


def test_bad_tables() -> None:
    assert error_of(pd.DataFrame({**COLUMNS, "tail": ["b", None]})) == (
        "DataFrame: row 1 (counted from 0): expected a tail, found a null"
    )
    assert error_of(pa.table({**COLUMNS, "head": ["", "b"]})) == (
        "Table: row 0 (counted from 0): expected a head, found empty text"
    )
    assert error_of(pa.table({**COLUMNS, "head": pa.nulls(2)})) == (
        "Table: row 0 (counted from 0): expected a head, found a null"
    )
    assert error_of(pa.table({**COLUMNS, "head": [0.5, 1.5]})) == (
        "Table: expected text or integers as head, found double"
    )
    assert (
        error_of(pa.table({**COLUMNS, "tail": [True, False]})) == "Table: expected text or integers as tail, found bool"
    )
    assert error_of(pa.table(COLUMNS).slice(2)) == (
        "Table: expected rows of head, relation and tail, found an empty table"
    )
    assert error_of(pa.table({"a": [1], "b": [2]})) == "Table: expected columns head, relation and tail, found a, b"
    assert error_of(pa.table({name: [1] for name in "abcd"})) == (
        "Table: expected columns head, relation and tail, found a, b, c, d; "
        "name the three to read, for instance: columns=(0, 1, 2)"
    )
    assert error_of(pa.table(COLUMNS), columns=("head", "rel", "tail")) == (
        'Table: no column "rel" among "head", "relation", "tail"; did you mean relation?'
    )
    invalid = pa.array([b"a", b"\xff"]).view(pa.string())
    assert error_of(pa.table({**COLUMNS, "head": invalid})).startswith("Table: expected UTF-8 text as head: ")


def test_what_is_no_table() -> None:
    assert error_of(pl.Series(["a"])).startswith("Series: cannot be read as a table: ")
    mixed = pd.DataFrame({"head": ["a", 1], "relation": ["r", "r"], "tail": ["b", "c"]})
    assert error_of(mixed).startswith("DataFrame: cannot be read as a table: ")
