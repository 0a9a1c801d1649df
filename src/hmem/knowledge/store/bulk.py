"""Many facts at once: columns of names become numbered facts without a Python loop over their names."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int

from hmem.errors import DataError
from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import PARTS, Triples, as_triples, first_occurrences, is_among
from hmem.knowledge.store.read import Kind, find_id, last_fact, last_moment, names, triples, triples_after
from hmem.knowledge.store.records import Written
from hmem.knowledge.store.schema import FACT_INDEXES
from hmem.knowledge.store.validation import check_name
from hmem.knowledge.store.write import INSERT_FACT, new_moment

Column: TypeAlias = pa.Array | pa.ChunkedArray
Progress = Callable[[int, int], None]  # how many facts are done, and of how many

ROWS_AT_ONCE = 50_000
LOOK_UP = 10  # times as many stored names are read in the time of one look-up
# From which share of the stored facts on it is quicker to make the indexes anew (measured at a million facts)
SHARE_TO_REBUILD = 0.5
FEWEST_TO_REBUILD = 10_000


def check_columns(heads: Column, relations: Column, tails: Column) -> list[pa.ChunkedArray]:
    """The three columns as text, equally long and without nulls."""
    columns = []
    for kind, column in zip(PARTS, (heads, relations, tails), strict=True):
        if not isinstance(column, pa.ChunkedArray):
            column = pa.chunked_array([column])
        values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(values) or pa.types.is_large_string(values)):
            raise DataError(f"expected a column of text as {kind}s, received {column.type}")
        columns.append(column.cast(pa.string()))
        if columns[-1].null_count:
            row = pc.index(pc.is_null(columns[-1]), True).as_py()
            raise DataError(f"row {row} (counted from 0): expected a {kind}, received nothing")
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(f"{len(column):,} {kind}s" for kind, column in zip(PARTS, columns, strict=True))
        raise DataError(f"expected three columns of one length, received {lengths}")
    return columns


def add_columns(
    db: sqlite3.Connection,
    columns: list[pa.ChunkedArray],
    source: str | None,
    qualifiers: Qualifiers,
    progress: Progress | None,
) -> Written:
    """Store the facts of the rows that are not there yet, inside one writing transaction.

    New names are numbered column by column: the relations, then the heads, then the tails.
    """
    heads, relations, tails = columns
    facts = np.empty((len(heads), 3), dtype=np.int32)
    facts[:, 1], new_relations = _numbers(db, "relation", relations)
    ids, new_entities = _numbers(db, "entity", pa.chunked_array(heads.chunks + tails.chunks, pa.string()))
    facts[:, [0, 2]] = ids.reshape(2, -1).T
    rows = _Rows(db, facts, qualifiers, progress).select(first_occurrences(facts))
    if len(rows.facts) < max(FEWEST_TO_REBUILD, SHARE_TO_REBUILD * last_fact(db)):
        changed, moment = rows.insert_one_by_one(source)
    else:
        changed, moment = rows.insert_and_rebuild(source)
    new: dict[str, Any] = {"new_entities": new_entities, "new_relations": new_relations}
    return Written(moment=moment, changed=changed, unchanged=len(facts) - len(changed), **new)


def _numbers(db: sqlite3.Connection, kind: Kind, column: pa.ChunkedArray) -> tuple[Int[np.ndarray, " n"], list[str]]:
    """The ids of the names in a column; new names are stored, each with the next number, and listed."""
    values = pc.unique(column)
    (stored,) = db.execute(f"SELECT ifnull(max(id), -1) + 1 FROM {kind}").fetchone()
    if len(values) * LOOK_UP < stored:
        found = pa.array([find_id(db, kind, name) for name in _as_text(values, kind)], pa.int32())
    else:
        found = pc.index_in(values, value_set=pa.array(names(db, kind), pa.string()))
    is_new = found.is_null().to_numpy(zero_copy_only=False)
    new = [check_name(kind, name) for name in _as_text(values.filter(pa.array(is_new)), kind)]
    db.executemany(f"INSERT INTO {kind} (id, name) VALUES (?, ?)", enumerate(new, stored))
    ids = found.fill_null(0).to_numpy().copy()
    ids[is_new] = np.arange(stored, stored + len(new))
    numbers: Int[np.ndarray, " n"] = ids[pc.index_in(column, value_set=values).to_numpy()]
    return numbers, new


def _as_text(values: pa.Array, kind: Kind) -> list[str]:
    try:
        values.validate(full=True)  # Arrow takes bytes at their word
    except pa.ArrowInvalid as error:
        raise DataError(f"expected UTF-8 text as {kind}: {error}") from None
    text: list[str] = values.to_pylist()
    return text


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Facts that differ, to be written in one transaction."""

    db: sqlite3.Connection
    facts: Triples
    qualifiers: Qualifiers
    progress: Progress | None

    def select(self, kept: Bool[np.ndarray, " n"]) -> "_Rows":
        return _Rows(self.db, self.facts[kept], self.qualifiers.select(kept), self.progress)

    def insert_one_by_one(self, source: str | None) -> tuple[Triples, int]:
        """SQLite looks up each fact, and brings its indexes up to date with each."""
        before, last = last_moment(self.db), last_fact(self.db)
        moment = self._insert(source)
        changed = triples_after(self.db, last)
        if not len(changed):
            self.db.execute("DELETE FROM moment WHERE id = ?", (moment,))
            moment = before
        return changed, moment

    def insert_and_rebuild(self, source: str | None) -> tuple[Triples, int]:
        """Sorting finds the facts that are there already, and makes the indexes anew once all rows are in."""
        superseded = as_triples([fact for _, *fact in self._superseded()])
        new = self.select(~is_among(self.facts, triples(self.db)) | is_among(self.facts, superseded))
        if not len(new.facts):
            return new.facts, last_moment(self.db)
        for name in FACT_INDEXES:
            self.db.execute(f"DROP INDEX {name}")
        moment = new._insert(source)
        for statement in FACT_INDEXES.values():
            self.db.execute(statement)
        return new.facts, moment

    def _superseded(self) -> list[tuple[int, int, int, int]]:
        """What a model inferred and is asserted now: the number and the fact."""
        inferred = self.db.execute(
            "SELECT id, head, relation, tail FROM fact WHERE inferred_by IS NOT NULL AND removed IS NULL"
        ).fetchall()
        if not inferred or "inferred_by" in self.qualifiers.columns:
            return []
        asserted = is_among(as_triples([fact for _, *fact in inferred]), self.facts)
        return [row for row, is_asserted in zip(inferred, asserted.tolist(), strict=True) if is_asserted]

    def _insert(self, source: str | None) -> int:
        """Write all rows under a new moment, those that are there already left out."""
        moment, count = new_moment(self.db, source), len(self.facts)
        ended = [(moment, number) for number, *_ in self._superseded()]
        self.db.executemany("UPDATE fact SET removed = ? WHERE id = ?", ended)
        for start in range(0, count, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            head, relation, tail = self.facts[some].T.tolist()
            said = self.qualifiers.lists(some.start, some.stop)
            self.db.executemany(
                f"{INSERT_FACT} ON CONFLICT DO NOTHING",
                zip(head, relation, tail, repeat(moment), *said, strict=False),
            )
            if self.progress is not None:
                self.progress(min(start + ROWS_AT_ONCE, count), count)
        return moment
