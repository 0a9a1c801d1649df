"""Delimited text by the fast path: pyarrow's parser, with every doubt sent to the slow scan."""

import codecs
import io
from pathlib import Path

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


def parse(path: Path, layout: Layout) -> pa.Table | None:
    """The triples of `path`, or None if anything about it is out of the ordinary and only the slow scan may judge."""
    if not layout.delimiter.isascii() or (layout.delimiter == " " and layout.width != 3):
        return None  # pyarrow wants one byte; and a run of spaces may hide in a column that is not read
    names = [str(position) for position in range(layout.width)]
    chosen = [names[position] for position in (*layout.columns, *layout.said.values())]
    types = {**dict.fromkeys(chosen, TEXT), **{names[place]: pa.string() for place in layout.said.values()}}
    with open_text(path) as stream:
        stream.read(layout.offset)
        if stream.peek(len(BOM)).startswith(BOM):
            return None  # here it is part of a name, but pyarrow would drop it
        inspected = _Inspected(stream, layout)
        try:
            table = csv.read_csv(
                inspected,
                read_options=csv.ReadOptions(column_names=names, block_size=_BLOCK),
                parse_options=csv.ParseOptions(
                    delimiter=layout.delimiter,
                    quote_char='"' if layout.quoted else False,
                    newlines_in_values=layout.quoted,
                ),
                convert_options=csv.ConvertOptions(column_types=types, include_columns=chosen, check_utf8=False),
            )
        except pa.ArrowInvalid:
            return None
        if not inspected.passes() or table.num_rows == 0 or _has_empty_name(table):
            return None
    return table.rename_columns([*PARTS, *layout.said])


def _has_empty_name(table: pa.Table) -> bool:
    empty = pa.scalar("", pa.string())
    return any(chunk.dictionary.index(empty).as_py() >= 0 for column in table.columns[:3] for chunk in column.chunks)


class _Inspected(io.RawIOBase):
    """A text stream that looks at all that pyarrow reads through it: NUL bytes, invalid UTF-8, doubtful quotes."""

    def __init__(self, stream: io.BufferedReader, layout: Layout) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._quotes = QuoteCheck(layout.delimiter) if layout.quoted else None
        self._sound = True

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        if b"\0" in block:
            self._sound = False
        try:
            self._decoder.decode(block)
        except UnicodeDecodeError:
            self._sound = False
        if self._quotes is not None:
            self._quotes.feed(block)
        return block

    def passes(self) -> bool:
        return self._sound and not self._decoder.getstate()[0] and (self._quotes is None or self._quotes.passes())
