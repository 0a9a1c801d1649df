import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.memory.binding import TensorProduct
from hmem.memory.exact import Copied, ExactChannel, segment_logsumexp
from hmem.memory.superpose import Edges, superpose
from tests.memory.problems import LAW, SEEDS, as_tuples, generator, normal, random_edges

ROLES, ENTITIES, QUERIES, EDGES, DE = 6, 7, 5, 30, 3
NONE = torch.empty(0, dtype=torch.long)


def problem(seed: int) -> tuple[ExactChannel, Tensor, Edges, Tensor, Tensor]:
    """A channel, the asked roles, edges, entity vectors and which edges are absent."""
    rng = generator(seed)
    channel = ExactChannel(ROLES, DE).double()
    with torch.no_grad():
        channel.affinity.copy_(2 * normal(rng, ROLES, ROLES))
        channel.taste.copy_(normal(rng, ROLES, DE))
        channel.null.copy_(normal(rng, ROLES))
    edges = random_edges(rng, QUERIES, EDGES, ROLES, ENTITIES)
    asked = torch.randint(ROLES, (QUERIES,), generator=rng)
    return channel, asked, edges, normal(rng, ENTITIES, DE), torch.rand(EDGES, generator=rng) < 0.2


def suitability(channel: ExactChannel, asked: Tensor, edges: Edges, vectors: Tensor) -> Tensor:
    """u_q·e_c of each edge."""
    return torch.stack([channel.taste[asked[query]] @ vectors[filler] for query, _, filler in as_tuples(edges)])


def one_hot_memory(channel: ExactChannel, asked: Tensor, edges: Edges, weights: Tensor) -> Tensor:
    """Σ_c e^{u_q·e_c} e^{C[q, r_c]} on each filler: what a memory of tensor products gives back whose fillers and roles
    are all orthogonal, unbound with the asked role's row of e^C."""
    roles = torch.eye(ROLES, dtype=torch.float64)
    fillers = torch.eye(ENTITIES, dtype=torch.float64)
    memory = superpose(TensorProduct(), edges, weights, roles, fillers)  # (B, ROLES · ENTITIES)
    return TensorProduct().unbind(channel.affinity[asked].exp(), memory)  # (B, ENTITIES)


def mass_on_fillers(copied: Copied, edges: Edges) -> Tensor:
    mass = torch.zeros(QUERIES, ENTITIES, dtype=torch.float64)
    return mass.index_put((edges.query, edges.fillers), copied.log_edge.exp(), accumulate=True)


@given(seed=SEEDS)
@LAW
def test_is_a_tensor_product_memory_with_orthogonal_fillers(seed: int) -> None:
    channel, asked, edges, vectors, absent = problem(seed)
    copied = channel(asked, edges, vectors, absent)
    weights = suitability(channel, asked, edges, vectors).exp().masked_fill(absent, 0.0)
    memory = one_hot_memory(channel, asked, edges, weights)
    null = channel.null[asked].exp()
    before_softmax = mass_on_fillers(copied, edges) / copied.log_null.exp()[:, None] * null[:, None]
    torch.testing.assert_close(before_softmax, memory)
    total = memory.sum(1) + null
    torch.testing.assert_close(copied.log_null.exp(), null / total)


@given(seed=SEEDS)
@LAW
def test_what_is_recalled_is_additive_in_facts(seed: int) -> None:
    channel, asked, edges, vectors, _ = problem(seed)

    def coefficients(kept: Tensor) -> Tensor:
        some = edges.select(kept)
        copied = channel(asked, some, vectors, torch.zeros(len(some.query), dtype=torch.bool))
        coefficient: Tensor = mass_on_fillers(copied, some) / copied.log_null.exp()[:, None]
        return coefficient

    half = torch.rand(EDGES, generator=generator(seed)) < 0.5
    whole = coefficients(torch.ones(EDGES, dtype=torch.bool))
    torch.testing.assert_close(coefficients(half) + coefficients(~half), whole)


