"""Parquet files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hmem.graph.readers.arrow import choose_columns, three_columns
from hmem.graph.readers.columns import Columns
from hmem.graph.readers.compression import open_bytes
from hmem.graph.readers.files import Place


def read_parquet(path: Path, columns: Columns | None) -> pa.Table:
    """The triples of a Parquet file; of a wide one only the three columns are read. Errors count its rows from 0."""
    place = Place(path)
    with open_bytes(path) as stream:
        source = stream if stream.seekable() else pa.BufferReader(stream.read())
        try:
            with pq.ParquetFile(source) as file:
                names = file.schema_arrow.names
                if len(set(names)) < len(names):  # the file is read by column name
                    raise place.error(expected="columns with different names", found=", ".join(names))
                chosen = [names[position] for position in choose_columns(names, columns, place)]
                table = file.read(columns=chosen)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise place.error(f"not a sound Parquet file: {error}") from None
    return three_columns(table, chosen, place)
