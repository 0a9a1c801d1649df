"""Facts as rows of ids."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hmem.graph import triples as module
from hmem.graph.triples import as_triples, first_occurrences, mirror_role, triple_keys

facts = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=30)
large = st.lists(st.tuples(*[st.sampled_from([0, 1, 4, 2**31 - 1])] * 3), max_size=10)


@pytest.mark.parametrize("rows", [[], [(0, 1, 2)], np.array([[0, 1, 2], [3, 0, 0]])])
def test_triples_are_rows_of_int32(rows: object) -> None:
    triples = as_triples(rows)
    assert triples.dtype == np.int32
    assert triples.shape == (len(rows), 3)  # type: ignore[arg-type]
    assert triples.flags.c_contiguous


@given(facts | large)
@example([(0, 0, 0), (4, 0, 0), (2**31 - 1, 2**31 - 1, 0)])  # 4 · 2⁶² is 0 in 64 bits
def test_keys_are_equal_exactly_when_facts_are(rows: list[tuple[int, int, int]]) -> None:
    keys = triple_keys(as_triples(rows))
    assert keys.dtype == np.int64
    assert (keys[:, None] == keys).tolist() == [[one == other for other in rows] for one in rows]


@given(facts | large)
def test_first_occurrences(rows: list[tuple[int, int, int]]) -> None:
    expected = [row not in rows[:position] for position, row in enumerate(rows)]
    assert first_occurrences(as_triples(rows)).tolist() == expected


@given(facts)
def test_keys_of_graphs_that_do_not_fit_63_bits(rows: list[tuple[int, int, int]]) -> None:
    with patch.object(module, "LARGEST_KEY", 1):
        test_keys_are_equal_exactly_when_facts_are.hypothesis.inner_test(rows)  # type: ignore[attr-defined]
        test_first_occurrences.hypothesis.inner_test(rows)  # type: ignore[attr-defined]


@given(st.integers(1, 5))
def test_every_fact_has_two_roles(num_relations: int) -> None:
    relations = np.arange(num_relations)
    right = relations + num_relations
    assert sorted([*relations.tolist(), *right.tolist()]) == list(range(2 * num_relations))
    assert mirror_role(relations, num_relations).tolist() == right.tolist()
    assert mirror_role(right, num_relations).tolist() == relations.tolist()
    assert [mirror_role(role, num_relations) for role in right.tolist()] == relations.tolist()
