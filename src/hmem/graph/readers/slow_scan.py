"""The slow scan of delimited text: it finds and explains the first bad line, or reads the file after all."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from hmem.errors import DataError
from hmem.graph.readers.files import Place
from hmem.graph.readers.layout import Layout
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rows import TextRow, fields_by, rows
from hmem.graph.readers.table import TableBuilder
from hmem.graph.triples import PARTS

AT_ONCE = 1 << 18  # rows


def scan(path: Path, layout: Layout) -> pa.Table:
    """The triples of `path`, row by row; the first row that is none is a DataError with its line.

    Blank lines are skipped.
    """
    return pa.concat_tables(scan_pieces(path, layout))


def scan_pieces(path: Path, layout: Layout) -> Iterator[pa.Table]:
    """The same, some at a time."""
    head, relation, tail = layout.columns
    count, builder = 0, TableBuilder()
    said: dict[str, list[str]] = {name: [] for name in layout.said}
    with open_text(path) as stream:
        stream.read(layout.offset)
        for row in rows(Lines(stream, path, layout.lines), layout.delimiter, layout.quoted):
            fields = row.fields
            if len(fields) == layout.width and fields[head] and fields[relation] and fields[tail]:
                count += 1
                builder.add(fields[head], fields[relation], fields[tail])
                for name, place in layout.said.items():
                    said[name].append(fields[place])
                if len(builder) == AT_ONCE:
                    yield _finished(builder, said)
                    builder, said = TableBuilder(), {name: [] for name in said}
            elif not row.blank:
                raise _what_is_wrong(row, layout, Place(path, row.number))
    if not count:
        raise DataError(path=path, expected="rows of head, relation and tail", found="only a heading")
    if len(builder):
        yield _finished(builder, said)


def _finished(builder: TableBuilder, said: dict[str, list[str]]) -> pa.Table:
    table = builder.finish()
    for name, values in said.items():
        table = table.append_column(name, pa.array(values, pa.string()))
    return table


def _what_is_wrong(row: TextRow, layout: Layout, place: Place) -> DataError:
    if len(row.fields) != layout.width:
        return place.error(expected=fields_by(layout.width, layout.delimiter), found=len(row.fields))
    role, position = next(
        (role, position) for role, position in zip(PARTS, layout.columns, strict=True) if not row.fields[position]
    )
    return place.error(expected=f"a {role} in field {position + 1} of {layout.width}", found="it empty")
