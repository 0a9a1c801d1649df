"""Many facts at once: columns of names become numbered facts without a Python loop over their names."""

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

from hmem.errors import DataError
from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import PARTS, first_occurrences
from hmem.knowledge.store.database import Database, Kind, Progress
from hmem.knowledge.store.read import names
from hmem.knowledge.store.records import Written
from hmem.knowledge.store.validation import check_name

Column: TypeAlias = pa.Array | pa.ChunkedArray

LOOK_UP = 10  # times as many stored names are read in the time of one look-up


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
    db: Database, columns: list[pa.ChunkedArray], source: str | None, qualifiers: Qualifiers, progress: Progress | None
) -> Written:
    """Store the facts of the rows that are not there yet, inside one writing transaction.

    New names are numbered column by column: the relations, then the heads, then the tails.
    """
    heads, relations, tails = columns
    facts = np.empty((len(heads), 3), dtype=np.int32)
    facts[:, 1], new_relations = _numbers(db, "relation", relations)
    ids, new_entities = _numbers(db, "entity", pa.chunked_array(heads.chunks + tails.chunks, pa.string()))
    facts[:, [0, 2]] = ids.reshape(2, -1).T
    first = first_occurrences(facts)
    changed, moment = db.insert_facts(facts[first], qualifiers.select(first), source, progress)
    return Written(
        moment=moment,
        changed=changed,
        unchanged=len(facts) - len(changed),
        new_entities=new_entities,
        new_relations=new_relations,
    )


def _numbers(db: Database, kind: Kind, column: pa.ChunkedArray) -> tuple[Int[np.ndarray, " n"], list[str]]:
    """The ids of the names in a column; new names are stored, each with the next number, and listed."""
    values = pc.unique(column)
    (stored,) = db.execute(f"SELECT coalesce(max(id), -1) + 1 FROM {kind}").fetchone()
    if len(values) * LOOK_UP < stored:
        found = pa.array(db.find_ids(kind, _as_text(values, kind)), pa.int32())
    else:
        found = pc.index_in(values, value_set=pa.array(names(db, kind), pa.string()))
    is_new = found.is_null().to_numpy(zero_copy_only=False)
    new = [check_name(kind, name) for name in _as_text(values.filter(pa.array(is_new)), kind)]
    db.load(kind, ("id", "name"), enumerate(new, stored))
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
