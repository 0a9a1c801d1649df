"""Delimited text: round trips, oddities, and the agreement of the fast path with the slow one."""

import csv
import io
from pathlib import Path
from typing import Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import DataError
from hmem.graph.readers import text
from hmem.graph.readers.layout import Layout, find_layout
from hmem.graph.readers.read import read_table
from hmem.graph.readers.slow_scan import scan
from hmem.graph.readers.text import _Inspected
from tests.graph.readers.helpers import Triple, Write, almost_tables, fuzz, triples

ABC = [("a", "r", "b"), ("b", "r", "c")]
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
plain_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\r\n"), min_size=1, max_size=8)


def tables(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[Triple]]:
    return st.lists(st.tuples(names, names, names), min_size=1, max_size=20)


@fuzz
@given(rows=tables(plain_text), end=st.sampled_from(["\n", "\r\n", "\r"]), last=st.booleans(), bom=st.booleans())
def test_any_names_round_trip_through_tsv(folder: Path, rows: list[Triple], end: str, last: bool, bom: bool) -> None:
    path = folder / "a.tsv"
    content = end.join("\t".join(row) for row in rows) + (end if last else "")
    path.write_bytes(("\ufeff" + content if bom or content.startswith("\ufeff") else content).encode())
    assert triples(read_table(path, header=False)) == rows


@fuzz
@given(rows=tables(any_text), style=st.sampled_from([("\r\n", csv.QUOTE_MINIMAL), ("\n", csv.QUOTE_ALL)]))
def test_any_text_round_trips_through_csv(folder: Path, rows: list[Triple], style: tuple[str, Literal[0, 1]]) -> None:
    end, quoting = style
    path = folder / "a.csv"
    content = io.StringIO(newline="")
    csv.writer(content, lineterminator=end, quoting=quoting).writerows(rows)
    path.write_bytes(b"\xef\xbb\xbf" + content.getvalue().encode())
    assert triples(read_table(path, header=False, delimiter=",")) == rows


@fuzz
@given(
    table=almost_tables(),
    kind=st.sampled_from(["tsv", "csv", "txt"]),
    tail=st.sampled_from([b"", b"", b"", b"\n", b"\xff", b"\n\0", b"\xc3"]),
    block=st.sampled_from([8, 64, 1 << 20]),
)
def test_the_fast_path_agrees_with_the_slow_one(
    folder: Path, table: tuple[str, int, str], kind: str, tail: bytes, block: int
) -> None:
    delimiter, width, content = table
    path = folder / "agree"
    path.write_bytes(content.encode() + tail)
    try:
        layout = find_layout(path, kind, delimiter, None, None if width == 3 else (0, 3, 1))
    except DataError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", block)
        fast = text.parse(path, layout)
    if fast is not None:
        assert triples(fast) == triples(scan(path, layout))


@fuzz
@given(rows=tables(st.text("ab\u00e9 ", min_size=1, max_size=5)), kind=st.sampled_from(["tsv", "csv"]))
def test_ordinary_files_take_the_fast_path(folder: Path, rows: list[Triple], kind: str) -> None:
    path = folder / "plain"
    delimiter = "\t" if kind == "tsv" else ","
    path.write_bytes("".join(delimiter.join(row) + "\n" for row in rows).encode())
    fast = text.parse(path, find_layout(path, kind, delimiter, False, None))
    assert fast is not None
    assert triples(fast) == rows


