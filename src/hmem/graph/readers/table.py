"""The table that every reader returns: columns head, relation and tail, each dictionary-encoded text.

Each chunk of a column has a dictionary of its own, holding just the names that occur in the chunk.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from hmem.graph.triples import PARTS, Triples

Ids: TypeAlias = Sequence[int] | Int[np.ndarray, " n"]
TEXT = pa.dictionary(pa.int32(), pa.string())
_ROWS_PER_CHUNK = 1 << 18


class TableBuilder:
    """Collects triples one by one; `len` is the number of triples so far."""

    def __init__(self) -> None:
        self._chunks: list[list[pa.Array]] = [[], [], []]
        self._pending: list[tuple[str, str, str]] = []
        self._flushed = 0

    def __len__(self) -> int:
        return self._flushed + len(self._pending)

    def add(self, head: str, relation: str, tail: str) -> None:
        self._pending.append((head, relation, tail))
        if len(self._pending) == _ROWS_PER_CHUNK:
            self._flush()

    def finish(self) -> pa.Table:
        self._flush()
        return as_table(self._chunks)

    def _flush(self) -> None:
        for chunks, names in zip(self._chunks, zip(*self._pending, strict=True), strict=False):
            chunks.append(pa.array(names, pa.string()).dictionary_encode())
        self._flushed += len(self._pending)
        self._pending = []


class StatementBuilder(TableBuilder):
    """Collects triples with what is said of them besides; tails that begin with a quote are literals."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, dict[int, str]] = {}  # by the number of the triple

    def add(self, head: str, relation: str, tail: str, **said: str | None) -> None:
        for name, text in said.items():
            if text is not None:
                self._said.setdefault(name, {})[len(self)] = text
        super().add(head, relation, tail)

    def finish(self) -> pa.Table:
        table = super().finish()
        for name, texts in self._said.items():
            table = table.append_column(name, pa.array([texts.get(row) for row in range(len(table))], pa.string()))
        return with_literals(table)


def with_note(table: pa.Table, note: str) -> pa.Table:
    """The same table with a note for its reader, which goes into the notes of a dataset."""
    return table.replace_schema_metadata({"hmem.note": note})


def note_of(table: pa.Table) -> str | None:
    found = (table.schema.metadata or {}).get(b"hmem.note")
    return None if found is None else found.decode()


UNIT = "unit"  # a column of units, of literals


def with_literals(table: pa.Table) -> pa.Table:
    """The same table, of whose tails those that begin with a quote are literals of RDF."""
    return table.replace_schema_metadata({"hmem.literals": "quoted"})


def has_literals(table: pa.Table) -> bool:
    return b"hmem.literals" in (table.schema.metadata or {})


def as_table(columns: Iterable[list[pa.Array]]) -> pa.Table:
    """The table of three columns given by their chunks."""
    return pa.table({part: pa.chunked_array(chunks, TEXT) for part, chunks in zip(PARTS, columns, strict=True)})


def table_of_triples(triples: Triples, entities: pa.Array, relations: pa.Array) -> pa.Table:
    """The table of facts given by number, with the names as plain text."""
    columns = zip(PARTS, (entities, relations, entities), np.asfortranarray(triples).T, strict=True)
    return pa.table({part: names.take(pa.array(ids)) for part, names, ids in columns})


def table_of_ids(columns: Iterable[tuple[Ids, pa.Array]]) -> pa.Table:
    """The table of three columns given as ids with the names they stand for."""
    return as_table([_named(np.asarray(ids, dtype=np.int32), names) for ids, names in columns])


def _named(ids: Int[np.ndarray, " n"], names: pa.Array) -> list[pa.Array]:
    starts = range(0, len(ids), _ROWS_PER_CHUNK)
    return [names.take(pa.array(ids[start : start + _ROWS_PER_CHUNK])).dictionary_encode() for start in starts]