@given(seed=SEEDS)
@LAW
def test_absent_edges_might_as_well_not_be_there(seed: int) -> None:
    channel, asked, edges, vectors, absent = problem(seed)
    copied = channel(asked, edges, vectors, absent)
    rest = channel(asked, edges.select(~absent), vectors, torch.zeros(int((~absent).sum())).bool())
    assert (copied.log_edge[absent] == -math.inf).all()
    torch.testing.assert_close(copied.log_edge[~absent], rest.log_edge)
    torch.testing.assert_close(copied.log_null, rest.log_null)


@given(seed=SEEDS)
@LAW
def test_mixing_is_the_naive_formula_and_sums_to_one(seed: int) -> None:
    channel, asked, edges, vectors, absent = problem(seed)
    copied = channel(asked, edges, vectors, absent)
    suits = suitability(channel, asked, edges, vectors)
    dense = normal(generator(seed), QUERIES, ENTITIES).softmax(1)
    affinity, nulls = channel.affinity.tolist(), channel.null.tolist()
    expected = torch.zeros_like(dense)
    for query in range(QUERIES):
        logits = {
            c: affinity[asked[query]][role] + suits[c].item()
            for c, (owner, role, _) in enumerate(as_tuples(edges))
            if owner == query and not absent[c]
        }
        null = math.exp(nulls[asked[query]])
        total = null + sum(math.exp(logit) for logit in logits.values())
        expected[query] = null / total * dense[query]
        for c, logit in logits.items():
            expected[query, edges.fillers[c]] += math.exp(logit) / total
    mixed = copied.mixed_with(dense.log(), edges)
    torch.testing.assert_close(mixed, expected.log())
    torch.testing.assert_close(mixed.exp().sum(1), torch.ones(QUERIES, dtype=torch.float64))
    for entity in range(ENTITIES):
        target = torch.full((QUERIES,), entity)
        torch.testing.assert_close(copied.log_mass_on(edges, target).exp(), mass_on_fillers(copied, edges)[:, entity])


def test_an_empty_neighborhood_leaves_everything_to_the_dense_channel() -> None:
    channel = ExactChannel(ROLES, DE).double()
    edges = Edges(NONE, NONE, NONE, num_queries=2)
    copied = channel(torch.tensor([1, 3]), edges, normal(generator(0), ENTITIES, DE), NONE.bool())
    assert copied.log_null.tolist() == [0.0, 0.0]
    dense = normal(generator(0), 2, ENTITIES).log_softmax(1)
    torch.testing.assert_close(copied.mixed_with(dense, edges), dense)
    assert copied.log_mass_on(edges, torch.tensor([0, 1])).tolist() == [-math.inf, -math.inf]


@pytest.mark.parametrize("absent", [False, True])
def test_gradients_are_finite_whatever_is_missing(absent: bool) -> None:
    """An entity without edges, one whose edges are all absent, fillers that nobody leads to."""
    channel = ExactChannel(ROLES, DE).double()
    edges = Edges(torch.tensor([0, 2]), torch.tensor([1, 1]), torch.tensor([1, 1]), num_queries=3)
    vectors = 400 * normal(generator(1), ENTITIES, DE)
    dense = normal(generator(0), 3, ENTITIES).requires_grad_()
    copied = channel(torch.tensor([0, 1, 2]), edges, vectors, torch.tensor([absent, True]))
    for value in (
        copied.mixed_with(dense.log_softmax(1), edges).square().sum(),
        torch.logaddexp(copied.log_mass_on(edges, torch.tensor([1, 1, 1])), copied.log_null + dense[:, 1]).sum(),
    ):
        gradients = torch.autograd.grad(
            value, (channel.affinity, channel.null, channel.taste, dense), retain_graph=True, allow_unused=True
        )
        assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)
        assert gradients[-1] is not None
        assert gradients[-1].any()


