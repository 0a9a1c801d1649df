"""Each fact is asked from both ends; about new entities only from theirs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import ConfigError, DataError
from hmem.evaluation.queries import HEAD, TAIL, Queries, both_sides, queries_of
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from tests.oracles_graph import Fact

RELATIONS = 3
facts = st.lists(st.tuples(st.integers(0, 5), st.integers(0, RELATIONS - 1), st.integers(0, 5)), max_size=10)


def rows_of(queries: Queries) -> list[tuple[int, ...]]:
    columns = (queries.entities, queries.roles, queries.targets, queries.sides)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def with_heldout(test: list[Fact], heldout: list[int]) -> Dataset:
    return Dataset(
        name="gen",
        vocab=Vocabulary("abcdef", "rst"),
        train=as_triples([]),
        valid=as_triples([]),
        test=as_triples(test),
        observed=as_triples([]),
        heldout=np.array(heldout, dtype=np.int64),
    )


@given(facts)
def test_each_fact_is_asked_for_its_tail_and_for_its_head(rows: list[Fact]) -> None:
    queries = both_sides(as_triples(rows), RELATIONS)
    asked_tail = [(head, relation + RELATIONS, tail, TAIL) for head, relation, tail in rows]
    asked_head = [(tail, relation, head, HEAD) for head, relation, tail in rows]
    assert rows_of(queries) == asked_tail + asked_head
    assert len(queries) == 2 * len(rows)


def test_the_questions_of_a_split(toy: Dataset) -> None:
    assert rows_of(queries_of(toy, "test")) == rows_of(both_sides(toy.test, 4))
    assert rows_of(queries_of(toy, "valid")) == rows_of(both_sides(toy.valid, 4))
    assert rows_of(queries_of(toy, "test", "train+valid")) == rows_of(both_sides(toy.test, 4))


@pytest.mark.parametrize(("split", "graph"), [("train", "train"), ("valid", "train+valid")])
def test_what_is_given_is_not_asked(toy: Dataset, split: str, graph: str) -> None:
    with pytest.raises(ConfigError) as caught:
        queries_of(toy, split, graph)  # type: ignore[arg-type]
    assert (
        str(caught.value) == f'the {split} facts are in the graph "{graph}": ranking them would ask for what is given'
    )


def test_an_empty_split_cannot_be_ranked() -> None:
    with pytest.raises(DataError, match="gen has no valid facts to rank"):
        queries_of(with_heldout([(0, 0, 1)], [1]), "valid")


def test_only_the_new_entity_is_asked_about() -> None:
    dataset = with_heldout([(0, 0, 5), (4, 1, 2), (1, 0, 2), (4, 2, 5), (5, 2, 5)], heldout=[4, 5])
    assert rows_of(queries_of(dataset, "test")) == [(4, 1 + RELATIONS, 2, TAIL), (5, 0, 0, HEAD)]


@pytest.mark.parametrize("heldout", [[], [3], [0, 1]])
def test_no_fact_about_a_new_entity(heldout: list[int]) -> None:
    with pytest.raises(DataError, match="gen has no test fact with exactly one held-out entity, so none to rank"):
        queries_of(with_heldout([(0, 0, 1)], heldout), "test")


@given(facts, st.integers(0, 25), st.integers(0, 5))
def test_a_sample_is_fixed_and_in_order(rows: list[Fact], count: int, seed: int) -> None:
    queries = both_sides(as_triples([(*row[:2], position) for position, row in enumerate(rows)]), RELATIONS)
    sample = queries.sample(count, seed)
    assert len(sample) == min(count, len(queries))
    all_rows = iter(rows_of(queries))
    assert all(row in all_rows for row in rows_of(sample))  # `in` moves the iterator on, so this needs the same order
    assert rows_of(queries.sample(count, seed)) == rows_of(sample)


def test_another_seed_is_another_sample() -> None:
    queries = both_sides(as_triples([(0, 0, tail) for tail in range(100)]), RELATIONS)
    assert rows_of(queries.sample(10, seed=0)) != rows_of(queries.sample(10, seed=1))
