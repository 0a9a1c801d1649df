"""The front door: each source finds its reader, each misuse its error, and no bytes whatever break it."""

import bz2
import gzip
import io
import math
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import ConfigError, DataError, HMemError
from hmem.graph.readers.read import FORMATS, read_table
from hmem.graph.triples import PARTS
from tests.graph.readers.helpers import Write, fragments, fuzz, triples

ABC = [("a", "r", "b"), ("b", "r", "c")]
SUFFIXES = [
    *("tsv", "csv", "txt", "", "parquet", "nt", "nq", "ttl", "trig", "rdf", "xml", "owl", "jsonld"),
    *("tsv.gz", "tsv.bz2", "tsv.zst", "ttl.gz"),
]


def parquet_bytes() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", "c"]}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "a\tr\tb\nb\tr\tc\n"),
        ("A.TSV", "a\tr\tb\nb\tr\tc\n"),
        ("a.csv", "a,r,b\nb,r,c\n"),
        ("a.txt", "a r b\nb r c\n"),
        ("a", "a\tr\tb\nb\tr\tc\n"),
        ("a.tsv.gz", gzip.compress(b"a\tr\tb\nb\tr\tc\n", mtime=0)),
        ("a.csv.bz2", bz2.compress(b"a,r,b\nb,r,c\n")),
        ("a.txt.zst", pa.compress(b"a|r|b\nb|r|c\n", codec="zstd", asbytes=True)),
        ("a.parquet", parquet_bytes()),
        ("a.parquet.gz", gzip.compress(parquet_bytes(), mtime=0)),
        ("a.nt", "<a:> <r:> <b:> .\n<b:> <r:> <c:> .".replace(":>", "://>")),
    ],
)
def test_a_file_is_read_by_its_name(write: Write, name: str, content: str | bytes) -> None:
    expected = [tuple(f"{n}://" for n in triple) for triple in ABC] if name == "a.nt" else ABC
    assert triples(read_table(write(name, content))) == expected
    assert triples(read_table(str(write(name, content)))) == expected


def test_openke_files_are_known_by_name(write: Write) -> None:
    write("entity2id.txt", "3\na\t0\nb\t1\nc\t2\n")
    write("relation2id.txt", "1\nr\t0\n")
    assert triples(read_table(write("train2id.txt", "2\n0 1 0\n1 2 0\n"))) == ABC


def test_format_overrides_the_name(write: Write) -> None:
    assert triples(read_table(write("a2id.txt", "a\tr\tb\nb\tr\tc\n"), format="tsv")) == ABC
    assert triples(read_table(write("a.csv", 'a\tr\t"b\n'), format="tsv")) == [("a", "r", '"b')]
    assert triples(read_table(write("a.dat", parquet_bytes()), format="parquet")) == ABC


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame(ABC, columns=["head", "relation", "tail"]),
        nx.MultiDiGraph([(h, t, r) for h, r, t in ABC]),
        ABC,
        iter(ABC),
        np.array(ABC),
    ],
    ids=["pandas", "networkx", "list", "iterator", "numpy"],
)
def test_objects_are_read_by_what_they_can_do(source: object) -> None:
    assert triples(read_table(source)) == ABC


@pytest.mark.parametrize("source", [3, None, b"a.tsv"])
def test_anything_else_is_refused(source: object) -> None:
    with pytest.raises(DataError) as error:
        read_table(source)
    assert str(error.value) == f"expected a path, a table, a graph or triples, found a {type(source).__name__}"


def test_a_missing_file_is_named_with_its_neighbors(write: Write) -> None:
    path = write("train.tsv", "a\tr\tb\n")
    with pytest.raises(DataError) as error:
        read_table(path.with_name("train.tvs"))
    assert str(error.value) == f"{path.parent}/train.tvs: no such file or folder; did you mean train.tsv?"


def test_an_unknown_format_is_refused(write: Write) -> None:
    with pytest.raises(ConfigError) as error:
        read_table(write("a.tsv", "a\tr\tb\n"), format="tvs")
    assert str(error.value) == f'unknown format "tvs", expected one of {", ".join(FORMATS)}; did you mean tsv?'


def test_settings_without_meaning_are_refused(write: Write) -> None:
    for name in ("a.nt", "train2id.txt"):
        with pytest.raises(ConfigError, match=r"columns=\(0, 1, 2\) has no meaning for (nt|openke); leave it out"):
            read_table(write(name, ""), columns=(0, 1, 2))
    with pytest.raises(ConfigError, match="delimiter=',' has no meaning for parquet"):
        read_table(write("a.parquet", ""), delimiter=",")
    with pytest.raises(ConfigError, match="format='tsv' has no meaning for list"):
        read_table(ABC, format="tsv")
    with pytest.raises(ConfigError, match=r"columns=.* has no meaning for list"):
        read_table(ABC, columns=(0, 1, 2))
    with pytest.raises(ConfigError, match="header=True has no meaning for DataFrame"):
        read_table(pd.DataFrame(ABC), header=True)