def test_gradients_of_the_mixture() -> None:
    channel, asked, edges, vectors, absent = problem(0)
    suits = suitability(channel, asked, edges, vectors)
    dense = normal(generator(1), QUERIES, ENTITIES)

    def mixture(affinity: Tensor, null: Tensor, weights: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        # the module's own parameters are left alone: gradcheck wants a function of its inputs
        logits = (affinity[asked[edges.query], edges.roles] + weights).masked_fill(absent, -torch.inf)
        total = torch.logaddexp(segment_logsumexp(logits, edges.query, QUERIES), null[asked])
        copied = Copied(logits - total[edges.query], null[asked] - total)
        mass = copied.log_mass_on(edges, edges.fillers[:QUERIES])
        return copied.mixed_with(scores.log_softmax(1), edges), mass.exp()

    inputs = [each.detach().clone().requires_grad_() for each in (channel.affinity, channel.null, suits, dense)]
    assert torch.autograd.gradcheck(mixture, inputs)
    copied = channel(asked, edges, vectors, absent)
    torch.testing.assert_close(mixture(*inputs)[0], copied.mixed_with(dense.log_softmax(1), edges))


entries = st.tuples(st.integers(0, 3), st.floats(-50, 50) | st.just(-math.inf))


def test_entity_vectors_are_read_but_not_moved() -> None:
    channel, asked, edges, vectors, absent = problem(0)
    copied = channel(asked, edges, vectors.requires_grad_(), absent)
    copied.log_null.sum().backward()
    assert vectors.grad is None
    assert channel.taste.grad is not None
    assert channel.taste.grad.any()


@given(values=st.lists(entries, max_size=20))
@LAW
def test_segment_logsumexp_is_a_loop(values: list[tuple[int, float]]) -> None:
    """Segments in any order, empty ones, and such that hold nothing but −∞."""
    segment = torch.tensor([each for each, _ in values], dtype=torch.long)
    numbers = torch.tensor([value for _, value in values], dtype=torch.float64, requires_grad=True)
    result = segment_logsumexp(numbers, segment, 5)
    for place in range(5):
        mine = [math.exp(value) for each, value in values if each == place]
        expected = math.log(sum(mine)) if sum(mine) > 0 else -math.inf
        assert result[place].item() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    (gradient,) = torch.autograd.grad(result.masked_fill(result == -math.inf, 0.0).sum(), numbers)
    assert gradient.isfinite().all()


def test_segment_logsumexp_has_the_right_gradient() -> None:
    segment = torch.tensor([0, 0, 2, 2, 2, 3])
    gap = torch.tensor([False, False, False, True, False, True])

    def function(values: Tensor) -> Tensor:
        result = segment_logsumexp(values.masked_fill(gap, -torch.inf), segment, 5)
        return result.masked_fill(result == -torch.inf, 0.0)

    assert torch.autograd.gradcheck(function, normal(generator(0), 6).requires_grad_())


def test_segment_logsumexp_neither_overflows_nor_underflows() -> None:
    values = torch.tensor([1e4, 1e4, -1e4, -1e4], requires_grad=True)
    result = segment_logsumexp(values, torch.tensor([0, 0, 1, 1]), 2)
    assert result.tolist() == pytest.approx([1e4 + math.log(2), -1e4 + math.log(2)])
    (gradient,) = torch.autograd.grad(result.sum(), values)
    assert gradient.tolist() == [0.5] * 4


def test_starts_undecided() -> None:
    """Every edge as likely as the null slot."""
    edges = Edges(torch.tensor([0, 2, 4]), torch.tensor([1, 3, 1]), torch.tensor([0, 0, 0]), num_queries=1)
    copied = ExactChannel(ROLES, DE)(
        torch.tensor([1]), edges, torch.ones(ENTITIES, DE), torch.zeros(3, dtype=torch.bool)
    )
    assert copied.log_edge.exp().tolist() == pytest.approx([0.25] * 3)
    assert copied.log_null.exp().tolist() == pytest.approx([0.25])
