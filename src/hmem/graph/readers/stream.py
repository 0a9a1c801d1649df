"""Facts of a file some at a time, for files larger than the memory.

Delimited text and Parquet are streamed; files of other formats are read whole first. What is accepted, and what is said
of what is not, is the same as when a file is read whole.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from hmem.graph.readers.columns import Columns, check_columns
from hmem.graph.readers.layout import find_layout
from hmem.graph.readers.parquet import parquet_pieces
from hmem.graph.readers.read import format_of, qualified, read_table
from hmem.graph.readers.slow_scan import scan_pieces
from hmem.graph.readers.text import DoubtError, parse_pieces


def stream_table(path: Path, rows: int, *, columns: Columns | None = None, **how: Any) -> Iterator[pa.Table]:
    """The triples of a file as `read_table` gives them, in tables of about so many rows.

    An error may come after some of them.
    """
    if columns is not None:
        check_columns(columns)
    kind = how.pop("format", None) or format_of(path)
    how = {name: value for name, value in how.items() if value is not None}
    if kind in ("tsv", "csv", "txt") and "iris" not in how:
        pieces = _text(path, kind, columns, **how)
    elif kind == "parquet" and not how:
        pieces = parquet_pieces(path, columns, rows)
    else:
        pieces = iter([read_table(path, format=kind, columns=columns, **how)])
    return (qualified(table, path) for table in _of_size(pieces, rows))


def _text(
    path: Path, kind: str, columns: Columns | None, delimiter: str | None = None, header: bool | None = None
) -> Iterator[pa.Table]:
    layout = find_layout(path, kind, delimiter, header, columns)
    done = 0
    try:
        if layout.quoted:  # one that is doubtful may change all rows from there on, or before
            for piece in parse_pieces(path, layout):
                del piece
        for piece in parse_pieces(path, layout):
            yield piece
            done += len(piece)
    except DoubtError:  # only the slow scan may judge, and go on after what was read already
        for piece in scan_pieces(path, layout):
            skipped = min(done, len(piece))
            done -= skipped
            if skipped < len(piece):
                yield piece.slice(skipped)


def _of_size(pieces: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of about so many."""
    waiting: list[pa.Table] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(map(len, waiting)) >= rows:
            together = pa.concat_tables(waiting)
            yield from (together.slice(start, rows) for start in range(0, len(together), rows))
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
