"""What counting says on a living graph is what the baseline says of the graph built afresh."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.baselines import Counts
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from hmem.knowledge.counted import counts, hidden
from tests.laws import examples

ENTITIES, RELATIONS = 7, 2
ENDS = st.integers(0, ENTITIES - 1)
FACTS = st.lists(st.tuples(ENDS, st.integers(0, RELATIONS - 1), ENDS), min_size=2, max_size=40, unique=True)


def by_baseline(facts: list[tuple[int, int, int]], entity: int, role: int) -> np.ndarray:
    graph = Neighborhoods.build(as_triples(facts), ENTITIES, RELATIONS)
    return Counts(graph, graph).score(torch.tensor([entity]), torch.tensor([role]))[0].numpy()


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
    assert np.allclose(counts(graph, entity, role, ENTITIES), by_baseline(facts, entity, role), atol=1e-6)
    rest = [fact for fact in facts if fact != gone]
    with hidden(graph, [gone, gone]):
        assert np.allclose(counts(graph, entity, role, ENTITIES), by_baseline(rest, entity, role), atol=1e-6)
    assert graph.num_facts == len(facts)
