"""Vectors for entities that come after training."""

import pytest
import torch

from hmem.memory.superpose import Edges
from hmem.model import placing
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.placing import can_place_by_roles, fit_placing, place, place_all, place_by_roles
from tests.model.problems import ENTITIES, ask, index_of, random_facts, random_model, small

NONE = torch.empty(0, dtype=torch.long)
every_binding = pytest.mark.parametrize("preset", ["tpr-inf", "cconv", "eravg", "tpr-im"])


def kin(entities: int = 60) -> tuple[HMem, FrozenIndex, list[tuple[int, int, int]]]:
    """Entities 10, 11, … each belong to one of the families 0 … 9, and their vectors lie near their family's."""
    facts = [(member, 0, member % 10) for member in range(10, entities)]
    model = random_model(small("tpr-inf", memory={"entity_dim": 12}).memory, 0, entities, 1)
    with torch.no_grad():
        entity = model.embeddings.entity
        for member in range(10, entities):
            entity[member] = -entity[member % 10] + 0.01 * entity[member]
    return model, index_of(facts, entities, 1), facts


def edges_of(facts: list[tuple[int, int]]) -> Edges:
    """Of one unseen entity, as (role, filler)."""
    roles, fillers = torch.tensor(sorted(facts)).T
    return Edges(roles, fillers, torch.zeros_like(roles), num_queries=1)


@torch.no_grad()
def test_a_newcomer_stands_where_its_facts_put_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of a family stand opposite it; so does a new one, which is nearer its kin than to any other family."""
    monkeypatch.setattr(placing, "RIDGE", 1e-4)
    model, index, _ = kin()
    fit_placing(model, index)
    vectors = model.embeddings()
    for family in range(10):
        stands = place(model, edges_of([(1, family)]), vectors)[0]
        nearest = (vectors.entities[10:] - stands).square().sum(1).argmin() + 10
        assert int(nearest) % 10 == family


@every_binding
@torch.no_grad()
def test_the_map_solves_the_ridge_problem(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With whole neighborhoods the gradient of the penalised squares vanishes, batch by batch or all at once."""
    monkeypatch.setattr(placing, "FEW", (1 << 30,))
    monkeypatch.setattr(placing, "BATCH", 3)
    facts = random_facts(1)
    model, index = random_model(small(preset).memory, 1), index_of(facts)
    model.is_trained[ENTITIES - 1] = False
    fit_placing(model, index)
    vectors = model.embeddings()
    known = torch.arange(ENTITIES - 1)
    memories = placing._memories(model, index.lookup(known), vectors)
    residual = memories @ model.placing - vectors.entities[known]
    squares = memories.square().sum(0)
    penalty = torch.full_like(squares, float(placing.RIDGE * squares[:-1].mean()) + 1e-6)
    penalty[-1] = 1e-6
    gradient = memories.mT @ residual + penalty[:, None] * model.placing
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-8, rtol=0)


@every_binding
@torch.no_grad()
def test_the_map_of_kinds_solves_the_ridge_problem(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "BATCH", 3)
    model, index = random_model(small(preset).memory, 1), index_of(random_facts(1))
    fit_placing(model, index)
    edges = index.lookup(torch.arange(ENTITIES))
    counts = torch.zeros(ENTITIES, len(model.kinds), dtype=torch.float64)
    for entity, role in zip(edges.query.tolist(), edges.roles.tolist(), strict=True):
        counts[entity, role] += 1
    played = counts.log1p()
    penalty = float(placing.RIDGE * played.square().sum(0).mean()) + 1e-6
    residual = played @ model.kinds - model.embeddings().entities
    gradient = played.mT @ residual + penalty * model.kinds
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-8, rtol=0)
    torch.testing.assert_close(place_by_roles(model, edges), played @ model.kinds)


@torch.no_grad()
def test_an_entity_among_unseen_ones_stands_with_its_kind() -> None:
    """In a graph of unseen entities, families stand where families do and members where members do."""
    model, index, _ = kin()
    fit_placing(model, index)
    means = [model.embeddings().entities[some].mean(0) for some in (slice(10), slice(10, None))]
    model.is_trained.zero_()
    vectors = place_all(model, index)
    assert vectors.placed is not None
    assert vectors.placed.all()
    for entity, row in enumerate(vectors.entities):
        near, far = ((row - mean).square().sum() for mean in (means if entity < 10 else means[::-1]))
        assert near < far
    with_nobody = index_of([(0, 0, 1)], 60, 1)
    placed = place_all(model, with_nobody).placed
    assert placed is not None
    assert placed.nonzero().squeeze(1).tolist() == [0, 1]


@torch.no_grad()
def test_with_too_many_roles_there_are_no_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "MOST_ROLES", 1)
    model, index, _ = kin()
    fit_placing(model, index)
    assert not can_place_by_roles(model)
    model.is_trained.zero_()
    vectors = place_all(model, index)
    assert vectors.placed is not None
    assert not vectors.placed.any()
    assert not vectors.entities.any()


@torch.no_grad()
def test_without_facts_it_is_the_mean() -> None:
    model, index, _ = kin()
    fit_placing(model, index)
    somewhere = place(model, Edges(NONE, NONE, NONE, num_queries=2), model.embeddings())
    torch.testing.assert_close(somewhere, model.placing[-1].expand(2, -1))


@torch.no_grad()
def test_only_some_edges_are_drawn_for_most_entities() -> None:
    facts = [(0, 0, n) for n in range(1, 40)] + [(0, 1, n) for n in range(1, 40)]
    edges = index_of(facts, 40, 2).lookup(torch.zeros(400, dtype=torch.long))
    some = placing._some_edges(edges, torch.Generator().manual_seed(0))
    assert set(some.degree.tolist()) == {1, 2, 4, 78}
    cells = some.query * 1000 + some.roles * 100 + some.fillers
    assert (cells.diff() > 0).all()  # in the order of the edges, none twice
    ones = (some.fillers * 10 + some.roles)[some.degree[some.query] == 1]
    assert len(set(ones.tolist())) > 40  # drawn from all of them


@torch.no_grad()
def test_who_is_not_placed_is_no_candidate_of_the_dense_channel() -> None:
    facts = random_facts(0)
    model = random_model(small("recall").memory, 0)
    vectors = model.embeddings()
    placed = torch.ones(ENTITIES, dtype=torch.bool)
    placed[4] = False
    somewhere = type(vectors)(vectors.entities, vectors.roles, placed)
    query = ask((8, 0))  # without edges: nothing is copied
    scores = model(query, index_of(facts), somewhere)[0]
    assert scores[4] == -torch.inf
    torch.testing.assert_close(scores.exp().sum(), torch.ones((), dtype=torch.float64))
