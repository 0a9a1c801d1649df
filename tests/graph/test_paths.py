"""Mining of rules of several steps, against counting by hand."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import ConfigError
from hmem.graph import paths
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.paths import PathRules, mine_paths
from hmem.graph.triples import as_triples
from tests.laws import examples
from tests.oracles_graph import Fact, SetGraph

FEW = examples(8)
Rule = tuple[int, ...]  # q, c₁, c₂ and perhaps more


def rules_of(found: PathRules) -> dict[Rule, float]:
    return {
        (role, *(int(step) for step in steps if step >= 0)): float(found.confidence[role, column])
        for role in range(len(found.steps))
        for column, steps in enumerate(found.steps[role])
        if steps[0] >= 0
    }


def counted(
    facts: set[Fact], relations: int, longest: int, most_ways: int = paths.MOST_WAYS
) -> dict[Rule, tuple[int, int]]:
    """How many facts each path proves, and how many walks it has from their entities; nothing through either end, and
    nothing that had more than `most_ways` neighbors to choose from, all steps multiplied."""
    graph = SetGraph(facts, relations)
    hits: Counter[Rule] = Counter()
    tried: Counter[Rule] = Counter()

    def walks(at: int, length: int, ends: tuple[int, int], ways: int = 1) -> Iterator[tuple[Rule, int]]:
        crowd = Counter(role for role, _ in graph.edges_of(at))
        for role, reached in graph.edges_of(at):
            if ways * crowd[role] > most_ways:
                continue
            if length == 1:
                yield (role,), reached
            elif reached not in ends:
                onwards = walks(reached, length - 1, ends, ways * crowd[role])
                yield from (((role, *rest), end) for rest, end in onwards)

    for head, relation, tail in facts:
        for entity, role, answer in ((head, relation + relations, tail), (tail, relation, head)):
            reached = set()
            for length in range(2, longest + 1):
                for path, end in walks(entity, length, (entity, answer)):
                    tried[role, *path] += 1
                    if end == answer:
                        reached.add((role, *path))
            hits.update(reached)
    return {rule: (count, tried[rule]) for rule, count in hits.items()}


graphs = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=25)


@pytest.mark.parametrize("most_ways", [paths.MOST_WAYS, 6])
@pytest.mark.parametrize("longest", [2, 3, 4])
@given(facts=graphs)
@FEW
def test_confidence_is_what_counting_by_hand_gives(longest: int, most_ways: int, facts: set[Fact]) -> None:
    """With a sample that takes in every fact, nothing is estimated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MOST_WAYS", most_ways)
        found = rules_of(mine_paths(Neighborhoods.build(as_triples(sorted(facts)), 7, 2), 400, longest))
    every = counted(facts, 2, longest, most_ways)
    expected = {rule: (hits, tried) for rule, (hits, tried) in every.items() if hits >= paths.LEAST_HITS}
    assert set(found) == set(expected)
    for rule, (hits, tried) in expected.items():
        assert found[rule] == pytest.approx(min(1.0, hits / (tried + paths.DOUBT)))


def test_grandparents_are_found() -> None:
    """parent ∘ parent ⇒ grandparent, and nothing that never happens."""
    parent, grandparent = 0, 1
    facts = [(n, parent, n + 100) for n in range(50)] + [(n + 100, parent, n + 200) for n in range(50)]
    facts += [(n, grandparent, n + 200) for n in range(50)]
    found = rules_of(mine_paths(Neighborhoods.build(as_triples(facts), 300, 2), 4))
    assert found[grandparent + 2, parent + 2, parent + 2] == pytest.approx(50 / 55, abs=0.01)
    assert (grandparent + 2, parent + 2, parent) not in found


def test_rows_are_sorted_with_empty_places_last_and_keep_the_best() -> None:
    rng = np.random.default_rng(0)
    facts = sorted({(int(h), int(r), int(t)) for h, r, t in rng.integers((20, 3, 20), size=(150, 3))})
    graph = Neighborhoods.build(as_triples(facts), 20, 3)
    many, few = mine_paths(graph, 40), mine_paths(graph, 10)
    for found in (many, few):
        for steps in found.steps:
            kept = steps[:, 0] >= 0
            assert (np.diff(kept.astype(int)) <= 0).all()
            rows = [tuple(row) for row in steps[kept].tolist()]
            assert rows == sorted(set(rows))
    for role in range(6):
        best = np.sort(many.confidence[role])[::-1][:10]
        np.testing.assert_allclose(np.sort(few.confidence[role])[::-1], best)


def test_a_crowded_step_is_no_rule() -> None:
    crowd = paths.MOST_AT_A_STEP + 1
    facts = [(0, 0, n) for n in range(2, crowd + 2)] + [(n, 0, 1) for n in range(2, crowd + 2)] + [(0, 1, 1), (0, 2, 1)]
    facts += [(1, 1, 0), (1, 2, 0)]
    found = rules_of(mine_paths(Neighborhoods.build(as_triples(facts), crowd + 2, 3), 4))
    assert {role for role, _, _ in found} == {0, 3}  # between 0 and 1 all ways lead through the crowd


def test_the_same_seed_finds_the_same_rules() -> None:
    facts = [(n % 13, n % 3, (n * 7) % 17) for n in range(60)]
    graph = Neighborhoods.build(as_triples(facts), 17, 3)
    one, two = mine_paths(graph, 8, 3, seed=5), mine_paths(graph, 8, 3, seed=5)
    for name in ("steps", "confidence"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_a_graph_without_paths_has_no_rules() -> None:
    found = mine_paths(Neighborhoods.build(as_triples([(0, 0, 1)]), 2, 1), 3)
    assert (found.steps == -1).all()
    assert not found.confidence.any()


def test_more_relations_than_a_rule_of_four_steps_can_name() -> None:
    """Refused before anything is counted, in words: the keys of the rules would not fit into 64 bits."""
    graph = Neighborhoods.build(as_triples([(0, 0, 1)]), 2, 800)
    with pytest.raises(ConfigError, match=r"paths\.steps=4 is too many for 800 relations; try 3"):
        mine_paths(graph, 8, 4)
    assert len(mine_paths(graph, 8, 3).steps) == 1600
