"""Names become ids in the order in which they first appear, however the table is stored."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.intern import Interned, intern
from hmem.graph.names import Vocabulary

Row = tuple[str, str, str]

few_names = st.sampled_from(["a", "b", "c", "ü", "", "a b"])
rows = st.lists(st.tuples(few_names, few_names, few_names), max_size=12)
any_rows = st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=8)


def table_of(rows: list[Row], kind: pa.DataType | None = None) -> pa.Table:
    heads, relations, tails = zip(*rows, strict=True) if rows else ((), (), ())
    text = pa.string() if kind is None else kind
    columns = {"head": heads, "relation": relations, "tail": tails}
    return pa.table({name: pa.array(values, text) for name, values in columns.items()})


def by_hand(rows: list[Row]) -> tuple[list[str], list[str], list[Row]]:
    """Entities, relations and distinct facts, in order: the relations, then the heads, then the tails."""
    relations = list(dict.fromkeys(relation for _, relation, _ in rows))
    entities = list(dict.fromkeys([head for head, _, _ in rows] + [tail for _, _, tail in rows]))
    return entities, relations, list(dict.fromkeys(rows))


def names_of(interned: Interned) -> list[Row]:
    vocab = interned.vocab
    return [(vocab.entities[h], vocab.relations[r], vocab.entities[t]) for h, r, t in interned.triples.tolist()]


def assert_same(one: Interned, other: Interned) -> None:
    assert one.vocab == other.vocab
    assert np.array_equal(one.triples, other.triples)
    assert one.duplicates == other.duplicates


@given(rows | any_rows)
def test_any_text_comes_back_from_its_ids(rows: list[Row]) -> None:
    entities, relations, facts = by_hand(rows)
    interned = intern(table_of(rows))
    assert list(interned.vocab.entities) == entities
    assert list(interned.vocab.relations) == relations
    assert names_of(interned) == facts
    assert interned.duplicates == len(rows) - len(facts)
    assert interned.triples.dtype == np.int32
    assert interned.triples.shape == (len(facts), 3)


@given(rows | any_rows, rows | any_rows)
def test_going_on_keeps_the_old_ids(first: list[Row], second: list[Row]) -> None:
    before = intern(table_of(first))
    after = intern(table_of(second), before.vocab)
    entities, relations, _ = by_hand(first)
    more_entities, more_relations, facts = by_hand(second)
    assert list(before.vocab.entities) == entities
    assert list(after.vocab.entities) == list(dict.fromkeys(entities + more_entities))
    assert list(after.vocab.relations) == list(dict.fromkeys(relations + more_relations))
    assert names_of(after) == facts
    assert after.duplicates == len(second) - len(
        facts
    )  # repeats within the table; another table may hold the same fact


@given(rows, st.permutations(["a", "b", "c", "ü", "", "a b", "never used"]))
def test_dictionary_encoded_columns_agree_with_plain_ones(rows: list[Row], dictionary: list[str]) -> None:
    """Whatever the order of the dictionary, and whatever else stands in it: pandas' categories are sorted."""
    plain = table_of(rows)

    def encode(column: pa.ChunkedArray) -> pa.ChunkedArray:
        codes = [[dictionary.index(name) for name in chunk.to_pylist()] for chunk in column.chunks]
        pieces = [pa.DictionaryArray.from_arrays(pa.array(piece, pa.int32()), dictionary) for piece in codes]
        return pa.chunked_array(pieces, pa.dictionary(pa.int32(), pa.string()))

    encoded = pa.table({name: encode(plain.column(name)) for name in plain.column_names})
    assert_same(intern(encoded), intern(plain))


@given(rows, st.lists(st.integers(0, 12), max_size=4), st.booleans())
def test_chunks_do_not_matter(rows: list[Row], cuts: list[int], encoded: bool) -> None:
    whole = table_of(rows)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    pieces = [table_of(rows[first:last]) for first, last in pairwise(bounds)]
    if encoded:  # each piece with a dictionary of its own
        pieces = [
            pa.table({name: piece.column(name).dictionary_encode() for name in piece.column_names}) for piece in pieces
        ]
    assert_same(intern(pa.concat_tables(pieces)), intern(whole))


def test_a_chunk_may_be_empty() -> None:
    kind = pa.dictionary(pa.int32(), pa.string())
    column = pa.chunked_array([pa.array(names, kind) for names in ([], ["a"], [], ["b", "a"], [])])
    assert intern(pa.table(dict.fromkeys(("head", "relation", "tail"), column))).triples.tolist() == [[0] * 3, [1] * 3]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())])
def test_kinds_of_text(kind: pa.DataType) -> None:
    rows = [("a", "r", "b"), ("b", "r", "a"), ("a", "r", "b")]
    assert_same(intern(table_of(rows, kind)), intern(table_of(rows)))


def test_no_rows_at_all() -> None:
    kind = pa.dictionary(pa.int32(), pa.string())
    nothing = pa.table({name: pa.chunked_array([], kind) for name in ("head", "relation", "tail")})
    vocab = Vocabulary(["a"], ["r"])
    interned = intern(nothing, vocab)
    assert interned.vocab == vocab
    assert interned.triples.shape == (0, 3)
