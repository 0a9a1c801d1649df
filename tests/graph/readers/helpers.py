"""What the tests of the readers share."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from hypothesis import strategies as st

from hmem.graph.readers.table import TEXT
from hmem.graph.triples import PARTS
from tests.laws import examples

Write = Callable[[str, str | bytes], Path]
Triple = tuple[str, str, str]

# Pieces of text on which readers stumble, joined at random.
fragments = st.lists(
    st.sampled_from(
        ["a", "bc", "é", " ", "  ", "\t", ",", ";", "|", '"', '""', "\n", "\r", "\r\n", "\x0b", "\u3000", "\ufeff"]
    ),
    max_size=40,
).map("".join)
fuzz = examples(50)


@st.composite
def almost_tables(draw: st.DrawFn) -> tuple[str, int, str]:
    """A delimiter, three or four columns, and text that is nearly, often entirely, a table of these."""
    delimiter = draw(st.sampled_from("\t,| "))
    name = st.sampled_from(["a", "bc", "é", " ", "d e", "\u3000", "\ufeffg", "x" * 30, '"a"', '"b""c"', '"d\ne,f"'])
    odd = st.sampled_from(["", '"', '"a"b', "a\tb", "\r", "\ufeff"])
    field = name if draw(st.booleans()) else name | name | name | odd
    width = draw(st.sampled_from([3, 3, 4]))
    row = st.lists(field, min_size=width, max_size=width).map(delimiter.join)
    line = row if draw(st.booleans()) else row | row | row | st.sampled_from(["", " ", "\t\t", "head\trelation\ttail"])
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return delimiter, width, end.join(draw(st.lists(line, min_size=1, max_size=8)))


def triples(table: pa.Table) -> list[Triple]:
    """The rows of a table that has the shape every reader promises."""
    assert table.column_names == list(PARTS)
    assert all(column.type == TEXT for column in table.columns)
    used = {value for column in table.columns for chunk in column.chunks for value in chunk.dictionary.to_pylist()}
    found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert used == {name for triple in found for name in triple}, "a dictionary holds names that do not occur"
    return found
