"""Delimited text by the fast path: pyarrow's parser, with every doubt sent to the slow scan."""

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from hmem.graph.readers.columns import Columns
from hmem.graph.readers.layout import Layout, find_layout
from hmem.graph.readers.lines import BOM, open_text
from hmem.graph.readers.quotes import QuoteCheck
from hmem.graph.readers.slow_scan import scan
from hmem.graph.readers.table import TEXT, with_note
from hmem.graph.triples import PARTS

_BLOCK = 1 << 22  # bytes parsed at a time (fastest of 1, 4, 8 and 16 MB); a longer row goes to the slow scan


def read_text(path: Path, kind: str, delimiter: str | None, header: bool | None, columns: Columns | None) -> pa.Table:
    """The triples of a TSV, CSV or other delimited file; see `hmem.graph.readers.read` for what is accepted."""
    layout = find_layout(path, kind, delimiter, header, columns)
    table = parse(path, layout)
    table = scan(path, layout) if table is None else table
    if header is None and not layout.lines and _is_unlike_the_rest(table):
        first = ", ".join(str(table.column(part)[0]) for part in PARTS)
        note = f"the first row of {path.name} was read as a fact ({first}); "
        note += "if it is a heading, delete that row or give the option header"
        return with_note(table, note)
    return table


def _is_unlike_the_rest(table: pa.Table) -> bool:
    """Whether no name of the first row occurs again in its column: it may be an unusual heading."""
    return table.num_rows > 2 and all(_occurs_once(table.column(role)) for role in ("relation", "head", "tail"))


def _occurs_once(column: pa.ChunkedArray) -> bool:
    """Whether the first value of a column stands in no other row."""
    name, first = column[0].as_py(), column.chunk(0)
    if pc.sum(pc.equal(first.indices, first.indices[0])).as_py() > 1:
        return False
    return all(chunk.dictionary.index(name).as_py() < 0 for chunk in column.chunks[1:])


class DoubtError(Exception):
    """Something about a file is out of the ordinary: only the slow scan may judge."""


def parse(path: Path, layout: Layout) -> pa.Table | None:
    """The triples of `path`, or None if anything about it is out of the ordinary and only the slow scan may judge."""
    try:
        with _inspected(path, layout) as inspected:
            table = csv.read_csv(inspected, **_options(layout))
            if not inspected.passes() or table.num_rows == 0 or _has_empty_name(table):
                return None
    except (DoubtError, pa.ArrowInvalid):
        return None
    return table.rename_columns([*PARTS, *layout.said])


def parse_pieces(path: Path, layout: Layout) -> Iterator[pa.Table]:
    """The same, some at a time.

    Where quotes do not matter, the triples before a DoubtError are those that the slow scan finds first.
    """
    try:
        with _inspected(path, layout) as inspected, csv.open_csv(inspected, **_options(layout)) as reader:
            for batch in reader:
                table = pa.Table.from_batches([batch])
                if not inspected.sound or _has_empty_name(table):
                    raise DoubtError
                if table.num_rows:
                    yield table.rename_columns([*PARTS, *layout.said])
            if not inspected.passes():
                raise DoubtError
    except pa.ArrowInvalid:
        raise DoubtError from None


@contextmanager
def _inspected(path: Path, layout: Layout) -> Iterator["_Inspected"]:
    """The rows of a file as pyarrow is to read them."""
    if not layout.delimiter.isascii() or (layout.delimiter == " " and layout.width != 3):
        raise DoubtError  # pyarrow wants one byte; and a run of spaces may hide in a column that is not read
    with open_text(path) as stream:
        stream.read(layout.offset)
        if stream.peek(len(BOM)).startswith(BOM):
            raise DoubtError  # here it is part of a name, but pyarrow would drop it
        yield _Inspected(stream, layout)


def _options(layout: Layout) -> dict[str, Any]:
    names = [str(position) for position in range(layout.width)]
    chosen = [names[position] for position in (*layout.columns, *layout.said.values())]
    types = {**dict.fromkeys(chosen, TEXT), **{names[place]: pa.string() for place in layout.said.values()}}
    return {
        "read_options": csv.ReadOptions(column_names=names, block_size=_BLOCK),
        "parse_options": csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.quoted,
        ),
        "convert_options": csv.ConvertOptions(column_types=types, include_columns=chosen, check_utf8=False),
    }


def _has_empty_name(table: pa.Table) -> bool:
    empty = pa.scalar("", pa.string())
    return any(chunk.dictionary.index(empty).as_py() >= 0 for column in table.columns[:3] for chunk in column.chunks)


class _Inspected(io.RawIOBase):
    """A text stream that looks at all that pyarrow reads through it: NUL bytes, invalid UTF-8, doubtful quotes."""

    def __init__(self, stream: io.BufferedReader, layout: Layout) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._quotes = QuoteCheck(layout.delimiter) if layout.quoted else None
        self.sound = True

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        if b"\0" in block:
            self.sound = False
        try:
            self._decoder.decode(block)
        except UnicodeDecodeError:
            self.sound = False
        if self._quotes is not None:
            self._quotes.feed(block)
        return block

    def passes(self) -> bool:
        return self.sound and not self._decoder.getstate()[0] and (self._quotes is None or self._quotes.passes())
