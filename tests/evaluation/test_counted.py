"""What counting says on a living graph is what the baseline says of the graph built afresh."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.baselines import Counts
from hmem.evaluation.counted import best_of, counts_of_ends, hidden
from hmem.evaluation.joined import evidence
from hmem.graph.confidences import Confidences
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from tests.laws import examples

ENTITIES, RELATIONS = 7, 2
ENDS = st.integers(0, ENTITIES - 1)
FACTS = st.lists(st.tuples(ENDS, st.integers(0, RELATIONS - 1), ENDS), min_size=2, max_size=40, unique=True)


def by_baseline(facts: list[tuple[int, int, int]], entity: int, role: int) -> np.ndarray:
    graph = Neighborhoods.build(as_triples(facts), ENTITIES, RELATIONS)
    return Counts(graph, graph).score(torch.tensor([entity]), torch.tensor([role]))[0].numpy()


def counts(graph: Neighborhoods, entity: int, role: int, sure: Confidences | None = None) -> np.ndarray:
    return best_of(*counts_of_ends(graph, entity, role, ENTITIES, sure))


@given(FACTS, st.data())
@examples(40)
def test_counts_are_those_of_the_baseline_whatever_has_changed(
    facts: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    entity, role = data.draw(ENDS), data.draw(st.integers(0, 2 * RELATIONS - 1))
    cut, gone = data.draw(st.integers(1, len(facts))), data.draw(st.sampled_from(facts))
    graph = Neighborhoods.build(as_triples(facts[:cut]), ENTITIES, RELATIONS)
    for fact in facts[cut:]:
        graph.add(*fact)
    assert np.allclose(counts(graph, entity, role), by_baseline(facts, entity, role), atol=1e-6)
    rest = [fact for fact in facts if fact != gone]
    with hidden(graph, [gone, gone]):
        assert np.allclose(counts(graph, entity, role), by_baseline(rest, entity, role), atol=1e-6)
    assert graph.num_facts == len(facts)


@given(FACTS, st.data())
@examples(40)
def test_a_confidence_of_0_removes_a_fact_from_the_counts(
    facts: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    entity, role = data.draw(ENDS), data.draw(st.integers(0, 2 * RELATIONS - 1))
    gone = data.draw(st.sampled_from(facts))
    graph = Neighborhoods.build(as_triples(facts), ENTITIES, RELATIONS)
    plain = counts(graph, entity, role)
    sure = [counts(graph, entity, role, Confidences(RELATIONS, [(gone, each)])) for each in (0.0, 0.5, 1.0)]
    rest = by_baseline([fact for fact in facts if fact != gone], entity, role)
    assert np.allclose(sure[0], rest, atol=1e-6)
    assert np.allclose(sure[2], plain, atol=1e-6)
    assert np.array_equal(counts(graph, entity, role, Confidences(RELATIONS)), plain)
    scores, every = np.linspace(-9, 0, ENTITIES), np.arange(ENTITIES)
    none = Confidences(RELATIONS, [(gone, 0.0)])
    without = [*evidence(graph, entity, role, scores, every, none)][1:]  # the network has its own way
    with hidden(graph, [gone]):
        assert np.allclose(without, [*evidence(graph, entity, role, scores, every)][1:], atol=1e-6)
        assert np.allclose(without, [*evidence(graph, entity, role, scores, every, none)][1:], atol=1e-6)


def test_what_counting_says_grows_with_the_confidence_of_a_premise() -> None:
    """Whoever has x has y: how likely y is for 0 follows how sure it is that 0 has x."""
    x, y = 5, 6
    facts = [(each, 0, x) for each in range(4)] + [(each, 1, y) for each in range(1, 4)]
    graph = Neighborhoods.build(as_triples(facts), ENTITIES, RELATIONS)
    sureness = [0.0, 0.25, 0.5, 1.0]
    found = [counts(graph, 0, 3, Confidences(RELATIONS, [((0, 0, x), each)]))[y] for each in sureness]
    assert found == sorted(found)
    assert found[0] == 0 < found[1] < found[3] == counts(graph, 0, 3)[y]
