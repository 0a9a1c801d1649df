import math
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.memory.binding import TensorProduct
from hmem.memory.exact import DenseView, ExactChannel, Recalled, copy, segment_logsumexp
from hmem.memory.superpose import Edges, superpose
from tests.memory.problems import LAW, SEEDS, as_tuples, generator, normal, random_edges

ROLES, ENTITIES, QUERIES, EDGES, DE = 6, 7, 5, 30, 3
NONE = torch.empty(0, dtype=torch.long)


class Problem(NamedTuple):
    channel: ExactChannel
    asked: Tensor  # roles
    edges: Edges
    absent: Tensor
    dense: DenseView

    def copied(self, edges: Edges | None = None, absent: Tensor | None = None) -> Recalled:
        """What the channel copies, of these edges or of others."""
        edges, absent = edges or self.edges, self.absent if absent is None else absent
        return run(self.channel, self.asked, edges, absent, self.dense)


def run(channel: ExactChannel, *inputs: Any) -> Recalled:
    copied: Recalled = channel(*inputs)
    return copied


def bystanders(queries: int, seed: int = 0, scale: float = 1.0) -> DenseView:
    """What a dense channel might know."""
    rng = generator(seed)
    vectors = scale * normal(rng, ENTITIES, DE)
    return DenseView(vectors, vectors.square().sum(1), normal(rng, queries, DE), normal(rng, 1).exp()[0])


def problem(seed: int) -> Problem:
    rng = generator(seed)
    channel = ExactChannel(ROLES, DE).double()
    with torch.no_grad():
        channel.affinity.copy_(2 * normal(rng, ROLES, ROLES))
        channel.liking.taste.copy_(normal(rng, ROLES, DE))
        channel.liking.trust.copy_(normal(rng, ROLES))
        channel.null.copy_(normal(rng, ROLES))
    edges = random_edges(rng, QUERIES, EDGES, ROLES, ENTITIES)
    asked = torch.randint(ROLES, (QUERIES,), generator=rng)
    return Problem(channel, asked, edges, torch.rand(EDGES, generator=rng) < 0.2, bystanders(QUERIES, seed))


def suitability(given: Problem) -> Tensor:
    """u_q·e_c − β_q τ (‖e_o − e_c‖² − ‖e_o‖²) of each edge: what e_o alone adds is the same for all of a query."""
    liking, suits = given.channel.liking, []
    for query, _, filler in as_tuples(given.edges):
        role, vector, retrieved = given.asked[query], given.dense.entities[filler], given.dense.retrieved[query]
        distance = (retrieved - vector).square().sum() - retrieved.square().sum()
        suits.append(liking.taste[role] @ vector - liking.trust[role] * given.dense.temperature * distance)
    return torch.stack(suits)


def one_hot_memory(given: Problem, weights: Tensor) -> Tensor:
    """Σ_c w_c e^{C[q, r_c]} on each filler: what a memory of tensor products gives back whose fillers and roles
    are all orthogonal, unbound with the asked role's row of e^C."""
    roles = torch.eye(ROLES, dtype=torch.float64)
    fillers = torch.eye(ENTITIES, dtype=torch.float64)
    memory = superpose(TensorProduct(), given.edges, weights, roles, fillers)  # (B, ROLES · ENTITIES)
    return TensorProduct().unbind(given.channel.affinity[given.asked].exp(), memory)  # (B, ENTITIES)


def mass_on_fillers(copied: Recalled) -> Tensor:
    mass = torch.zeros(QUERIES, ENTITIES, dtype=torch.float64)
    return mass.index_put((copied.query, copied.fillers), copied.log_edge.exp(), accumulate=True)


@given(seed=SEEDS)
@LAW
def test_is_a_tensor_product_memory_with_orthogonal_fillers(seed: int) -> None:
    given = problem(seed)
    copied = given.copied()
    weights = suitability(given).exp().masked_fill(given.absent, 0.0)
    memory = one_hot_memory(given, weights)
    null = given.channel.null[given.asked].exp()
    before_softmax = mass_on_fillers(copied) / copied.log_null.exp()[:, None] * null[:, None]
    torch.testing.assert_close(before_softmax, memory)
    total = memory.sum(1) + null
    torch.testing.assert_close(copied.log_null.exp(), null / total)


@given(seed=SEEDS)
@LAW
def test_what_is_recalled_is_additive_in_facts(seed: int) -> None:
    given = problem(seed)

    def coefficients(kept: Tensor) -> Tensor:
        copied = given.copied(given.edges.select(kept), torch.zeros(int(kept.sum()), dtype=torch.bool))
        return mass_on_fillers(copied) / copied.log_null.exp()[:, None]

    half = torch.rand(EDGES, generator=generator(seed)) < 0.5
    whole = coefficients(torch.ones(EDGES, dtype=torch.bool))
    torch.testing.assert_close(coefficients(half) + coefficients(~half), whole)


@given(seed=SEEDS)
@LAW
def test_absent_edges_might_as_well_not_be_there(seed: int) -> None:
    given = problem(seed)
    copied, absent = given.copied(), given.absent
    rest = given.copied(given.edges.select(~absent), torch.zeros(int((~absent).sum())).bool())
    assert (copied.log_edge[absent] == -math.inf).all()
    torch.testing.assert_close(copied.log_edge[~absent], rest.log_edge)
    torch.testing.assert_close(copied.log_null, rest.log_null)