def test_quoted_files_take_the_fast_path(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", 64)
    path = write("a.csv", '"a\nb\n","r""s","c,d"\n' * 50)
    fast = text.parse(path, find_layout(path, "csv", None, None, None))
    assert fast is not None
    assert triples(fast) == [("a\nb\n", 'r"s', "c,d")] * 50


@pytest.mark.parametrize(
    "content",
    [
        "a\tr\tb\nb\tr\tc\n",
        "a\tr\tb\nb\tr\tc",
        "a\tr\tb\r\nb\tr\tc\r\n",
        "a\tr\tb\rb\tr\tc\r",
        "\ufeffa\tr\tb\nb\tr\tc\n",
        "\n\na\tr\tb\n\n\r\n \n\t\t\n\u3000\nb\tr\tc\n\n",
        "head\trelation\ttail\na\tr\tb\nb\tr\tc\n",
        "\n Subject\tPREDICATE\tobject \na\tr\tb\nb\tr\tc\n",
        "relation\ttail\thead\nr\tb\ta\nr\tc\tb\n",
        "id\tfrom\ttype\tto\n1\ta\tr\tb\n\tb\tr\tc\n",
    ],
)
def test_oddities_of_text(write: Write, content: str) -> None:
    assert triples(read_table(write("a.tsv", content))) == ABC


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("NA\tnull\tNaN\n", ("NA", "null", "NaN")),
        ("1\t2.50\ttrue\n", ("1", "2.50", "true")),
        ("007\t2001-01-01\t1e5\n", ("007", "2001-01-01", "1e5")),
        (' a \t"r\t\'b"\n', (" a ", '"r', "'b\"")),
        ("日本\trév\U0001f600\te\u0301\n", ("日本", "rév\U0001f600", "e\u0301")),
        ("a\u2028b\tr\x0bs\tc\x1cd\n", ("a\u2028b", "r\x0bs", "c\x1cd")),
        ("\\N\t\\t\t\\\n", ("\\N", "\\t", "\\")),
        (" \t \t \n", (" ", " ", " ")),
        ("\ufeff\ufeffa\tr\tb\n", ("\ufeffa", "r", "b")),
        ("head\trelation\ttail\n\ufeffa\tr\tb\n", ("\ufeffa", "r", "b")),
    ],
)
def test_names_are_kept_as_they_are(write: Write, content: str, expected: Triple) -> None:
    assert triples(read_table(write("a.tsv", content))) == [expected]


def test_very_long_names_and_many_blocks(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", 1000)
    rows = [(f"e{i}", f"r{i % 7}", "x" * (5000 if i == 77 else i % 20 + 1)) for i in range(500)]
    content = "".join("\t".join(row) + "\n" for row in rows)
    assert triples(read_table(write("a.tsv", content))) == rows


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t", " ", ":", "→"])
def test_any_single_character_is_a_delimiter(write: Write, delimiter: str) -> None:
    content = f"a{delimiter}r{delimiter}b\nb{delimiter}r{delimiter}c\n"
    assert triples(read_table(write("a.dat", content), delimiter=delimiter)) == ABC


def test_runs_of_spaces_are_one_delimiter(write: Write) -> None:
    assert triples(read_table(write("a.txt", "a r b\n  b   r c  \n"))) == ABC
    assert triples(read_table(write("a.txt", "a 1  r b\nb 2 r   c\n"), columns=(0, 2, 3))) == ABC


def test_columns_are_chosen_by_name_or_position(write: Write) -> None:
    path = write("a.csv", "from,to,type,note\na,b,r,\nb,c,r,x\n")
    for columns in (None, ("from", "type", "to"), (0, 2, 1), ("from", 2, "to")):
        assert triples(read_table(path, columns=columns)) == ABC
    assert triples(read_table(path, columns=(1, 2, 0))) == [(t, r, h) for h, r, t in ABC]


def test_a_quote_inside_an_unquoted_field_is_ordinary(write: Write) -> None:
    assert triples(read_table(write("a.csv", '5" disk,r,b"\n'))) == [('5" disk', "r", 'b"')]


LAYOUT = Layout(delimiter=",", quoted=True, width=3, columns=(0, 1, 2), said={}, offset=0, lines=0)


def test_what_pyarrow_reads_is_looked_at() -> None:
    """Block by block, in threads of its own, where no test follows it."""

    def passes(*blocks: bytes) -> bool:
        looked_at = _Inspected(io.BufferedReader(cast(io.RawIOBase, io.BytesIO(b"".join(blocks)))), LAYOUT)
        assert [looked_at.read(len(block)) for block in blocks] == list(blocks)
        return looked_at.passes()

    assert passes(b"a,b,c\n", b"d,e,f\n")
    assert passes("ü".encode()[:1], "ü".encode()[1:])  # a letter in two blocks
    assert not passes("ü".encode()[:1])
    assert not passes(b"a,\xff,c\n")
    assert not passes(b"a,b\0,c\n")
    assert not passes(b'a,b"c,d\n', b"e,f,g\n")