@fuzz
@given(suffix=st.sampled_from(SUFFIXES), content=st.binary(max_size=200) | fragments.map(str.encode))
def test_arbitrary_bytes_give_a_table_or_our_own_error(folder: Path, suffix: str, content: bytes) -> None:
    path = folder / f"fuzz.{suffix}"
    path.write_bytes(content)
    with suppress(HMemError):
        assert triples(read_table(path))


RDF_PIECES = ["<http://a>", "a:b", "_:x", '"v"', "@en", "^^", "[", "]", "(", ")", "{", "}", "<<", ">>", ".", ";", ","]
RDF_PIECES += [
    "@prefix a: <http://p/> .",
    " ",
    "\n",
    '"@id":',
    "true",
    "1.0",
    "<rdf:RDF>",
    "</",
    "<!--",
    "&lt;",
    "\\u00",
]


@fuzz
@given(
    suffix=st.sampled_from(["nt", "nq", "ttl", "trig", "rdf", "jsonld"]),
    content=st.lists(st.sampled_from(RDF_PIECES), max_size=30).map("".join),
)
def test_broken_rdf_gives_a_table_or_our_own_error(folder: Path, suffix: str, content: str) -> None:
    path = folder / f"fuzz.{suffix}"
    path.write_text(content, encoding="utf-8")
    with suppress(HMemError):
        assert triples(read_table(path))


@fuzz
@given(content=fragments | st.text(alphabet="0123456789 -\n\tab", max_size=40), which=st.integers(0, 2))
def test_broken_openke_files_give_a_table_or_our_own_error(folder: Path, content: str, which: int) -> None:
    contents = ["2\n0 1 0\n1 0 0\n", "2\na\t0\nb\t1\n", "1\nr\t0\n"]
    contents[which] = content
    for name, text in zip(["train2id.txt", "entity2id.txt", "relation2id.txt"], contents, strict=True):
        (folder / name).write_bytes(text.encode())
    with suppress(HMemError):
        assert triples(read_table(folder / "train2id.txt"))


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("tsv.gz", gzip.compress(b"a\tr\tb\nb\tr\tc\n", mtime=0)),
        ("tsv.bz2", bz2.compress(b"a\tr\tb\nb\tr\tc\n")),
        ("tsv.zst", pa.compress(b"a\tr\tb\nb\tr\tc\n", codec="zstd", asbytes=True)),
        ("parquet", parquet_bytes()),
    ],
)
def test_every_cut_of_a_binary_file_is_our_own_error(folder: Path, suffix: str, content: bytes) -> None:
    path = folder / f"cut.{suffix}"
    for length in range(0, len(content), 1 + len(content) // 200):
        path.write_bytes(content[:length])
        with pytest.raises(DataError):
            read_table(path)


@pytest.mark.parametrize(
    "form", ["csv", "csv with a quote", "csv by the slow scan", "parquet", "pandas", "arrow dates"]
)
def test_what_qualifies_facts_is_read_from_every_table(write: Write, form: str) -> None:
    text = "from,type,to,start_date,end_date,confidence\na,r,b,2019-05,,0.5\nb,r,c,,2020,\n"
    columns: dict[str, list[object]] = {
        "from": ["a", "b"],
        "type": ["r", "r"],
        "to": ["b", "c"],
        "start_date": ["2019-05", ""],
        "end_date": [None, "2020"],
        "confidence": [0.5, math.nan],
    }
    match form:
        case "parquet":
            pq.write_table(pa.table(columns), path := write("a.parquet", ""))
            source: object = path
        case "pandas":
            source = pd.DataFrame(columns)
        case "arrow dates":
            first = pa.array([date(2019, 5, 1), None])
            last = pa.array([None, datetime(2020, 12, 31, 12)], pa.timestamp("us"))
            source = pa.table({**columns, "start_date": first, "end_date": last})
        case "csv by the slow scan":
            source = write("a.csv", text + "\n \n")
        case _:
            source = write("a.csv", text.replace("2019-05", '"2019-05"') if "quote" in form else text)
    table = read_table(source)
    assert table.schema.field("valid_from").type == table.schema.field("valid_until").type == pa.date32()
    assert table.to_pylist() == [
        {
            **dict(zip(PARTS, "arb", strict=True)),
            "valid_from": date(2019, 5, 1),
            "valid_until": None,
            "confidence": 0.5,
        },
        {
            **dict(zip(PARTS, "brc", strict=True)),
            "valid_from": None,
            "valid_until": date(2020, 12, 31),
            "confidence": None,
        },
    ]
    assert read_table(source, columns=("from", "type", "to")).column_names == list(PARTS)
    only_days = read_table(source, columns=("from", "type", "to", "start_date"))
    assert only_days.column_names == [*PARTS, "valid_from"]


def test_columns_that_say_nothing_are_left_out(write: Write) -> None:
    assert triples(read_table(write("a.csv", "h,r,t,since\na,r,b,\nb,r,c,\n"))) == ABC


def test_a_day_that_is_none_names_file_and_row(write: Write) -> None:
    path = write("a.csv", "h,r,t,since\na,r,b,2019\nb,r,c,May\n")
    with pytest.raises(
        DataError, match=r"a.csv: row 1 \(counted from 0\): expected a day .* as valid_from, found 'May'; name"
    ):
        read_table(path)
    assert triples(read_table(path, columns=(0, 1, 2))) == ABC
