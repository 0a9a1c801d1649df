import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import ConfigError
from hmem.model.explain import explain
from hmem.model.hmem import HMem
from hmem.model.index import LiveIndex
from tests.laws import examples
from tests.model.problems import (
    ENTITIES,
    LAW,
    RELATIONS,
    SEEDS,
    ask,
    index_of,
    looped_edges,
    looped_retrieved,
    neighborhoods_of,
    random_facts,
    random_model,
    small,
)

SOME = examples(3)
every_binding = pytest.mark.parametrize("name", ["tpr", "cconv", "hadamard"])
every_stiffness = pytest.mark.parametrize("stiffness", [1.0, math.inf])
PRESET_OF = {"tpr": "tpr", "cconv": "cconv", "hadamard": "eravg"}


def model_of(name: str, seed: int, **memory: Any) -> HMem:
    memory = {"weighting": "learned", "identity": True, **memory}
    return random_model(small(PRESET_OF[name], memory=memory).memory, seed)


@every_binding
@every_stiffness
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("maps", [0, 2])
@given(seed=SEEDS, entity=st.integers(0, ENTITIES + 1), role=st.integers(0, 5), answer=st.integers(0, ENTITIES - 1))
@SOME
@torch.no_grad()
def test_the_parts_make_up_the_score(
    name: str, stiffness: float, exact: bool, maps: int, seed: int, entity: int, role: int, answer: int
) -> None:
    """Of any answer about any entity, also an unseen one."""
    readout = {"maps": maps, "damping": 0.3} if maps else None
    model = model_of(name, seed, stiffness=stiffness, exact=exact, readout=readout, own_bias=True)
    graph = LiveIndex(neighborhoods_of(random_facts(seed)), ENTITIES)
    graph.graph.add(ENTITIES + 1, 0, 3)
    graph.graph.add(2, 1, ENTITIES + 1)
    parts = explain(model, graph, entity, role, answer)
    query = ask((entity, role))
    vectors = model.embeddings()
    retrieved = model.answer(query, graph, vectors).retrieved
    dense = float(model.dense.scores(query, retrieved, vectors)[0, answer])
    score = float(model(query, graph)[0, answer])
    assert parts.dense_score == pytest.approx(dense, rel=1e-10, abs=1e-10)
    summed = float(parts.matches.sum()) + parts.completion + parts.usual + parts.rest
    assert summed == pytest.approx(dense, rel=1e-10, abs=1e-10)
    assert (parts.usual != 0) == (maps > 0)
    assert parts.score == pytest.approx(score, rel=1e-10, abs=1e-10)
    if exact:
        assert float(parts.copied.sum()) + parts.dense_share == pytest.approx(math.exp(score), rel=1e-10)
        assert (parts.copied[parts.fillers != answer] == 0).all()
    else:
        assert parts.score == pytest.approx(dense, rel=1e-10, abs=1e-10)
        assert not parts.copied.any()
        assert parts.dense_share == 0
    if math.isinf(stiffness):
        assert parts.completion == pytest.approx(0, abs=1e-12)


@every_binding
@pytest.mark.parametrize("maps", [0, 2])
@given(seed=SEEDS)
@LAW
@torch.no_grad()
def test_each_match_is_what_its_edge_adds(name: str, maps: int, seed: int) -> None:
    """At λ = ∞ and with weights that do not depend on the others: take the edge away, and so much is gone."""
    facts = random_facts(seed)
    model = model_of(name, seed, stiffness=math.inf, readout={"maps": maps} if maps else None)
    entity, role, answer = facts[0][0], RELATIONS, 4
    parts = explain(model, index_of(facts), entity, role, answer)
    edges = looped_edges(model, facts, entity, role)
    assert list(zip(parts.roles.tolist(), parts.fillers.tolist(), strict=True)) == edges
    truth, factor = model.embeddings().entities[answer], 2 * model.log_temperature.exp()
    whole = factor * looped_retrieved(model, facts, entity, role) @ truth
    for place, (other, filler) in enumerate(edges):
        if filler == entity:
            continue  # the fact is another edge of this memory as well
        fact = (entity, other - RELATIONS, filler) if other >= RELATIONS else (filler, other, entity)
        rest = factor * looped_retrieved(model, [each for each in facts if each != fact], entity, role) @ truth
        assert float(parts.matches[place]) == pytest.approx(float(whole - rest), rel=1e-8, abs=1e-10)


def test_stored_answers_are_not_said_to_be_copied() -> None:
    facts = [(0, 0, 1), (0, 1, 1), (0, 1, 2)]
    model = random_model(small("recall").memory, 0)
    stored = explain(model, index_of(facts), 0, RELATIONS, 1)
    assert not stored.copied.any()
    new = explain(model, index_of(facts), 0, RELATIONS, 2)
    assert (new.copied > 0).tolist() == [False, False, True]
    assert new.weights.tolist() == pytest.approx(stored.weights.tolist())


def test_an_entity_without_facts_is_explained_by_nothing() -> None:
    model = random_model(small("recall").memory, 0)
    parts = explain(model, index_of([(0, 0, 1)]), 5, 0, 1)
    assert (len(parts.roles), len(parts.matches), len(parts.copied)) == (0, 0, 0)
    assert math.isfinite(parts.score)


def test_implicit_memories_have_nothing_to_explain_with() -> None:
    model = random_model(small("tpr-im").memory, 0)
    with pytest.raises(ConfigError, match="an implicit memory has no stored facts to explain an answer with"):
        explain(model, index_of([]), 0, 0, 1)


def test_explaining_leaves_no_gradients() -> None:
    model = random_model(small("tpr").memory, 0)
    parts = explain(model, index_of(random_facts(0)), 0, 0, 1)
    assert not parts.matches.requires_grad
    assert isinstance(parts.matches, torch.Tensor)
