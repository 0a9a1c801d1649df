from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.memory.superpose import Edges
from hmem.memory.weighting import Weighting, edge_products
from tests import oracles
from tests.memory.problems import LAW, SEEDS, generator, normal, random_edges

ROLES, ENTITIES, DE, DR = 4, 7, 3, 2
Inputs = tuple[Tensor, Tensor, Edges, Tensor, Tensor]


def problem(seed: int, num_queries: int = 5, num_edges: int = 20) -> Inputs:
    """What `forward` takes; the first query's entity has no embedding."""
    rng = generator(seed)
    edges = random_edges(rng, num_queries, num_edges, ROLES, ENTITIES)
    entity = normal(rng, num_queries, DE)
    entity[0] = 0
    query_roles = torch.randint(ROLES, (num_queries,), generator=rng)
    return entity, query_roles, edges, normal(rng, ROLES, DR), normal(rng, ENTITIES, DE)


def random_weighting(seed: int, role_bias: bool, method: Literal["auto", "dense", "rows"] = "auto") -> Weighting:
    weighting = Weighting(ROLES, DE, DR, role_bias=role_bias, method=method).double()
    rng = generator(seed)
    for parameter in weighting.parameters():
        parameter.data = normal(rng, *parameter.shape)
    return weighting


@pytest.mark.parametrize("method", ["dense", "rows"])
@pytest.mark.parametrize("role_bias", [False, True])
@given(seed=SEEDS, num_edges=st.integers(0, 20))
@LAW
def test_equals_the_formula_edge_by_edge(
    method: Literal["dense", "rows"], role_bias: bool, seed: int, num_edges: int
) -> None:
    inputs = entity, query_roles, edges, roles, entities = problem(seed, num_edges=num_edges)
    weighting = random_weighting(seed, role_bias, method)
    logits = weighting(*inputs)
    assert logits.shape == (num_edges,)
    for c, (b, role, filler) in enumerate(zip(edges.query, edges.roles, edges.fillers, strict=True)):
        q = query_roles[b]
        expected = oracles.weight_logit(
            entity[b], roles[q], entities[filler], roles[role], weighting.score_matrix, weighting.score_bias[q]
        )
        if weighting.role_bias is not None:
            expected = expected + weighting.role_bias[q, role]
        torch.testing.assert_close(logits[c], expected)


@given(seed=SEEDS)
@LAW
def test_dense_and_rows_have_the_same_gradients(seed: int) -> None:
    entity, query_roles, edges, roles, entities = problem(seed)
    vectors = [tensor.requires_grad_() for tensor in (entity, roles, entities)]
    gradients = []
    for method in ("dense", "rows"):
        weighting = random_weighting(seed, role_bias=True, method=method)
        loss = torch.sigmoid(weighting(entity, query_roles, edges, roles, entities)).square().sum()
        gradients.append(torch.autograd.grad(loss, [*vectors, *weighting.parameters()]))
    for dense, rows in zip(*gradients, strict=True):
        torch.testing.assert_close(dense, rows)


def test_weights_start_near_one_half() -> None:
    torch.manual_seed(0)
    for role_bias in (False, True):
        weights = torch.sigmoid(Weighting(ROLES, DE, DR, role_bias=role_bias).double()(*problem(0)))
        assert (weights - 0.5).abs().mean() < 0.1
        assert weights.std() > 0  # but not all the same, or they could never part


def test_can_start_from_how_often_roles_meet() -> None:
    weighting = Weighting(ROLES, DE, DR, role_bias=True)
    assert weighting.role_bias is not None
    keys = torch.tensor([2 * ROLES + 1, 0 * ROLES + 1, 2 * ROLES + 0])  # 2 ⇒ 1 in half of all cases, 0 ⇒ 1 always, …
    weighting.start_from(keys, torch.tensor([0.5, 1.0, 0.01]))
    expected = torch.full((ROLES, ROLES), -2.0)  # what was never seen together starts low, where it can still rise
    expected[1, 2], expected[1, 0] = 0.0, 3.0
    torch.testing.assert_close(weighting.role_bias.detach(), expected)


def test_an_unknown_entity_still_weighs_by_role() -> None:
    entity, query_roles, edges, roles, entities = problem(0, num_edges=60)
    weighting = random_weighting(0, role_bias=False)
    logits = weighting(torch.zeros_like(entity), query_roles, edges, roles, entities)
    assert logits.isfinite().all()
    assert logits.std() > 0


@pytest.mark.parametrize("method", ["auto", "dense", "rows"])
def test_edge_products_are_those_of_the_rows(method: Literal["auto", "dense", "rows"]) -> None:
    left, right = normal(generator(0), 4, DE), normal(generator(1), 9, DE)
    row, column = torch.tensor([0, 0, 3, 2]), torch.tensor([8, 1, 1, 0])
    expected = torch.stack([left[i] @ right[j] for i, j in zip(row, column, strict=True)])
    torch.testing.assert_close(edge_products(left, right, row, column, method), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("method", ["auto", "dense", "rows"])
def test_cuda_equals_cpu(cuda: torch.device, method: Literal["auto", "dense", "rows"]) -> None:
    entity, query_roles, edges, roles, entities = problem(0, 30, 500)
    expected = random_weighting(0, role_bias=True)(entity, query_roles, edges, roles, entities)
    there = Edges(edges.roles.to(cuda), edges.fillers.to(cuda), edges.query.to(cuda), edges.num_queries)
    weighting = random_weighting(0, role_bias=True, method=method).to(cuda)
    logits = weighting(entity.to(cuda), query_roles.to(cuda), there, roles.to(cuda), entities.to(cuda))
    torch.testing.assert_close(logits.cpu(), expected)
