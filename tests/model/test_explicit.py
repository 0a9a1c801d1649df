import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.memory.binding import make_binding
from hmem.model.explicit import ExplicitMemory, WeightedEdges
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.query import KEEP_ALL, Drop, Noise, Query, withheld
from tests import oracles
from tests.memory.problems import BindingName, as_tuples
from tests.model.problems import (
    ENTITIES,
    LAW,
    RELATIONS,
    SEEDS,
    ask,
    both_ways,
    index_of,
    looped_edges,
    looped_memory,
    looped_weights,
    random_facts,
    random_model,
    small,
)

PRESET_OF: dict[BindingName, str] = {"tpr": "tpr-inf", "cconv": "cconv-inf", "hadamard": "eravg"}
CPU = torch.device("cpu")
every_binding = pytest.mark.parametrize("name", ["tpr", "cconv", "hadamard"])


def bound_model(name: BindingName, seed: int, **memory: object) -> HMem:
    changes: dict[str, object] = {"weighting": "learned", "identity": True, "role_bias": "zero", **memory}
    return random_model(small(PRESET_OF[name], memory=changes).memory, seed)


def attend(model: HMem, query: Query, graph: FrozenIndex, drop: Drop = KEEP_ALL) -> WeightedEdges:
    assert isinstance(model.memory, ExplicitMemory)
    vectors = model.embeddings()
    return model.memory.attend(query, graph, model.identify(query, vectors, drop), vectors, drop)


def assemble(model: HMem, query: Query, weighted: WeightedEdges) -> torch.Tensor:
    assert isinstance(model.memory, ExplicitMemory)
    return model.memory.assemble(query, weighted, model.embeddings()).state


@every_binding
@given(seed=SEEDS, k=st.none() | st.integers(1, 6))
@LAW
def test_assembles_the_memory_of_a_loop(name: BindingName, seed: int, k: int | None) -> None:
    """Whole neighborhoods, and the k strongest of each, with the asked fact left out."""
    facts = random_facts(seed)
    model = bound_model(name, seed, max_neighbors=k)
    questions = both_ways(facts)[seed % 5 :: 5]
    query = ask(*questions)
    memory = assemble(model, query, attend(model, query, index_of(facts)))
    for row, (entity, role, target) in enumerate(questions):
        edges = looped_edges(model, facts, entity, role, target)
        expected = looped_memory(model, edges, looped_weights(model, edges, entity, role))
        torch.testing.assert_close(memory[row], expected, rtol=0, atol=1e-12)


@every_binding
@given(seed=SEEDS)
@LAW
def test_assembles_what_padding_would(name: BindingName, seed: int) -> None:
    model, query = bound_model(name, seed), ask(*((entity, seed % 6) for entity in range(ENTITIES)))
    weighted = attend(model, query, index_of(random_facts(seed)))
    vectors = model.embeddings()
    padded = oracles.superpose_padded(
        name, as_tuples(weighted.edges), weighted.weights, vectors.roles, vectors.entities, len(query)
    )
    torch.testing.assert_close(assemble(model, query, weighted), padded, rtol=0, atol=1e-12)


@every_binding
@given(seed=SEEDS, neighbor=st.sampled_from([0.0, 0.4]))
@LAW
def test_mean_weights_average_the_edges_that_are_there(name: BindingName, seed: int, neighbor: float) -> None:
    """oDistMult-ERAvg: the mean of the bindings, without the asked fact and without what was dropped."""
    facts = random_facts(seed)
    model = random_model(small(PRESET_OF[name], memory={"weighting": "mean"}).memory, seed)
    query = ask(*both_ways(facts))
    drop = Drop(noise=Noise(seed, 0, CPU), neighbor=neighbor)
    weighted = attend(model, query, index_of(facts), drop)
    memory = assemble(model, query, weighted)
    vectors, binding = model.embeddings(), make_binding(name)
    assert weighted.absent.any()
    for row in range(len(query)):
        here = (weighted.edges.query == row) & ~weighted.absent
        bound = binding.bind(
            vectors.roles[weighted.edges.roles[here]], vectors.entities[weighted.edges.fillers[here]]
        )  # (K, D)
        mean = bound.mean(0) if len(bound) else torch.zeros_like(memory[0])
        torch.testing.assert_close(memory[row], mean, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighting", ["learned", "mean"])
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.5]))
@LAW
def test_absent_edges_weigh_exactly_nothing(weighting: str, seed: int, share: float) -> None:
    facts = random_facts(seed)
    model = random_model(small("tpr-inf", memory={"weighting": weighting}).memory, seed)
    drop = Drop(noise=Noise(seed, 1, CPU), neighbor=share, link=share)
    weighted = attend(model, ask(*both_ways(facts)), index_of(facts), drop)
    assert (weighted.weights[weighted.absent] == 0).all()
    assert (weighted.weights[~weighted.absent] > 0).all()
    assert (weighted.weights <= 1).all()


@given(seed=SEEDS, k=st.none() | st.integers(1, 6), neighbor=st.sampled_from([0.0, 0.5]))
@LAW
def test_recalling_is_assembling_and_unbinding(seed: int, k: int | None, neighbor: float) -> None:
    """The short cut for tensor products at λ = ∞."""
    facts = random_facts(seed)
    for weighting in ("learned", "mean"):
        if weighting == "mean" and k is not None:
            continue
        model = random_model(small("tpr-inf", memory={"weighting": weighting, "max_neighbors": k}).memory, seed)
        query, vectors = ask(*both_ways(facts)), model.embeddings()
        drop = Drop(noise=Noise(seed, 0, CPU), neighbor=neighbor, identity=0.5, link=0.5)
        weighted = attend(model, query, index_of(facts), drop)
        assert isinstance(model.memory, ExplicitMemory)
        recalled = model.memory.assemble(query, weighted, vectors).unbind(query.role)
        unbound = model.binding.unbind(vectors.roles[query.role], assemble(model, query, weighted))
        torch.testing.assert_close(recalled, unbound, rtol=0, atol=1e-10)


def test_the_cut_keeps_k_edges_besides_those_that_are_absent() -> None:
    facts = [(0, relation, tail) for relation in range(RELATIONS) for tail in range(1, 8)]
    model = bound_model("tpr", 0, max_neighbors=5)
    query = ask(*both_ways(facts)[: len(facts)])  # each asks for a fact of the hub
    weighted = attend(model, query, index_of(facts))
    kept = torch.zeros(len(query), dtype=torch.long).index_add(0, weighted.edges.query, (~weighted.absent).long())
    assert kept.tolist() == [5] * len(query)


def test_mean_weighting_learns_no_weights() -> None:
    model = random_model(small("eravg").memory, 0)
    assert isinstance(model.memory, ExplicitMemory)
    assert list(model.memory.parameters()) == []


def test_neighbor_dropout_chooses_edges_and_never_gives_the_fact_back() -> None:
    """The exact channels, whose null slot must know how often an answer is absent, see all but what is withheld."""
    facts = random_facts(3)
    model, query = random_model(small("tpr-inf").memory, 3), ask(*both_ways(facts))
    shares = []
    for step in range(40):
        weighted = attend(model, query, index_of(facts), Drop(noise=Noise(0, step, CPU), neighbor=0.3))
        assert torch.equal(weighted.withheld, withheld(query, weighted.edges, RELATIONS))
        assert weighted.absent[weighted.withheld].all()
        shares.append(weighted.absent[~weighted.withheld].double().mean().item())
    assert sum(shares) / len(shares) == pytest.approx(0.3, abs=0.02)
