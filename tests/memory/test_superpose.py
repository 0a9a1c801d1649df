import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.memory.binding import TensorProduct, make_binding
from hmem.memory.superpose import Edges, keep_strongest, recall, superpose
from tests import oracles
from tests.memory.problems import LAW, SEEDS, BindingName, LargestTensor, as_tuples, generator, normal, random_edges

every_binding = pytest.mark.parametrize("name", ["tpr", "cconv", "hadamard"])
ROLES, ENTITIES = 5, 9


def problem(
    seed: int, name: BindingName, size: int, num_queries: int, num_edges: int
) -> tuple[Edges, Tensor, Tensor, Tensor]:
    rng = generator(seed)
    edges = random_edges(rng, num_queries, num_edges, ROLES, ENTITIES)
    weights = torch.rand(num_edges, generator=rng, dtype=torch.float64)
    return edges, weights, normal(rng, ROLES, 3 if name == "tpr" else size), normal(rng, ENTITIES, size)


@every_binding
@given(seed=SEEDS, size=st.integers(1, 7), num_queries=st.integers(1, 6), num_edges=st.integers(0, 20))
@LAW
def test_looped_padded_and_bagged_give_the_same_memory(
    name: BindingName, seed: int, size: int, num_queries: int, num_edges: int
) -> None:
    edges, weights, roles, entities = problem(seed, name, size, num_queries, num_edges)
    bagged = superpose(make_binding(name), edges, weights, roles, entities)
    looped = oracles.superpose_looped(name, as_tuples(edges), weights, roles, entities, num_queries)
    padded = oracles.superpose_padded(name, as_tuples(edges), weights, roles, entities, num_queries)
    torch.testing.assert_close(bagged, looped)
    torch.testing.assert_close(bagged, padded)


@every_binding
@given(seed=SEEDS)
@LAW
def test_is_additive_in_facts(name: BindingName, seed: int) -> None:
    edges, weights, roles, entities = problem(seed, name, 4, 5, 30)
    some = torch.rand(30, generator=generator(seed)) < 0.5
    parts = [
        superpose(make_binding(name), edges.select(kept), weights[kept], roles, entities) for kept in (some, ~some)
    ]
    whole = superpose(make_binding(name), edges, weights, roles, entities)
    torch.testing.assert_close(parts[0] + parts[1], whole)


@every_binding
@given(seed=SEEDS)
@LAW
def test_does_not_depend_on_the_order_within_a_query(name: BindingName, seed: int) -> None:
    edges, weights, roles, entities = problem(seed, name, 4, 5, 30)
    shuffle = torch.randperm(30, generator=generator(seed))
    order = shuffle[torch.argsort(edges.query[shuffle], stable=True)]  # mixed within each query only
    mixed = Edges(edges.roles[order], edges.fillers[order], edges.query[order], edges.num_queries)
    torch.testing.assert_close(
        superpose(make_binding(name), mixed, weights[order], roles, entities),
        superpose(make_binding(name), edges, weights, roles, entities),
    )


@every_binding
@given(seed=SEEDS)
@LAW
def test_edges_of_weight_zero_change_nothing(name: BindingName, seed: int) -> None:
    edges, weights, roles, entities = problem(seed, name, 4, 5, 30)
    kept = torch.rand(30, generator=generator(seed)) < 0.5
    torch.testing.assert_close(
        superpose(make_binding(name), edges, weights * kept, roles, entities),
        superpose(make_binding(name), edges.select(kept), weights[kept], roles, entities),
    )


@given(seed=SEEDS, num_queries=st.integers(1, 6), num_edges=st.integers(0, 20))
@LAW
def test_recall_is_unbinding_what_was_superposed(seed: int, num_queries: int, num_edges: int) -> None:
    edges, weights, roles, entities = problem(seed, "tpr", 4, num_queries, num_edges)
    asked = normal(generator(seed), num_queries, roles.shape[1])
    gains = (asked[edges.query] * roles[edges.roles]).sum(1)
    memory = superpose(TensorProduct(), edges, weights, roles, entities)
    torch.testing.assert_close(
        recall(edges, weights, gains, entities), TensorProduct().unbind(asked, memory), rtol=0, atol=1e-12
    )


@every_binding
def test_a_query_without_edges_has_the_zero_memory(rng: torch.Generator, name: BindingName) -> None:
    edges = Edges(torch.tensor([0, 2]), torch.tensor([1, 1]), torch.tensor([1, 1]), num_queries=3)
    roles, entities, weights = normal(rng, 3, 4), normal(rng, 2, 4), normal(rng, 2)
    memory = superpose(make_binding(name), edges, weights, roles, entities)
    assert not memory[0].any()
    assert memory[1].all()
    assert not memory[2].any()
    assert not recall(edges, weights, weights, entities)[[0, 2]].any()


@every_binding
def test_a_batch_without_edges_works_and_has_gradients(rng: torch.Generator, name: BindingName) -> None:
    none = torch.empty(0, dtype=torch.long)
    edges = Edges(none, none, none, num_queries=3)
    roles, entities = normal(rng, 3, 4).requires_grad_(), normal(rng, 2, 4).requires_grad_()
    weights = torch.empty(0, dtype=torch.float64, requires_grad=True)
    assert edges.starts.tolist() == edges.degree.tolist() == [0, 0, 0]
    memory = superpose(make_binding(name), edges, weights, roles, entities)
    retrieved = recall(edges, weights, weights, entities)
    assert memory.shape == (3, 16 if name == "tpr" else 4)
    assert not memory.any()
    assert not retrieved.any()
    (gradient,) = torch.autograd.grad(memory.sum() + retrieved.sum(), entities)
    assert not gradient.any()


