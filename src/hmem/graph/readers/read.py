"""The front door for graphs: one function reads every kind of source.

| source | read as |
|---|---|
| path to .tsv, .csv, .txt or any other text | delimited text, one triple per row |
| path to .parquet | Parquet |
| path to .nt, .nq, .ttl, .trig, .rdf, .xml, .owl, .jsonld | RDF (needs `pip install 'hmem[rdf]'`) |
| path to train2id.txt and the like | OpenKE ids, with entity2id.txt and relation2id.txt beside it |
| path to .jsonl, .ndjson, or a .json that is a list | JSON: an object for each triple |
| path to any other .json | a STIX 2 bundle |
| path to delimited text, with `format="wide"` | a row for each entity, a column for each relation |
| path to .graphml | GraphML |
| path to relationships.csv, with :START_ID, :END_ID and :TYPE | the CSV of Neo4j's import, with nodes.csv beside it |
| any of these and .gz, .bz2 or .zst | the same, decompressed |
| pandas, polars, pyarrow, anything with `__arrow_c_stream__` | a table |
| networkx DiGraph, MultiDiGraph | one triple per edge |
| iterable of tuples of three strings | itself |

Names are kept as they are: nothing is stripped, folded or normalized. Lines end with LF, CRLF or CR; blank lines and a
byte-order mark are skipped. TSV has no quoting; CSV has that of RFC 4180, line breaks in quotes included.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from hmem.errors import ConfigError, DataError, Hint
from hmem.graph.name_search import closest
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.qualifiers import Qualifiers
from hmem.graph.readers.arrow import read_arrow
from hmem.graph.readers.columns import Columns, check_columns
from hmem.graph.readers.compression import bare_path
from hmem.graph.readers.graphml import read_graphml
from hmem.graph.readers.json_lines import is_list, read_json_lines
from hmem.graph.readers.neo4j import is_neo4j, read_neo4j
from hmem.graph.readers.networkx import NetworkXGraph, read_networkx
from hmem.graph.readers.openke import is_openke, read_openke
from hmem.graph.readers.parquet import read_parquet
from hmem.graph.readers.rdf import RDF_FORMATS, read_rdf
from hmem.graph.readers.stix import read_stix
from hmem.graph.readers.text import read_text
from hmem.graph.readers.tuples import read_tuples
from hmem.graph.readers.wide import read_wide
from hmem.graph.triples import PARTS

_WHOLE = {"openke": read_openke, "stix": read_stix, "graphml": read_graphml, "neo4j": read_neo4j}
FORMATS = ("tsv", "csv", "txt", "wide", "jsonl", "parquet", *RDF_FORMATS, *_WHOLE)


def read_table(
    source: object,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Columns | None = None,
    iris: str | None = None,
) -> pa.Table:
    """The triples of `source`: a table with columns head, relation and tail of dictionary-encoded text.

    Where a heading names them, or `columns`, there are also the columns of `hmem.graph.qualifiers`: `valid_from` and
    `valid_until`, as days, and `confidence`.

    `format` is one of FORMATS where the file's name does not tell. `delimiter` is a single character, guessed if not
    given; " " stands for runs of spaces. `header` says whether the first row names the columns; if not given, a first
    row such as head/relation/tail or from/type/to does. `columns` names the columns of head, relation and tail, or
    gives their positions counted from 0, and behind them, if wanted, those of the first and of the last day on which
    the facts held; for networkx the middle one is the edge attribute. `iris` of an RDF file are
    "full", which is the default and what all files agree on, or "short", by the prefixes that the file declares.

    The table has at least one row, and no name in it is empty. Duplicates are kept. Input that cannot be read is one
    DataError, and nothing is returned of it; settings that do not fit the source are a ConfigError.
    """
    if columns is not None:
        check_columns(columns)
    if isinstance(source, str | os.PathLike):
        path = Path(os.fsdecode(source))
        return qualified(_read_file(path, format, delimiter, header, columns, iris), source)
    _refuse(type(source).__name__, format=format, delimiter=delimiter, header=header, iris=iris)
    return qualified(_read_in_memory(source, columns), source)


def qualified(table: pa.Table, source: object) -> pa.Table:
    """The same table with its qualifiers by their types; those that say nothing are left out."""
    given = [name for name in table.column_names[3:] if name in QUALIFIERS]
    if not given:
        return table
    try:
        said = Qualifiers.of(table.num_rows, **{name: table.column(name) for name in given})
    except DataError as error:
        keep_out = Hint(text="name the columns to be read", option="columns", value=PARTS)
        path = source if isinstance(source, str | os.PathLike) else None
        raise DataError(error.problem, path=path, found=error.found, hint=keep_out) from None
    table = table.drop_columns(given)
    for name, column in said.columns.items():
        table = table.append_column(name, column)
    return table


def _read_file(
    path: Path,
    format: str | None,
    delimiter: str | None,
    header: bool | None,
    columns: Columns | None,
    iris: str | None,
) -> pa.Table:
    format = format_of(path) if format is None else format
    if format not in RDF_FORMATS:
        _refuse(format, iris=iris)
    if format in ("tsv", "csv", "txt"):
        return read_text(path, format, delimiter, header, columns)
    _check_format(format)
    if format == "wide":
        _refuse(format, header=header, columns=columns)
        return read_wide(path, delimiter)
    _refuse(format, delimiter=delimiter, header=header)
    if format == "jsonl":
        return read_json_lines(path, columns)
    if format == "parquet":
        return read_parquet(path, columns)
    _refuse(format, columns=columns)
    if format in _WHOLE:
        return _WHOLE[format](path)
    return read_rdf(path, format, iris or "full")


def _read_in_memory(source: object, columns: Columns | None) -> pa.Table:
    kind = type(source).__name__
    if isinstance(source, NetworkXGraph):
        return read_networkx(source, columns)
    if hasattr(source, "__arrow_c_stream__"):
        return read_arrow(source, columns)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        _refuse(kind, columns=columns)
        return read_tuples(source)
    raise DataError(expected="a path, a table, a graph or triples", found=f"a {kind}")


def format_of(path: Path) -> str:
    if is_openke(path):
        return "openke"
    if is_neo4j(path):
        return "neo4j"
    suffix = bare_path(path).suffix.lower().removeprefix(".")
    if suffix == "json":
        return "jsonl" if is_list(path) else "stix"
    if suffix == "ndjson":
        return "jsonl"
    return suffix if suffix in FORMATS and suffix != "wide" else "txt"


def _check_format(format: str) -> None:
    if format not in FORMATS:
        problem = f'unknown format "{format}", expected one of {", ".join(FORMATS)}'
        raise ConfigError(problem, option="format", found=format, suggestions=closest(format, FORMATS, 1))


def _refuse(kind: str, **settings: object) -> None:
    """A setting that would have no effect is refused, rather than ignored."""
    for name, value in settings.items():
        if value is not None:
            raise ConfigError(f"{{option}} has no meaning for {kind}; leave it out", option=name, found=value)
