import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.memory.superpose import Edges
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex, LiveIndex
from hmem.model.query import Query
from tests.memory.problems import as_tuples
from tests.model.problems import (
    ENTITIES,
    EXPLICIT,
    LAW,
    RELATIONS,
    SEEDS,
    ask,
    every_question,
    index_of,
    neighborhoods_of,
    random_facts,
    random_model,
    small,
)
from tests.oracles_graph import SetGraph

every_explicit = pytest.mark.parametrize("name", EXPLICIT)
batches = st.lists(st.integers(0, ENTITIES - 1), max_size=12)


def ids(entities: list[int]) -> torch.Tensor:
    return torch.tensor(entities, dtype=torch.long)


def same(left: Edges, right: Edges) -> bool:
    parts = ("roles", "fillers", "query")
    equal = all(torch.equal(getattr(left, part), getattr(right, part)) for part in parts)
    return equal and left.num_queries == right.num_queries


def score(model: HMem, graph: LiveIndex | FrozenIndex, query: Query) -> torch.Tensor:
    with torch.no_grad():
        scores: torch.Tensor = model(query, graph)
    return scores


@given(seed=SEEDS, batch=batches)
@LAW
def test_lookup_gives_the_edges_of_a_loop(seed: int, batch: list[int]) -> None:
    """Entities may be asked for in any order, several times, and may have no edges; so may a batch."""
    facts = random_facts(seed)
    graph = SetGraph(facts, RELATIONS)
    expected = [(row, *edge) for row, entity in enumerate(batch) for edge in graph.edges_of(entity)]
    for index in (index_of(facts), LiveIndex(neighborhoods_of(facts), ENTITIES)):
        edges = index.lookup(ids(batch))
        assert as_tuples(edges) == expected
        assert edges.num_queries == len(batch)
        assert edges.roles.dtype == edges.fillers.dtype == edges.query.dtype == torch.int64


@every_explicit
def test_live_equals_frozen_on_an_unchanged_graph(name: str) -> None:
    facts = random_facts(1)
    live = LiveIndex(neighborhoods_of(facts), ENTITIES)
    frozen = index_of(facts)
    query = every_question()
    assert same(live.lookup(query.entity), frozen.lookup(query.entity))
    model = random_model(small(name).memory, 1)
    assert torch.equal(score(model, live, query), score(model, frozen, query))


@given(seed=SEEDS, cut=st.integers(0, 20))
@LAW
def test_adding_one_by_one_equals_rebuilding(seed: int, cut: int) -> None:
    facts = random_facts(seed)
    order = np.random.default_rng(seed).permutation(len(facts)).tolist()
    graph = neighborhoods_of([facts[place] for place in order[:cut]])
    index = LiveIndex(graph, ENTITIES)
    for place in order[cut:]:
        graph.add(*facts[place])
    entities = torch.arange(ENTITIES)
    assert same(index.lookup(entities), index_of(facts).lookup(entities))
    model = random_model(small("recall").memory, 0)
    query = every_question()
    assert torch.equal(score(model, index, query), score(model, index_of(facts), query))


@every_explicit
def test_adding_and_removing_again_leaves_every_score_as_it_was(name: str) -> None:
    graph = neighborhoods_of(random_facts(2))
    index, query = LiveIndex(graph, ENTITIES), every_question()
    model = random_model(small(name).memory, 2)
    before = score(model, index, query)
    extra = [(0, 1, ENTITIES - 1), (3, 2, 3), (ENTITIES + 2, 0, 1)]
    assert all(graph.add(*fact) for fact in extra)
    assert not torch.equal(score(model, index, query), before)
    assert all(graph.remove(*fact) for fact in reversed(extra))
    assert torch.equal(score(model, index, query), before)


@every_explicit
def test_each_question_sees_the_facts_of_its_moment(name: str) -> None:
    facts = random_facts(3)
    graph = neighborhoods_of(facts)
    index, query = LiveIndex(graph, ENTITIES), every_question()
    model = random_model(small(name).memory, 3)
    score(model, index, query)
    graph.add(ENTITIES - 1, 0, 2)
    graph.remove(*facts[4])
    now = sorted({*facts, (ENTITIES - 1, 0, 2)} - {facts[4]})
    torch.testing.assert_close(score(model, index, query), score(model, index_of(now), query), rtol=0, atol=1e-10)


@every_explicit
def test_new_entities_with_equal_facts_tie_exactly(name: str) -> None:
    graph = neighborhoods_of(random_facts(4))
    index = LiveIndex(graph, ENTITIES)
    model = random_model(small(name).memory, 4)
    first, second = ENTITIES, ENTITIES + 5
    for new in (first, second):
        for fact in [(new, 0, 1), (new, 0, 2), (3, 1, new), (new, 2, 5)]:
            graph.add(*fact)
    for role in range(2 * RELATIONS):
        of_first, of_second = (score(model, index, ask((entity, role))) for entity in (first, second))
        assert torch.equal(of_first, of_second)
        assert of_first.isfinite().all()


def test_edges_to_entities_without_a_vector_are_left_out() -> None:
    graph = neighborhoods_of([(0, 0, 1)])
    graph.add(0, 0, ENTITIES + 1)
    graph.add(ENTITIES, 1, ENTITIES + 1)
    graph.add(ENTITIES, 1, 2)
    edges = LiveIndex(graph, ENTITIES).lookup(ids([0, ENTITIES, ENTITIES + 1]))
    assert as_tuples(edges) == [(0, RELATIONS, 1), (1, RELATIONS + 1, 2), (2, 0, 0)]


def test_a_changed_graph_cannot_be_frozen() -> None:
    graph = neighborhoods_of([(0, 0, 1)])
    graph.add(0, 0, 2)
    with pytest.raises(AssertionError, match="LiveIndex"):
        FrozenIndex(graph)


def test_a_frozen_graph_is_the_same_on_another_device() -> None:
    index = index_of(random_facts(0))
    there = index.to(torch.device("meta"))
    assert there.to(torch.device("meta")) is there
    assert there.device.type == there._fillers.device.type == "meta"
    assert (there._fillers.shape, there._roles.dtype) == (index._fillers.shape, index._roles.dtype)
    assert index.to(torch.device("cpu")) is index
