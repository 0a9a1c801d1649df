"""The shape that every reader returns."""

import pyarrow as pa
import pytest

from hmem.graph.readers import table
from hmem.graph.readers.table import TableBuilder, table_of_ids
from tests.graph.readers.helpers import triples


def test_triples_are_kept_in_order_over_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_ROWS_PER_CHUNK", 4)
    builder = TableBuilder()
    expected = [(f"h{i}", "r", f"t{i % 3}") for i in range(10)]
    for count, row in enumerate(expected):
        assert len(builder) == count
        builder.add(*row)
    result = builder.finish()
    assert triples(result) == expected
    assert result.column(0).num_chunks == 3


def test_no_triples() -> None:
    assert triples(TableBuilder().finish()) == []


def test_ids_become_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_ROWS_PER_CHUNK", 2)
    names = pa.array(["a", "b", "unused", "r"])
    result = table_of_ids([([0, 1, 0], names), ([3, 3, 3], names), ([1, 1, 0], names)])
    assert triples(result) == [("a", "r", "b"), ("b", "r", "b"), ("a", "r", "a")]
