"""One transaction in PostgreSQL, with SQL as the rest of the store writes it."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import Triples, as_triples
from hmem.knowledge.store.database import Kind, Progress, Rows
from hmem.knowledge.store.postgres.loading import insert_facts

if TYPE_CHECKING:
    import psycopg

BINARY_HEADER, ROW_BYTES = 19, 26  # of COPY: a row has the number of its columns, and three integers with their sizes
ROW = np.dtype([("columns", ">i2"), ("numbers", [("size", ">i4"), ("value", ">i4")], 3)])
BYTES_AT_ONCE = 1 << 24
TEXTS = ("name", "source", "field", "text", "folded", "datatype", "language", "unit", "inferred_by", "key", "value")
NUMBERS = ("confidence", "probability", "number")
TYPES = {**dict.fromkeys(TEXTS, "text"), **dict.fromkeys(NUMBERS, "float8"), "at": "int8"}  # all others are int4


@lru_cache(maxsize=1024)
def for_psycopg(sql: str) -> str:
    """SQL in which a value is a question mark, in the way of psycopg."""
    return sql.replace("%", "%%").replace("?", "%s").replace("ifnull(", "coalesce(")


class PostgresDatabase:
    """What functions get that read or write; see `hmem.knowledge.store.database.Database`."""

    def __init__(self, raw: "psycopg.Connection[Any]") -> None:
        self._raw = raw

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows:
        return self._raw.execute(for_psycopg(sql), tuple(values))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        with self._raw.cursor() as cursor:
            cursor.executemany(for_psycopg(sql), rows)

    def triples(self, sql: str, values: Sequence[Any] = ()) -> Triples:
        """By COPY, whose rows are made into an array without a Python number for each."""
        pieces, some = [], bytearray()
        with (
            self._raw.cursor() as cursor,
            cursor.copy(f"COPY ({for_psycopg(sql)}) TO STDOUT (FORMAT BINARY)", tuple(values)) as rows,
        ):
            to_skip = BINARY_HEADER
            for block in rows:
                some += block
                if len(some) >= BYTES_AT_ONCE:
                    whole = (len(some) - to_skip) // ROW_BYTES * ROW_BYTES
                    pieces.append(_as_triples(some[to_skip : to_skip + whole]))
                    del some[: to_skip + whole]
                    to_skip = 0
        pieces.append(_as_triples(some[to_skip:-2]))  # the end is marked by two bytes
        return np.concatenate(pieces)

    def find_ids(self, kind: Kind, names: Sequence[str]) -> list[int | None]:
        found = dict(self.execute(f"SELECT name, id FROM {kind} WHERE name = ANY(?)", (list(names),)).fetchall())
        return [found.get(name) for name in names]

    def insert_facts(
        self, facts: Triples, qualifiers: Qualifiers, source: str | None, progress: Progress | None
    ) -> tuple[Triples, int]:
        return insert_facts(self, facts, qualifiers, source, progress)

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        with (
            self._raw.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)") as copy,
        ):
            copy.set_types([TYPES.get(column, "int4") for column in columns])
            for row in rows:
                copy.write_row(row)


def _as_triples(rows: bytes | bytearray) -> Triples:
    return as_triples(np.frombuffer(bytes(rows), ROW)["numbers"]["value"])
