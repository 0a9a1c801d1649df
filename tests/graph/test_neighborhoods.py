"""Edges sorted by role; and whatever is added and removed, the index equals one built afresh."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hmem.graph import edge_keys, neighborhoods
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from tests.oracles_graph import Fact, SetGraph

ENTITIES, RELATIONS = 5, 3
NEW = 3  # entities that come later

facts = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))
later = st.tuples(st.integers(0, ENTITIES + NEW - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES + NEW - 1))
changes = st.lists(st.tuples(st.booleans(), facts | later), max_size=25)


def build(rows: list[Fact], num_entities: int = ENTITIES, num_relations: int = RELATIONS) -> Neighborhoods:
    return Neighborhoods.build(as_triples(rows), num_entities, num_relations)


def edges(graph: Neighborhoods, entity: int) -> list[tuple[int, int]]:
    roles, fillers = graph.edges_of(entity)
    return list(zip(roles.tolist(), fillers.tolist(), strict=True))


def assert_holds(graph: Neighborhoods, oracle: SetGraph) -> None:
    """Everything that can be asked of `graph` is as in `oracle`."""
    entities = np.arange(graph.num_entities)
    expected = [oracle.edges_of(entity) for entity in entities.tolist()]
    assert [edges(graph, entity) for entity in entities.tolist()] == expected
    assert graph.degrees(entities).tolist() == [len(own) for own in expected]
    for entity in entities.tolist():
        for role in range(graph.num_roles):
            assert graph.answers(entity, role).tolist() == oracle.answers(entity, role)
    for head in entities.tolist():
        for tail in entities.tolist():
            for relation in range(graph.num_relations):
                assert graph.contains(head, relation, tail) == ((head, relation, tail) in oracle.facts)
    assert [tuple(row) for row in graph.to_triples().tolist()] == sorted(oracle.facts)


def assert_lookup_agrees(graph: Neighborhoods, entities: list[int]) -> None:
    found = graph.lookup(np.array(entities, dtype=np.int64))
    expected = [(row, *edge) for row, entity in enumerate(entities) for edge in edges(graph, entity)]
    assert list(zip(found.owner.tolist(), found.roles.tolist(), found.fillers.tolist(), strict=True)) == expected
    assert found.roles.dtype == graph.roles.dtype
    assert found.fillers.dtype == np.int32


def assert_same_base(one: Neighborhoods, other: Neighborhoods) -> None:
    for name in ("offsets", "roles", "fillers"):
        assert getattr(one, name).dtype == getattr(other, name).dtype
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_a_fact_is_two_edges() -> None:
    graph = build([(0, 1, 2)])
    assert edges(graph, 0) == [(1 + RELATIONS, 2)]
    assert edges(graph, 2) == [(1, 0)]
    assert graph.num_roles == 2 * RELATIONS


def test_a_self_loop_is_two_edges_too() -> None:
    assert edges(build([(3, 0, 3)]), 3) == [(0, 3), (RELATIONS, 3)]


@given(st.lists(facts, max_size=30))
def test_a_built_index_holds_each_fact_once(rows: list[Fact]) -> None:
    graph = build(rows)
    assert_holds(graph, SetGraph(rows, RELATIONS))
    assert len(graph.roles) == len(graph.fillers) == 2 * len(set(rows))
    assert not graph.is_changed
    assert_same_base(build(rows + rows[::-1]), graph)


@given(st.lists(facts, max_size=30))
def test_both_ways_of_building_agree(rows: list[Fact]) -> None:
    packed = Neighborhoods.build(as_triples(rows), ENTITIES, RELATIONS)
    assert_same_base(Neighborhoods._build_lexical(as_triples(rows), ENTITIES, RELATIONS), packed)
    with patch.object(edge_keys, "BITS", 1):  # as if an edge did not fit into 63 bits
        assert_same_base(build(rows), packed)
    with patch.object(edge_keys, "CHUNK", 4), patch.object(neighborhoods, "CHUNK", 4):
        assert_same_base(build(rows), packed)


def test_many_relations_need_wider_roles() -> None:
    assert build([(0, 5, 1)], num_relations=16_383).roles.dtype == np.int16
    wide = build([(0, 16_383, 1), (0, 2, 1)], num_relations=16_384)
    assert wide.roles.dtype == np.int32
    assert edges(wide, 0) == [(16_386, 1), (32_767, 1)]


@given(st.lists(facts, max_size=15), changes, st.sampled_from([0, ENTITIES]))
@example([], [(True, (0, 0, 1))], 0)
def test_any_changes_equal_a_rebuild(rows: list[Fact], changes: list[tuple[bool, Fact]], num_entities: int) -> None:
    rows = rows if num_entities else []  # a graph may start without entities and grow from nothing
    graph, oracle = build(rows, num_entities), SetGraph(rows, RELATIONS)
    for is_addition, fact in changes:
        expected = oracle.add(fact) if is_addition else oracle.remove(fact)
        assert (graph.add(*fact) if is_addition else graph.remove(*fact)) == expected
    assert_holds(graph, oracle)
    assert graph.is_changed == (oracle.facts != set(rows))
    rebuilt = build(sorted(oracle.facts), graph.num_entities)
    entities = list(range(graph.num_entities))
    assert [edges(graph, entity) for entity in entities] == [edges(rebuilt, entity) for entity in entities]
    assert np.array_equal(graph.to_triples(), rebuilt.to_triples())
    assert graph.to_triples().dtype == np.int32
    mentioned = max((max(head, tail) for was_added, (head, _, tail) in changes if was_added), default=-1)
    assert graph.num_entities == max(num_entities, mentioned + 1)


@given(st.lists(facts, min_size=1, max_size=15), changes)
def test_changes_leave_the_base_alone(rows: list[Fact], changes: list[tuple[bool, Fact]]) -> None:
    graph = build(rows)
    base = graph.offsets, graph.roles, graph.fillers
    for array in base:
        array.flags.writeable = False  # writing to it now raises
    content = [array.tobytes() for array in base]
    for is_addition, fact in changes:
        graph.add(*fact) if is_addition else graph.remove(*fact)
        edges(graph, fact[0])
        graph.lookup(np.array([fact[0], fact[2]]))
    now = graph.offsets, graph.roles, graph.fillers
    assert all(array is before for array, before in zip(now, base, strict=True))
    assert [array.tobytes() for array in base] == content


def test_an_untouched_entity_is_read_from_the_base_itself() -> None:
    graph = build([(0, 1, 2), (3, 0, 4)])
    graph.add(0, 0, 0)
    roles, fillers = graph.edges_of(3)
    assert np.shares_memory(roles, graph.roles)
    assert np.shares_memory(fillers, graph.fillers)


@given(st.lists(facts, max_size=15), later)
def test_add_then_remove_leaves_no_trace(rows: list[Fact], fact: Fact) -> None:
    graph = build(rows)
    steps = [graph.remove, graph.add] if fact in rows else [graph.add, graph.remove]
    for step in steps:
        assert step(*fact)
        assert graph.is_changed == (step == steps[0])
        assert not step(*fact)  # a repeated addition and the removal of what is not there change nothing
    assert_holds(graph, SetGraph(rows, RELATIONS))
    assert (graph._added, graph._removed) == ({}, {})


@given(st.lists(facts, max_size=15), changes, st.lists(st.integers(0, ENTITIES + NEW - 1), max_size=6))
def test_lookup_is_edges_of_end_to_end(rows: list[Fact], changes: list[tuple[bool, Fact]], asked: list[int]) -> None:
    graph = build(rows)
    graph.grow(ENTITIES + NEW)
    assert_lookup_agrees(graph, [entity for entity in asked if entity < ENTITIES])
    assert_lookup_agrees(graph, asked)
    for is_addition, fact in changes:
        graph.add(*fact) if is_addition else graph.remove(*fact)
    assert_lookup_agrees(graph, asked)
    assert graph.degrees(np.array(asked, dtype=np.int64)).tolist() == [len(edges(graph, entity)) for entity in asked]


@given(st.lists(facts, max_size=30))
def test_answer_ranges_point_at_the_answers(rows: list[Fact]) -> None:
    graph = build(rows)
    graph.grow(ENTITIES + 1)
    entity, role = (part.ravel() for part in np.mgrid[: ENTITIES + 1, : graph.num_roles])
    begin, end = graph.answer_ranges(entity, role)
    found = [graph.fillers[first:last].tolist() for first, last in zip(begin, end, strict=True)]
    assert found == [graph.answers(*pair).tolist() for pair in zip(entity.tolist(), role.tolist(), strict=True)]


def test_answer_ranges_of_a_changed_index_are_refused() -> None:
    graph = build([(0, 0, 1)])
    graph.add(1, 0, 1)
    with pytest.raises(AssertionError):
        graph.answer_ranges(np.array([0]), np.array([0]))


def test_grow_only_makes_room() -> None:
    graph = build([(0, 0, 1)])
    graph.grow(ENTITIES + 2)
    graph.grow(1)
    assert graph.num_entities == ENTITIES + 2
    assert not graph.is_changed
    assert edges(graph, ENTITIES + 1) == []
    assert graph.degrees(np.array([0, ENTITIES + 1])).tolist() == [1, 0]


@pytest.mark.parametrize("relation", [-1, RELATIONS])
def test_a_relation_that_does_not_exist(relation: int) -> None:
    graph = build([(0, RELATIONS - 1, 1)])
    with pytest.raises(IndexError, match=f"relation {relation} is not one of the {RELATIONS} of this index"):
        graph.add(1, relation, 0)
    assert not graph.contains(1, relation, 0)
    assert not graph.remove(1, relation, 0)
    assert not graph.is_changed
