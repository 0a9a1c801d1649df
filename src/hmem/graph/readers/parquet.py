"""Parquet files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hmem.errors import DataError
from hmem.graph.readers.arrow import choose_columns, three_columns
from hmem.graph.readers.columns import Columns
from hmem.graph.readers.compression import open_bytes


def read_parquet(path: Path, columns: Columns | None) -> pa.Table:
    """The triples of a Parquet file; of a wide one only the three columns are read. Errors count its rows from 0."""
    with open_bytes(path) as stream:
        source = stream if stream.seekable() else pa.BufferReader(stream.read())
        try:
            with pq.ParquetFile(source) as file:
                names = file.schema_arrow.names
                if len(set(names)) < len(names):  # the file is read by column name
                    raise DataError(f"{path}: expected columns with different names, found {', '.join(names)}")
                chosen = [names[position] for position in choose_columns(names, columns, str(path))]
                table = file.read(columns=chosen)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(f"{path}: not a sound Parquet file: {error}") from None
    return three_columns(table, chosen, str(path))