@every_binding
@pytest.mark.parametrize("size", [1, 6])  # of both ways to superpose tensor products
def test_gradients_reach_weights_roles_and_entities(name: BindingName, size: int) -> None:
    edges, *inputs = problem(0, name, size, 4, 12)
    parameters = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda w, r, e: superpose(make_binding(name), edges, w, r, e), parameters)


def test_gradients_of_recall() -> None:
    edges, weights, _, entities = problem(0, "tpr", 6, 4, 12)
    parameters = [tensor.requires_grad_() for tensor in (weights, normal(generator(1), 12), entities)]
    assert torch.autograd.gradcheck(lambda w, g, e: recall(edges, w, g, e), parameters)


def test_runs_of_equal_roles_are_bags() -> None:
    query = torch.tensor([0, 0, 0, 2, 2, 3])
    roles = torch.tensor([1, 1, 4, 4, 4, 4])
    edges = Edges(roles, torch.arange(6), query, num_queries=4)
    assert edges.starts.tolist() == [0, 3, 3, 5]
    assert edges.degree.tolist() == [3, 0, 2, 1]
    assert edges.bags.offsets.tolist() == [0, 2, 3, 5]
    assert edges.bags.roles.tolist() == [1, 4, 4, 4]
    assert edges.bags.query.tolist() == [0, 0, 2, 3]
    assert edges.bags.slot.tolist() == [0, 1, 0, 0]
    assert edges.bags.of_edge.tolist() == [0, 0, 1, 2, 2, 3]
    assert edges.bags.most == 2


def test_a_hub_needs_no_array_of_edges_by_dimensions(rng: torch.Generator) -> None:
    hub = 10_000
    edges = Edges(torch.arange(hub) // 2500, torch.randint(30, (hub,), generator=rng), torch.zeros(hub).long(), 1)
    weights = torch.rand(hub, generator=rng, dtype=torch.float64).requires_grad_()
    roles, entities = normal(rng, 4, 6).requires_grad_(), normal(rng, 30, 8).requires_grad_()
    with LargestTensor() as largest:
        torch.autograd.grad(
            superpose(TensorProduct(), edges, weights, roles, entities).sum(), (weights, roles, entities)
        )
        torch.autograd.grad(recall(edges, weights, weights, entities).sum(), (weights, entities))
    assert largest.numel <= 2 * hub
    with torch.no_grad():
        exact = torch.einsum("n,nr,ne->re", weights, roles[edges.roles], entities[edges.fillers]).flatten()
        torch.testing.assert_close(superpose(TensorProduct(), edges, weights, roles, entities)[0], exact)


@pytest.mark.parametrize(
    "crowded", [1, 40]
)  # how many of 40 queries have an edge of each of 20 roles, and not only one
def test_tensor_products_are_summed_the_way_that_needs_less_memory(rng: torch.Generator, crowded: int) -> None:
    sizes = torch.tensor([20] * crowded + [1] * (40 - crowded))
    query = torch.arange(40).repeat_interleave(sizes)
    roles = torch.arange(20).repeat(crowded + 40)[: len(query)]
    edges = Edges(roles, torch.zeros_like(roles), query, num_queries=40)
    with LargestTensor() as largest:
        superpose(TensorProduct(), edges, normal(rng, len(query)), normal(rng, 20, 4), normal(rng, 1, 5))
    outer, padded = len(query) * 4 * 5, 40 * 20 * max(4, 5)
    assert largest.numel == max(40 * 4 * 5, min(outer, padded))


def test_bfloat16_weights_meet_float32_vectors(rng: torch.Generator) -> None:
    edges, weights, roles, entities = problem(0, "tpr", 6, 4, 12)
    coarse = weights.bfloat16()
    memory = superpose(TensorProduct(), edges, coarse, roles.float(), entities.float())
    torch.testing.assert_close(
        memory, superpose(TensorProduct(), edges, coarse.float(), roles.float(), entities.float())
    )


@given(edges=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.3])), max_size=30), k=st.integers(0, 9))
@LAW
def test_the_strongest_are_kept_exactly(edges: list[tuple[int, float]], k: int) -> None:
    queries = sorted(query for query, _ in edges)
    weights = [weight for _, weight in edges]
    ids = torch.arange(len(edges))
    kept = keep_strongest(
        Edges(ids, ids, torch.tensor(queries, dtype=torch.long), 4), torch.tensor(weights, dtype=torch.float64), k
    )
    assert kept.tolist() == oracles.strongest(queries, weights, k)


@pytest.mark.gpu
@every_binding
def test_cuda_equals_cpu(cuda: torch.device, name: BindingName) -> None:
    edges, *inputs = problem(0, name, 16, 40, 600)
    there = Edges(edges.roles.to(cuda), edges.fillers.to(cuda), edges.query.to(cuda), edges.num_queries)
    results = []
    for place, some in (("cpu", edges), (cuda, there)):
        parameters = [tensor.detach().to(place).requires_grad_() for tensor in inputs]
        weights, roles, entities = parameters
        memory = superpose(make_binding(name), some, weights, roles, entities)
        retrieved = recall(some, weights, weights, entities)
        gradients = torch.autograd.grad(memory.square().sum() + retrieved.square().sum(), parameters)
        results.append([memory, retrieved, keep_strongest(some, weights, 3), *gradients])
    for here, remote in zip(*results, strict=True):
        torch.testing.assert_close(here, remote.cpu())
