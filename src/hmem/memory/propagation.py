"""Propagation: the memories of neighbors in the place of their identity vectors, one question at a time.

    M_v    = Σ_{(s, r, v)} ρ_r ⊙ h_s                superposed Hadamard bindings, one for each edge into v
                                                    (times w, and w in the degree, for one with a confidence w)
    h'_v   = h_v + ReLU(LN(A·[mean, std of the bindings] · {1, log-degree, 1/log-degree} + B·h_v))

States are (N, B, D): every entity has one for each of the B questions, and it stays zero until a walk from the asked
entity arrives.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import layer_norm, pad

from hmem.memory.edge_orders import Bindings
from hmem.memory.links import Links

try:
    from hmem.memory.propagation_kernels import fused_step
except ImportError:  # no Triton
    fused_step = None  # type: ignore[assignment]

EPSILON = 1e-6  # the least variance
PARTS = 7  # matrices of a step: mean and std, each plain, times and over the degree scale; and the entity's own state
FEW = 0.3  # share of the edges up to which only those out of entities that a walk has reached are looked at
FUSED = (16, 32)  # dimensions that the kernels take


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """The parameters of one step."""

    mixing: Float[Tensor, "7 D D"]
    bias: Float[Tensor, " D"]
    gain: Float[Tensor, " D"]  # of the layer norm
    shift: Float[Tensor, " D"]


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """Where the walks of some questions begin, with what, and the edges that they go along."""

    links: Links
    asked: Int[Tensor, " B"]
    start: Float[Tensor, "B D"]


class Superpose(torch.autograd.Function):
    """Σ ρ_r ⊙ h_s over the edges into each entity, and the sum of the squares; both sums of rows, there and back."""

    @staticmethod
    def forward(
        ctx: Any, states: Float[Tensor, "N K"], roles: Float[Tensor, "Q K"], bindings: Bindings
    ) -> tuple[Float[Tensor, "N K"], Float[Tensor, "N K"]]:
        ctx.save_for_backward(states, roles)
        ctx.bindings = bindings
        bound = states.index_select(0, bindings.source).mul_(roles.index_select(0, bindings.role))  # (P, K)
        return bindings.into.sum(bound), bindings.into.sum(bound.square_())

    @staticmethod
    def backward(ctx: Any, of_total: Float[Tensor, "N K"], of_squares: Float[Tensor, "N K"]) -> Any:
        (states, roles), bindings = ctx.saved_tensors, ctx.bindings
        filler, role = states.index_select(0, bindings.source), roles.index_select(0, bindings.role)  # (P, K)
        of_bound = bindings.out_of.sum(of_total).addcmul_(filler * role, bindings.out_of.sum(of_squares), value=2)
        return bindings.of_source.sum(role.mul_(of_bound)), bindings.of_role.sum(filler.mul_(of_bound)), None


def plain_step(
    states: Float[Tensor, "N B D"], roles: Float[Tensor, "Q B D"], origin: Origin, parameters: Step
) -> Float[Tensor, "N B D"]:
    """One step on any device and in any precision."""
    (N, B, D), links = states.shape, origin.links
    flat = states[: links.num_built].reshape(-1, B * D)
    sums = Superpose.apply(flat, roles.reshape(-1, B * D), links.bindings)  # type: ignore[no-untyped-call]
    total, squares = (pad(each.view(-1, B, D), (0, 0, 0, 0, 0, N - links.num_built)) for each in sums)
    if links.patch is not None:
        patch = links.patch
        of_total, of_squares = patch.sums(states.index_select(0, patch.source), roles)
        total = total.index_copy(0, patch.targets, of_total)
        squares = squares.index_copy(0, patch.targets, of_squares)
    return mixed(states, total, squares, origin, parameters, torch.arange(N, device=states.device))


def mixed(
    states: Float[Tensor, "n B D"],
    total: Float[Tensor, "n B D"],
    squares: Float[Tensor, "n B D"],
    origin: Origin,
    parameters: Step,
    nodes: Int[Tensor, " n"],
) -> Float[Tensor, "n B D"]:
    """The next states of some entities, from the sums of the bindings that reach them and their present states.

    `nodes` are the entities, in order; the asked ones are among them.
    """
    (n, B, D), links, start = states.shape, origin.links, origin.start
    here = torch.searchsorted(nodes, origin.asked.contiguous()), torch.arange(B, device=nodes.device)
    total = total.index_put(here, start, accumulate=True)
    squares = squares.index_put(here, start * start, accumulate=True)
    node, question = ((total != 0) | (states != 0)).any(2).nonzero().unbind(1)  # (m,) where a walk has arrived
    row = node * B + question
    total, squares, before = (every.reshape(-1, D).index_select(0, row) for every in (total, squares, states))
    degree, up = (every.to(states.dtype)[nodes[node]] for every in (links.degree, links.scale))
    if degree.dim() == 2:  # some edges are hidden from some questions
        place = question.clamp_max(degree.shape[1] - 1)[:, None]
        degree, up = degree.gather(1, place).squeeze(1), up.gather(1, place).squeeze(1)
    count, up = degree[:, None] + 1, up[:, None]
    mean = total / count
    std = (squares / count - mean * mean).clamp_min(EPSILON).sqrt()
    mixing = parameters.mixing
    plain, scaled, divided = (mixing[place : place + 2].reshape(2 * D, D) for place in (0, 2, 4))
    parts = torch.cat([mean, std], 1) @ torch.cat([plain, scaled, divided], 1)  # (m, 3D)
    y = parts[:, :D] + up * parts[:, D : 2 * D] + parts[:, 2 * D :] / (up + 0.01) + before @ mixing[6]
    after = before + layer_norm(y + parameters.bias, (D,), parameters.gain, parameters.shift).relu()
    return states.reshape(-1, D).index_copy(0, row, after).view(n, B, D)


@dataclass(frozen=True, eq=False, slots=True)
class Reached:
    """The states of the entities that some walk may have reached; all others are zero."""

    nodes: Int[Tensor, " n"]  # in order
    states: Float[Tensor, "n B D"]
    sureness: Float[Tensor, "n B"] | None = None  # of the surest walk to each; None where all edges are quite sure


class Sureness:
    """How sure the surest walk is that has arrived at each entity: the product of the weights of its edges.

    The layer norm makes the first message as loud as any, however little its edge weighs. So where there are weights,
    what a step adds to a state is multiplied with the sureness of the walks that have arrived.
    """

    def __init__(self, origin: Origin) -> None:
        links, asked = origin.links, origin.asked
        seen, patch = links.role < links.num_roles, links.patch
        if patch is not None:
            seen = seen & ~torch.isin(links.target, patch.targets)
        self._source, self._target = links.source[seen].long(), links.target[seen].long()
        self._weight = torch.ones_like(self._source, dtype=torch.float32)[:, None]
        if links.weight is not None:
            self._weight = links.weight[seen][:, None]
        self._patch = patch
        each = torch.arange(len(asked), device=asked.device)
        blank = torch.zeros(links.num_entities, len(asked), device=asked.device)
        self.present = blank.index_put((asked, each), torch.ones(len(asked), device=asked.device))  # (N, B)

    def step(self) -> Float[Tensor, "N B"]:
        """After one step more."""
        before = self.present
        arrived = before[self._source] * self._weight
        self.present = before.scatter_reduce(0, self._target[:, None].expand_as(arrived), arrived, "amax")
        if self._patch is not None:
            target, seen = self._patch.targets[self._patch.row], self._patch.seen
            arrived = before[self._patch.source] * seen
            self.present = self.present.scatter_reduce(0, target[:, None].expand_as(arrived), arrived, "amax")
        return self.present

    def damped(self, before: Reached, after: Reached) -> Reached:
        """A step whose additions count as much as the walks are sure."""
        sure = self.step()[after.nodes].to(after.states.dtype)
        place = torch.searchsorted(after.nodes, before.nodes)
        states = torch.zeros_like(after.states).index_copy(0, place, before.states)
        return Reached(after.nodes, states + (after.states - states) * sure[:, :, None], sure)


def sparse_step(reached: Reached, roles: Float[Tensor, "Q B D"], origin: Origin, parameters: Step) -> Reached | None:
    """One step along the edges out of the entities reached so far; None if these are many, so that all are as quick."""
    nodes, states, links = reached.nodes, reached.states, origin.links
    bindings, patch = links.bindings, links.patch
    built = nodes[nodes < links.num_built]
    which, pair = bindings.of_source.of_some(built)
    pair = bindings.of_source.indices[pair]
    bound_by, edge = bindings.out_of.of_some(pair)
    target = bindings.out_of.indices[edge]
    if len(target) > FEW * len(links.source):
        return None
    is_near = torch.zeros(links.num_entities, dtype=torch.bool, device=nodes.device)
    is_near[nodes] = is_near[target] = is_near[origin.asked] = True
    if patch is not None:
        is_near[patch.targets] = True
    near = is_near.nonzero().squeeze(1)
    place = torch.empty_like(is_near, dtype=torch.int64)  # of each near entity among them
    place[near] = torch.arange(len(near), device=near.device)
    bound = states[which] * roles.index_select(0, bindings.role[pair])  # (P, B, D)
    rows, nothing = bound.index_select(0, bound_by), states.new_zeros(len(near), *states.shape[1:])
    each = rows, rows * rows
    if bindings.out_of.weight is not None:
        weight = bindings.out_of.weight[edge, None, None].to(rows.dtype)
        each = rows * weight, rows * rows * weight
    total, squares = (nothing.index_add(0, place[target], part) for part in each)
    before = nothing.index_copy(0, place[nodes], states)
    if patch is not None:
        is_there = is_near[patch.source]
        sources = before[torch.where(is_there, place[patch.source], 0)].where(is_there[:, None, None], 0.0)
        of_total, of_squares = patch.sums(sources, roles)
        total = total.index_copy(0, place[patch.targets], of_total)
        squares = squares.index_copy(0, place[patch.targets], of_squares)
    return Reached(near, mixed(before, total, squares, origin, parameters, near))


def step(
    states: Float[Tensor, "N B D"], roles: Float[Tensor, "Q B D"], origin: Origin, parameters: Step
) -> Float[Tensor, "N B D"]:
    """The next states, by the fastest way that this device has."""
    if not is_fused(states) or not origin.links.is_plain:
        return plain_step(states, roles, origin, parameters)
    hidden = roles.new_zeros(1, *roles.shape[1:])  # the vector of the edges that must not be seen
    each = parameters.mixing, parameters.bias, parameters.gain, parameters.shift
    return fused_step(states, torch.cat([roles, hidden]), origin.start, *each, origin.links, origin.asked)


def is_fused(states: Float[Tensor, "*shape"]) -> bool:
    """Whether the kernels take states like these."""
    return states.is_cuda and fused_step is not None and states.shape[-1] in FUSED


class Steps(nn.Module):
    """The steps of one propagation.

    Here and in `hmem.model` parameters are scaled in place: on the device `meta`, where a folder is checked, other
    arithmetic would import half of torch, for a second.
    """

    def __init__(self, dim: int, steps: int) -> None:
        super().__init__()
        self.mixing = nn.Parameter(torch.randn(steps, PARTS, dim, dim).div_(math.sqrt(PARTS * dim)))
        self.bias = nn.Parameter(torch.zeros(steps, dim))
        self.gain = nn.Parameter(torch.ones(steps, dim))
        self.shift = nn.Parameter(torch.zeros(steps, dim))

    def forward(self, origin: Origin, roles: Sequence[Float[Tensor, "Q B D"]]) -> Reached:
        """The states after all steps, of which each has role vectors of its own.

        Before the first there is `start` at the asked nodes and nothing elsewhere.
        """
        start = origin.start
        nodes, place = torch.unique(origin.asked, return_inverse=True)
        here = place, torch.arange(len(start), device=start.device)
        reached = Reached(nodes, start.new_zeros(len(nodes), *start.shape).index_put(here, start))
        parameters = [Step(*each) for each in zip(self.mixing, self.bias, self.gain, self.shift, strict=True)]
        sureness = None if origin.links.is_sure else Sureness(origin)
        is_everywhere = False  # whether every entity has a state
        for vectors, now in zip(roles, parameters, strict=True):
            after = None if is_everywhere or start.is_cuda else sparse_step(reached, vectors, origin, now)
            if after is None:
                if not is_everywhere:
                    reached, is_everywhere = _everywhere(reached, origin.links), True
                after = Reached(reached.nodes, step(reached.states, vectors, origin, now))
            reached = after if sureness is None else sureness.damped(reached, after)
        return reached


def _everywhere(reached: Reached, links: Links) -> Reached:
    """The same with a state for every entity, as a step wants them that goes along all edges."""
    states = reached.states.new_zeros(links.num_entities, *reached.states.shape[1:])
    states = states.index_copy(0, reached.nodes, reached.states)
    if is_fused(states) and links.is_plain:
        states = states.bfloat16()
    return Reached(torch.arange(links.num_entities, device=states.device), states)
