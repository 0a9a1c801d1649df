"""A file read some at a time is the file read whole, and what is wrong with it is said in the same words."""

from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import HMemError
from hmem.graph.readers import slow_scan, text
from hmem.graph.readers.read import read_table
from hmem.graph.readers.stream import stream_table

cells = st.text(st.sampled_from("ab\"', \r\n\t\0é;"), max_size=4)
contents = st.lists(st.lists(cells, min_size=2, max_size=4), max_size=8)


def outcome(table: pa.Table | None, error: HMemError | None) -> object:
    if error is not None:
        return str(error)
    assert table is not None
    return [tuple(map(str, row.values())) for row in table.to_pylist()]


def whole(path: Path, **how: object) -> object:
    try:
        return outcome(read_table(path, **how), None)  # type: ignore[arg-type]
    except HMemError as error:
        return outcome(None, error)


def streamed(path: Path, **how: object) -> object:
    with patch.object(text, "_BLOCK", 24), patch.object(slow_scan, "AT_ONCE", 2):
        try:
            return outcome(pa.concat_tables(list(stream_table(path, 3, **how))), None)  # type: ignore[arg-type]
        except HMemError as error:
            return outcome(None, error)


@given(contents, st.sampled_from([("csv", ","), ("tsv", "\t"), ("txt", " ")]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_it_reads_what_is_read_whole(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[str]], kind: tuple[str, str], end: str
) -> None:
    ending, delimiter = kind
    path = tmp_path_factory.mktemp("stream") / f"facts.{ending}"
    path.write_bytes("".join(delimiter.join(row) + end for row in table).encode())
    assert streamed(path, header=False) == whole(path, header=False)


def test_what_does_not_fit_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("a\tr\tb\n")
    assert (
        streamed(path, iris="short") == whole(path, iris="short") == "iris='short' has no meaning for tsv; leave it out"
    )


def test_a_doubt_late_in_the_file_costs_no_row(tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    rows = [f"e{number}\tr\te{number + 1}" for number in range(30)]
    rows.insert(25, "long" * 30 + "\tr\tb")  # more than a block
    path.write_text("\n".join(rows))
    assert streamed(path) == whole(path)
    path.write_bytes("\n".join(rows).encode() + b"\nbad\xff\tr\tb")
    assert "is not UTF-8" in str(streamed(path))
    assert streamed(path) == whole(path)


def test_qualifiers_and_headings(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text("tail,confidence,head,relation\n" + "\n".join(f"a{n},.{n},b{n},r" for n in range(1, 9)))
    assert streamed(path) == whole(path)
    path.write_text("head,relation,tail,confidence\na,r,b,2\n")
    assert streamed(path) == whole(path)


def test_parquet_by_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    table = pa.table(
        {"relation": ["r"] * 9, "head": [f"h{n}" for n in range(9)], "tail": ["t"] * 9, "valid_from": ["2019"] * 9}
    )
    pq.write_table(table, path, row_group_size=4)
    assert streamed(path) == whole(path)
    pq.write_table(table.set_column(1, "head", pa.array(["h", None] * 4 + ["h"])), path)
    assert "expected a head, found a null" in str(streamed(path))
    path.write_bytes(path.read_bytes()[:-9])
    assert streamed(path) == whole(path)


def test_other_formats_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text("{}")
    assert streamed(path) == whole(path)
    assert streamed(tmp_path / "none.tsv") == whole(tmp_path / "none.tsv")