@given(seed=SEEDS)
@LAW
def test_mixing_is_the_naive_formula_and_sums_to_one(seed: int) -> None:
    given = problem(seed)
    copied, suits = given.copied(), suitability(given)
    dense = normal(generator(seed), QUERIES, ENTITIES).softmax(1)
    affinity, nulls = given.channel.affinity.tolist(), given.channel.null.tolist()
    expected = torch.zeros_like(dense)
    for query in range(QUERIES):
        logits = {
            c: affinity[given.asked[query]][role] + suits[c].item()
            for c, (owner, role, _) in enumerate(as_tuples(given.edges))
            if owner == query and not given.absent[c]
        }
        null = math.exp(nulls[given.asked[query]])
        total = null + sum(math.exp(logit) for logit in logits.values())
        expected[query] = null / total * dense[query]
        for c, logit in logits.items():
            expected[query, given.edges.fillers[c]] += math.exp(logit) / total
    mixed = copied.mixed_with(dense.log())
    torch.testing.assert_close(mixed, expected.log())
    torch.testing.assert_close(mixed.exp().sum(1), torch.ones(QUERIES, dtype=torch.float64))
    for entity in range(ENTITIES):
        target = torch.full((QUERIES,), entity)
        torch.testing.assert_close(copied.log_mass_on(target).exp(), mass_on_fillers(copied)[:, entity])


def test_an_empty_neighborhood_leaves_everything_to_the_dense_channel() -> None:
    channel = ExactChannel(ROLES, DE).double()
    edges = Edges(NONE, NONE, NONE, num_queries=2)
    copied = run(channel, torch.tensor([1, 3]), edges, NONE.bool(), bystanders(2))
    assert copied.log_null.tolist() == [0.0, 0.0]
    dense = normal(generator(0), 2, ENTITIES).log_softmax(1)
    torch.testing.assert_close(copied.mixed_with(dense), dense)
    assert copied.log_mass_on(torch.tensor([0, 1])).tolist() == [-math.inf, -math.inf]


@pytest.mark.parametrize("absent", [False, True])
def test_gradients_are_finite_whatever_is_missing(absent: bool) -> None:
    """An entity without edges, one whose edges are all absent, fillers that no edge leads to."""
    channel = ExactChannel(ROLES, DE).double()
    edges = Edges(torch.tensor([0, 2]), torch.tensor([1, 1]), torch.tensor([1, 1]), num_queries=3)
    dense = normal(generator(0), 3, ENTITIES).requires_grad_()
    asked = torch.tensor([0, 1, 2])
    copied = run(channel, asked, edges, torch.tensor([absent, True]), bystanders(3, scale=400))
    for value in (
        copied.mixed_with(dense.log_softmax(1)).square().sum(),
        torch.logaddexp(copied.log_mass_on(torch.tensor([1, 1, 1])), copied.log_null + dense[:, 1]).sum(),
    ):
        inputs = (*channel.parameters(), dense)
        gradients = torch.autograd.grad(value, inputs, retain_graph=True, allow_unused=True)
        assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)
        assert gradients[-1] is not None
        assert gradients[-1].any()


def test_gradients_of_the_mixture() -> None:
    given = problem(0)
    channel, asked, edges = given.channel, given.asked, given.edges
    dense = normal(generator(1), QUERIES, ENTITIES)

    def mixture(affinity: Tensor, null: Tensor, weights: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        # the module's own parameters are left alone: gradcheck wants a function of its inputs
        logits = affinity[asked[edges.query], edges.roles] + weights
        copied = copy(logits, null[asked], given.absent, edges.fillers, edges.query)
        return copied.mixed_with(scores.log_softmax(1)), copied.log_mass_on(edges.fillers[:QUERIES]).exp()

    parts = (channel.affinity, channel.null, suitability(given), dense)
    inputs = [each.detach().clone().requires_grad_() for each in parts]
    assert torch.autograd.gradcheck(mixture, inputs)
    torch.testing.assert_close(mixture(*inputs)[0], given.copied().mixed_with(dense.log_softmax(1)))


entries = st.tuples(st.integers(0, 3), st.floats(-50, 50) | st.just(-math.inf))


def test_every_coefficient_learns() -> None:
    given = problem(0)
    given.copied().log_null.sum().backward()  # type: ignore[no-untyped-call]
    for parameter in given.channel.parameters():
        assert parameter.grad is not None
        assert parameter.grad.any()


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
    copied = run(ExactChannel(ROLES, DE).double(), torch.tensor([1]), edges, torch.zeros(3).bool(), bystanders(1))
    assert copied.log_edge.exp().tolist() == pytest.approx([0.25] * 3)
    assert copied.log_null.exp().tolist() == pytest.approx([0.25])


def test_can_start_from_the_confidence_of_rules() -> None:
    """A single edge is then copied with the confidence of its rule; what no rule speaks for, hardly ever."""
    channel = ExactChannel(ROLES, DE).double()
    channel.start_from(torch.tensor([2 * ROLES + 1, 4 * ROLES + 1]), torch.tensor([0.75, 1.0]))
    for role, expected in ((2, 0.75), (4, 1 / (1 + math.exp(-5))), (3, 1 / (1 + math.exp(5)))):
        edges = Edges(torch.tensor([role]), torch.tensor([1]), torch.tensor([0]), num_queries=1)
        copied = run(channel, torch.tensor([1]), edges, torch.zeros(1).bool(), bystanders(1))
        assert copied.log_edge.exp().tolist() == pytest.approx([expected])
