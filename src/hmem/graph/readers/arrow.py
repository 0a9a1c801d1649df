"""Tables in memory: anything that speaks the Arrow stream protocol, such as pandas, polars and pyarrow."""

import re
from collections.abc import Sequence

import pyarrow as pa

from hmem.graph.readers.columns import CHOOSE_COLUMNS, Columns, Positions, find_columns, find_qualifiers
from hmem.graph.readers.files import Place
from hmem.graph.readers.table import as_table
from hmem.graph.triples import PARTS

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls an index that has no name
_ROWS_PER_CHUNK = 1 << 20


def read_arrow(source: object, columns: Columns | None) -> pa.Table:
    """The triples of a table that has `__arrow_c_stream__`; errors count its rows from 0."""
    where = Place(None, kind=type(source).__name__)
    try:
        table = pa.table(source)
    except (pa.ArrowException, OSError, TypeError, ValueError) as error:
        raise where.error(f"cannot be read as a table: {error}") from None
    names = table.column_names
    said = find_qualifiers(names, len(names), columns, where)
    return facts_of(table, choose_columns(names, columns, where), said, where)


def facts_of(table: pa.Table, positions: Positions, said: dict[str, int], where: Place) -> pa.Table:
    """The head, the relation and the tail of `table` as text, and what qualifies them; an error names `where`."""
    if not table.num_rows:
        raise where.error("expected rows of head, relation and tail, found an empty table")
    chosen = zip(PARTS, positions, strict=True)
    facts = as_table([_text(table.column(position), role, where) for role, position in chosen])
    for name, position in said.items():
        facts = facts.append_column(name, table.column(position))
    return facts


def choose_columns(names: Sequence[str], columns: Columns | None, where: Place) -> Positions:
    """The positions of the head, the relation and the tail among the columns of a table."""
    positions = find_columns(names, len(names), columns, where)
    if positions is not None:
        return positions
    kept = [position for position, name in enumerate(names) if not _PANDAS_INDEX.fullmatch(name)]
    if len(kept) == 3:
        return kept[0], kept[1], kept[2]
    problem = f"expected columns head, relation and tail, found {', '.join(names) or 'none'}"
    raise where.error(problem, hint=CHOOSE_COLUMNS if len(names) > 3 else None)


def _text(column: pa.ChunkedArray, role: str, where: Place) -> list[pa.Array]:
    """The chunks of `column` as dictionary-encoded text, none of it null or empty."""
    chunks: list[pa.Array] = []
    row = 0
    for chunk in column.chunks:
        for start in range(0, len(chunk), _ROWS_PER_CHUNK):
            piece = _encode(chunk.slice(start, _ROWS_PER_CHUNK), role, where)
            _refuse_nothing(piece, row, role, where)
            chunks.append(piece)
            row += len(piece)
    return chunks


def _encode(piece: pa.Array, role: str, where: Place) -> pa.Array:
    """`piece` as dictionary-encoded text; the dictionary is made anew, so that it holds no name that is not used."""
    kind = piece.type.value_type if pa.types.is_dictionary(piece.type) else piece.type
    if not (_is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise where.error(f"expected text or integers as {role}, found {kind}")
    try:
        if pa.types.is_dictionary(piece.type):
            used = piece.indices.dictionary_encode()
            encoded = _as_string(piece.dictionary).take(used.dictionary).dictionary_encode()
            return pa.DictionaryArray.from_arrays(encoded.indices.take(used.indices), encoded.dictionary)
        # these two have no dictionary encoding of their own
        encoded = (_as_string(piece) if str(kind) in ("string_view", "null") else piece).dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices, _as_string(encoded.dictionary))
    except pa.ArrowException as error:
        raise where.error(f"expected UTF-8 text as {role}: {error}") from None


def _as_string(values: pa.Array) -> pa.Array:
    text = values.cast(pa.string())
    text.validate(full=True)  # Arrow itself does not check that text is UTF-8
    return text


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def _refuse_nothing(piece: pa.Array, first_row: int, role: str, where: Place) -> None:
    if piece.null_count or piece.dictionary.index("").as_py() >= 0:
        row, name = next((row, name) for row, name in enumerate(piece.to_pylist(), first_row) if not name)
        found = "a null" if name is None else "empty text"
        raise where.error(f"row {row} (counted from 0): expected a {role}, found {found}")
