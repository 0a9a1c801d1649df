"""Ranks cut by what was asked: the parts are the whole."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.breakdown import DEGREE_BINS, breakdown, linked, summary
from hmem.evaluation.queries import Queries, both_sides, queries_of
from hmem.evaluation.ranks import Ranks
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from tests.laws import examples
from tests.oracles_graph import Fact, SetGraph

ENTITIES, RELATIONS = 6, 3
facts = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=25
)


def random_ranks(size: int) -> Ranks:
    optimistic = np.random.default_rng(0).integers(1, 20, size)
    return Ranks(optimistic, optimistic + 1, np.full(size, 30))


def dataset_of(train: list[Fact], test: list[Fact]) -> Dataset:
    vocab = Vocabulary("abcdef", "rst")
    return Dataset(name="any", vocab=vocab, train=as_triples(train), valid=as_triples([]), test=as_triples(test))


@given(facts, facts.filter(bool))
def test_linked_means_a_neighbor_in_whatever_role(train: list[Fact], test: list[Fact]) -> None:
    queries = both_sides(as_triples(test), RELATIONS)
    oracle = SetGraph(train, RELATIONS)
    expected = [
        target in {filler for _, filler in oracle.edges_of(entity)}
        for entity, target in zip(queries.entities.tolist(), queries.targets.tolist(), strict=True)
    ]
    assert linked(Neighborhoods.build(as_triples(train), ENTITIES, RELATIONS), queries).tolist() == expected


@given(facts, facts.filter(bool))
@examples(25)
def test_every_cut_is_the_definition(train: list[Fact], test: list[Fact]) -> None:
    """Each part equals the summary of the queries the loop puts there, and the parts of a cut are all queries."""
    dataset = dataset_of(train, test)
    queries = queries_of(dataset, "test")
    ranks = random_ranks(len(queries))
    cuts = breakdown(dataset, dataset.inference_graph("train"), queries, ranks)

    oracle = SetGraph(train, RELATIONS)
    seen = {entity for head, _, tail in train for entity in (head, tail)}
    parts: dict[str, dict[str, list[int]]] = {name: {} for name in cuts}
    asked = zip(queries.entities.tolist(), queries.roles.tolist(), queries.targets.tolist(), strict=True)
    for row, (entity, role, target) in enumerate(asked):
        edges = oracle.edges_of(entity)
        is_linked = target in {filler for _, filler in edges}
        degree = next(low for low, high in DEGREE_BINS if high is None or len(edges) <= high)
        name = {0: "0", 1: "1", 2: "2–3", 4: "4–7", 8: "8–15", 16: "16–63", 64: "64+"}[degree]
        parts["linked"].setdefault("linked" if is_linked else "unlinked", []).append(row)
        parts["degree"].setdefault(name, []).append(row)
        if is_linked:
            parts["linked by degree"].setdefault(name, []).append(row)
        parts["entities"].setdefault("seen" if {entity, target} <= seen else "unseen", []).append(row)
        parts["relation"].setdefault(dataset.vocab.relations[role % RELATIONS], []).append(row)

    assert list(cuts) == ["linked", "degree", "linked by degree", "entities", "relation"]
    for cut, by_name in parts.items():
        assert cuts[cut] == {name: summary(ranks.select(np.array(rows))) for name, rows in by_name.items()}
        if cut != "linked by degree":
            assert sum(part["count"] for part in cuts[cut].values()) == len(queries)


def test_the_degree_bins_are_every_number_once() -> None:
    for degree in range(200):
        assert sum(low <= degree and (high is None or degree <= high) for low, high in DEGREE_BINS) == 1


def test_degrees_come_in_order_and_relations_by_count() -> None:
    train: list[Fact] = [(0, 0, tail) for tail in range(1, 5)]
    dataset = dataset_of(train, [(5, 1, 1), (0, 2, 5), (1, 2, 2)])
    queries = queries_of(dataset, "test")
    cuts = breakdown(dataset, dataset.inference_graph("train"), queries, random_ranks(len(queries)))
    assert list(cuts["degree"]) == ["0", "1", "4–7"]
    assert list(cuts["relation"]) == ["t", "s"]


def test_the_inference_graph_decides_what_is_linked(toy: Dataset) -> None:
    """fox similar_to dog is asked, and dog similar_to fox is a validation fact."""
    fox, dog = toy.vocab.entities.ids_of(["fox.n.01", "dog.n.01"])
    query = Queries(*(np.array([number]) for number in (fox, 0, dog, 0)))
    assert linked(toy.inference_graph("train"), query).tolist() == [False]
    assert linked(toy.inference_graph("train+valid"), query).tolist() == [True]


def test_a_summary() -> None:
    ranks = Ranks(np.array([1, 2, 1, 20]), np.array([1, 2, 2, 20]), np.array([30] * 4))
    expected: dict[str, Any] = {"count": 4, "mrr": 0.5542, "hits@1": 0.25, "hits@10": 0.75, "mr": 6.1}
    assert summary(ranks) == pytest.approx(expected)
