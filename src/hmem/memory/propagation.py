"""Propagation: the memories of neighbors in the place of their identity vectors, one question at a time.

    M_v    = Σ_{(s, r, v)} ρ_r ⊙ h_s                superposed Hadamard bindings, one for each edge into v
    h'_v   = h_v + ReLU(LN(A·[mean, std of the bindings] · {1, log-degree, 1/log-degree} + B·h_v))

States are (N, B, D): every entity has one for each of the B questions. An edge that must not be seen has the role Q,
whose vector is zero, and does not count in the degrees: otherwise the answer is the entity with one edge too many.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, layer_norm

try:
    from hmem.memory.propagation_kernels import fused_step
except ImportError:  # no Triton
    fused_step = None  # type: ignore[assignment]

EPSILON = 1e-6  # the least variance
CHUNK = 64  # edges that one program of a GPU sums
PARTS = 7  # matrices of a step: mean and std, each plain, times and over the degree scale; and the entity's own state
MOST_CELLS = 20_000_000  # of the table from which the meetings of roles are counted, at a time
FEW = 0.2  # share of the entities up to which only edges from those that a walk has reached are looked at


@dataclass(frozen=True, eq=False, slots=True)
class Chunks:
    """Sorted edges in runs of one owner each; an owner of several runs is a hub."""

    start: Int[Tensor, " c"]
    stop: Int[Tensor, " c"]
    node: Int[Tensor, " c"]  # the owner
    slot: Int[Tensor, " c"]  # its place among the hubs; −1 if it has this run alone
    hubs: Int[Tensor, " h"]

    @classmethod
    def of(cls, owners: Int[Tensor, " e"], num_owners: int) -> "Chunks":
        """Runs of at most `CHUNK` edges; an owner without edges has one empty run."""
        counts = torch.bincount(owners, minlength=num_owners)
        runs = (counts + CHUNK - 1).div(CHUNK, rounding_mode="floor").clamp_min(1)
        node = torch.repeat_interleave(runs)
        within = torch.arange(len(node), device=owners.device) - (runs.cumsum(0) - runs)[node]
        begin = counts.cumsum(0) - counts
        start = begin[node] + within * CHUNK
        stop = torch.minimum(start + CHUNK, (begin + counts)[node])
        hubs = (runs > 1).nonzero().squeeze(1)
        slot = torch.full((num_owners,), -1, device=owners.device)
        slot[hubs] = torch.arange(len(hubs), device=owners.device)
        # The longest runs first, so that the last programs of a launch are short ones.
        order = torch.argsort(stop - start, descending=True, stable=True)
        start, stop, node, slot = (each[order].int() for each in (start, stop, node, slot[node]))
        return cls(start, stop, node, slot, hubs.int())


class Links:
    """Every edge of a graph in the orders that a step and its gradient need; both directions of a fact are edges."""

    def __init__(
        self, source: Int[Tensor, " e"], role: Int[Tensor, " e"], target: Int[Tensor, " e"], num_entities: int,
        num_roles: int,
    ) -> None:  # fmt: skip
        order = torch.argsort(target * num_entities + source)  # by target, and all edges of a pair side by side
        self.num_entities, self.num_roles = num_entities, num_roles
        self.source, self.target = source[order].int(), target[order].int()
        self.role = role[order].int()
        self.pair = target[order] * num_entities + source[order]
        self.into = Chunks.of(self.target, num_entities)
        self._by_source = torch.argsort(self.source, stable=True)
        self._by_role = torch.argsort(self.role, stable=True)
        self.out_of = Chunks.of(self.source[self._by_source], num_entities)
        along = Chunks.of(self.role[self._by_role], num_roles)
        self.along = along
        self.target_by_source, self.role_by_source = self.target[self._by_source], self.role[self._by_source]
        self.source_by_role, self.target_by_role = self.source[self._by_role], self.target[self._by_role]
        self.role_by_role = self.role[self._by_role]
        self._count()

    def _count(self) -> None:
        kept = (self.role < self.num_roles).float()
        self.degree = torch.zeros(self.num_entities, device=kept.device).index_add(0, self.target, kept)
        logarithm = (self.degree + 1).log()
        self.scale = logarithm / logarithm.mean()

    @cached_property
    def bindings(self) -> "Bindings":
        """The edges as sums of rows want them, where there is no kernel of our own."""
        return Bindings(self)

    @cached_property
    def meetings(self) -> "Links":
        """The graph of roles: an edge for each two that meet at an entity, in one of five ways.

        Both lead out of it; the first leads to where the second leads out of, or the other way round; both lead to it;
        and each role meets its inverse.
        """
        Q, device = self.num_roles, self.source.device
        together = torch.zeros(Q, Q, device=device)
        rows = max(1, MOST_CELLS // Q)
        for low in range(0, self.num_entities, rows):
            some = (self.source >= low) & (self.source < low + rows) & (self.role < Q)
            leads_out = torch.zeros(min(rows, self.num_entities - low), Q, device=device)
            leads_out[self.source[some].long() - low, self.role[some].long()] = 1
            together += leads_out.mT @ leads_out
        meet, inverse = together > 0, torch.arange(Q, device=device).roll(Q // 2)
        same = torch.eye(Q, dtype=torch.bool, device=device)
        ways = [meet & ~same, meet[inverse], meet[:, inverse], meet[inverse][:, inverse] & ~same, same[inverse]]
        edges = [way.nonzero() for way in ways]
        kind = torch.repeat_interleave(torch.tensor([len(each) for each in edges], device=device))
        first, second = torch.cat(edges).unbind(1)
        return Links(first, kind, second, Q, len(ways))

    def without(self, hidden: Bool[Tensor, " e"]) -> "Links":
        """The same graph with some edges hidden, and out of the degrees."""
        made = object.__new__(Links)
        made.__dict__.update(self.__dict__)
        made.__dict__.pop("bindings", None)
        made.role = self.role.masked_fill(hidden, self.num_roles)
        made.role_by_source = made.role[self._by_source]
        made.role_by_role = made.role[self._by_role]
        made._count()
        return made

    def between(self, u: Int[Tensor, " B"], v: Int[Tensor, " B"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """The edges from each u to its v, as (which pair, which edge)."""
        wanted = v * self.num_entities + u
        low = torch.searchsorted(self.pair, wanted)
        counts = torch.searchsorted(self.pair, wanted, right=True) - low
        which = torch.repeat_interleave(counts)
        return which, torch.arange(len(which), device=u.device) + (low - (counts.cumsum(0) - counts))[which]


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """The parameters of one step."""

    mixing: Float[Tensor, "7 D D"]
    bias: Float[Tensor, " D"]
    gain: Float[Tensor, " D"]  # of the layer norm
    shift: Float[Tensor, " D"]


@dataclass(frozen=True, eq=False, slots=True)
class Bags:
    """Rows to be summed: those at `indices`, in runs that begin at `offsets`."""

    indices: Int[Tensor, " n"]
    offsets: Int[Tensor, " bags"]

    @classmethod
    def of(cls, indices: Int[Tensor, " n"], owners: Int[Tensor, " n"], num_owners: int) -> "Bags":
        """One bag for each owner; `owners` are sorted."""
        counts = torch.bincount(owners, minlength=num_owners)
        return cls(indices, counts.cumsum(0) - counts)

    def sum(self, rows: Float[Tensor, "m K"]) -> Float[Tensor, "bags K"]:
        return embedding_bag(self.indices, rows, self.offsets, mode="sum")


class Bindings:
    """The edges as bindings: every (source, role) pair is bound once, however many entities it leads to."""

    def __init__(self, links: "Links") -> None:
        kept = links.role < links.num_roles
        source, role, target = links.source[kept].long(), links.role[kept].long(), links.target[kept].long()
        pairs, pair = torch.unique(source * links.num_roles + role, return_inverse=True)
        self.source, self.role = pairs // links.num_roles, pairs % links.num_roles
        self.into = Bags.of(pair, target, links.num_entities)  # bindings by the entity they reach
        by_pair = torch.argsort(pair, stable=True)
        self.out_of = Bags.of(target[by_pair], pair[by_pair], len(pairs))  # the entities that each binding reaches
        every = torch.arange(len(pairs), device=pairs.device)
        self.of_source = Bags.of(every, self.source, links.num_entities)
        by_role = torch.argsort(self.role, stable=True)
        self.of_role = Bags.of(by_role, self.role[by_role], links.num_roles)


class Superpose(torch.autograd.Function):
    """Σ ρ_r ⊙ h_s over the edges into each entity, and the sum of the squares; both sums of rows, there and back."""

    @staticmethod
    def forward(
        ctx: Any, states: Float[Tensor, "N K"], roles: Float[Tensor, "Q K"], bindings: Bindings
    ) -> tuple[Float[Tensor, "N K"], Float[Tensor, "N K"]]:
        ctx.save_for_backward(states, roles)
        ctx.bindings = bindings
        bound = states.index_select(0, bindings.source) * roles.index_select(0, bindings.role)  # (P, K)
        return bindings.into.sum(bound), bindings.into.sum(bound * bound)

    @staticmethod
    def backward(ctx: Any, of_total: Float[Tensor, "N K"], of_squares: Float[Tensor, "N K"]) -> Any:
        (states, roles), bindings = ctx.saved_tensors, ctx.bindings
        filler, role = states.index_select(0, bindings.source), roles.index_select(0, bindings.role)  # (P, K)
        of_bound = bindings.out_of.sum(of_total) + 2 * filler * role * bindings.out_of.sum(of_squares)
        return bindings.of_source.sum(of_bound * role), bindings.of_role.sum(of_bound * filler), None


def superpose(
    states: Float[Tensor, "N K"], roles: Float[Tensor, "Q K"], links: Links
) -> tuple[Float[Tensor, "N K"], Float[Tensor, "N K"]]:
    """The sums over the edges into each entity; without gradients, edges from states of zero cost nothing."""
    bindings, reached = links.bindings, (states != 0).any(1)
    if torch.is_grad_enabled() or reached.float().mean() > FEW:
        return Superpose.apply(states, roles, bindings)  # type: ignore[no-untyped-call, no-any-return]
    pair = reached.index_select(0, bindings.source).nonzero().squeeze(1)
    bound = states.index_select(0, bindings.source[pair]) * roles.index_select(0, bindings.role[pair])
    offsets = torch.cat([bindings.out_of.offsets, bindings.out_of.indices.new_tensor([len(bindings.out_of.indices)])])
    counts = offsets[pair + 1] - offsets[pair]
    which = torch.repeat_interleave(counts)
    edge = torch.arange(len(which), device=which.device) + (offsets[pair] - (counts.cumsum(0) - counts))[which]
    target, rows = bindings.out_of.indices[edge], bound.index_select(0, which)
    nothing = torch.zeros_like(states)
    return nothing.index_add(0, target, rows), nothing.index_add(0, target, rows * rows)


def plain_step(
    states: Float[Tensor, "N B D"],
    roles: Float[Tensor, "Q B D"],
    start: Float[Tensor, "B D"],
    parameters: Step,
    links: Links,
    asked: Int[Tensor, " B"],
) -> Float[Tensor, "N B D"]:
    """One step on any device and in any precision."""
    N, B, D = states.shape
    sums = superpose(states.reshape(N, B * D), roles.reshape(-1, B * D), links)
    total, squares = (each.view(N, B, D) for each in sums)
    each = torch.arange(B, device=states.device)
    total = total.index_put((asked, each), start, accumulate=True)
    squares = squares.index_put((asked, each), start * start, accumulate=True)
    count = (links.degree + 1).to(states.dtype)[:, None, None]
    mean = total / count
    std = (squares / count - mean * mean).clamp_min(EPSILON).sqrt()
    up = links.scale.to(states.dtype)[:, None, None]
    mixing = parameters.mixing
    plain, scaled, divided = (mixing[place : place + 2].reshape(2 * D, D) for place in (0, 2, 4))
    parts = torch.cat([mean, std], 2) @ torch.cat([plain, scaled, divided], 1)  # (N, B, 3D)
    y = parts[..., :D] + up * parts[..., D : 2 * D] + parts[..., 2 * D :] / (up + 0.01) + states @ mixing[6]
    added = layer_norm(y + parameters.bias, (D,), parameters.gain, parameters.shift).relu()
    is_reached = ((mean != 0) | (states != 0)).any(2, keepdim=True)
    return states + added.where(is_reached, 0.0)


def step(
    states: Float[Tensor, "N B D"],
    roles: Float[Tensor, "Q B D"],
    start: Float[Tensor, "B D"],
    parameters: Step,
    links: Links,
    asked: Int[Tensor, " B"],
) -> Float[Tensor, "N B D"]:
    """The next states, by the fastest way that this device has."""
    if not states.is_cuda or fused_step is None:
        return plain_step(states, roles, start, parameters, links, asked)
    hidden = roles.new_zeros(1, *roles.shape[1:])  # the vector of the edges that must not be seen
    each = parameters.mixing, parameters.bias, parameters.gain, parameters.shift
    return fused_step(states, torch.cat([roles, hidden]), start, *each, links, asked)
