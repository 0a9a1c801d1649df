"""Parquet files."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hmem.graph.readers.arrow import choose_columns, facts_of
from hmem.graph.readers.columns import Columns, find_qualifiers
from hmem.graph.readers.compression import FREE, MOST_GROWTH, open_bytes
from hmem.graph.readers.files import Place


def read_parquet(path: Path, columns: Columns | None) -> pa.Table:
    """The triples of a Parquet file; of a wide one only their columns are read. Errors count its rows from 0."""
    (table,) = parquet_pieces(path, columns, None)
    return table


def parquet_pieces(path: Path, columns: Columns | None, rows: int | None) -> Iterator[pa.Table]:
    """The same so many rows at a time, or all at once."""
    place = Place(path)
    with open_bytes(path) as stream:
        source = stream if stream.seekable() else pa.BufferReader(stream.read())
        try:
            # What the file has once for many rows is kept so, however long it is.
            every = pq.read_schema(source).names
            with pq.ParquetFile(source, read_dictionary=every) as file:
                names = file.schema_arrow.names
                if len(set(names)) < len(names):  # the file is read by column name
                    raise place.error(expected="columns with different names", found=", ".join(names))
                _refuse_bomb(file.metadata, path.stat().st_size, place)
                positions = choose_columns(names, columns, place)
                said = find_qualifiers(names, len(names), columns, place)
                wanted = [names[position] for position in (*positions, *said.values())]
                for table in _tables(file, wanted, rows):
                    head, relation, tail = (table.column_names.index(names[position]) for position in positions)
                    there = {name: table.column_names.index(names[position]) for name, position in said.items()}
                    yield facts_of(table, (head, relation, tail), there, place)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise place.error(f"not a sound Parquet file: {' '.join(str(error).split())}") from None


def _tables(file: pq.ParquetFile, columns: list[str], rows: int | None) -> Iterator[pa.Table]:
    if rows is None:
        yield file.read(columns=columns)
    else:
        yield from (pa.Table.from_batches([batch]) for batch in file.iter_batches(rows, columns=columns))


def _refuse_bomb(metadata: pq.FileMetaData, size: int, place: Place) -> None:
    """A repeated value takes no room in the file, so that a few bytes can stand for any number of rows."""
    unpacked = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if max(unpacked, 16 * metadata.num_rows) > FREE + MOST_GROWTH * size:
        raise place.error(f"it becomes more than {MOST_GROWTH} times as long when it is unpacked")
