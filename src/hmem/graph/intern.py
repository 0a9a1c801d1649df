"""From tables of names to arrays of ids."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

from hmem.graph.names import Names, Vocabulary
from hmem.graph.triples import PARTS, Triples, first_occurrences


@dataclass(frozen=True, kw_only=True, slots=True)
class Interned:
    """The facts of one table, and the vocabulary in which their ids are read."""

    vocab: Vocabulary
    triples: Triples
    qualifiers: pa.Table  # the other columns of the table, row by row as the facts
    duplicates: int  # rows that repeated an earlier one and were dropped


def intern(table: pa.Table, vocab: Vocabulary | None = None) -> Interned:
    """Number the names of a (head, relation, tail) table, going on from `vocab` where one is given.

    Ids follow the order of first appearance, column by column: the relations, then the heads, then the tails.
    Repeated facts are dropped and counted.
    """
    vocab = vocab or Vocabulary()
    with ThreadPoolExecutor(max_workers=3) as pool:  # Arrow and NumPy let go of the interpreter while they work
        relation, head, tail = pool.map(encode, (table.column(name) for name in ("relation", "head", "tail")))
    relations, relation_ids = _number(relation, vocab.relations)
    entities, heads = _number(head, vocab.entities)
    entities, tails = _number(tail, entities)
    triples = np.empty((len(heads), 3), dtype=np.int32)
    triples[:, 0], triples[:, 1], triples[:, 2] = heads, relation_ids, tails
    keep = first_occurrences(triples)
    duplicates = int(len(keep) - keep.sum())
    if duplicates:
        triples = triples[keep]
    others = table.drop_columns(list(PARTS))
    others = others.filter(pa.array(keep)) if duplicates and others.num_columns else others
    return Interned(vocab=Vocabulary(entities, relations), triples=triples, qualifiers=others, duplicates=duplicates)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A column as its different values, in order of first appearance, and the place of each row's value among them."""

    values: pa.Array
    codes: Int[np.ndarray, " n"]


def encode(column: pa.ChunkedArray) -> Encoded:
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return Encoded(pa.array([], pa.string()), np.empty(0, dtype=np.int32))
    codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in column.chunks]
    values = column.chunk(0).dictionary.cast(pa.string())
    if not _appear_in_order(codes, len(values)):  # sorted categories, or a slice of a larger table
        return encode(column.cast(column.type.value_type))
    return Encoded(values, np.concatenate(codes))


def _number(column: Encoded, names: Names) -> tuple[Names, Int[np.ndarray, " n"]]:
    """The ids of a column's rows, and `names` with its new values appended."""
    new = column.values.filter(pc.invert(pc.is_in(column.values, value_set=names.to_arrow())))
    if len(new):
        names = names.extended(new)
    ids = pc.index_in(column.values, value_set=names.to_arrow()).to_numpy().astype(np.int32)
    return names, ids[column.codes]


def _appear_in_order(chunks: list[Int[np.ndarray, " _"]], size: int) -> bool:
    """Whether the codes 0 … size − 1 all occur, and for the first time in that order."""
    highest = -1
    for codes in filter(len, chunks):
        peaks = np.maximum(np.maximum.accumulate(codes), highest)
        if peaks[0] > highest + 1 or (np.diff(peaks) > 1).any():
            return False
        highest = int(peaks[-1])
    return highest == size - 1
