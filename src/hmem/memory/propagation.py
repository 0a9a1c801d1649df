"""Propagation: the memories of neighbors in the place of their identity vectors, one question at a time.

    M_v    = Σ_{(s, r, v)} ρ_r ⊙ h_s                superposed Hadamard bindings, one for each edge into v
    h'_v   = h_v + ReLU(LN(A·[mean, std of the bindings] · {1, log-degree, 1/log-degree} + B·h_v))

States are (N, B, D): every entity has one for each of the B questions, and it stays zero until a walk from the asked
entity arrives. In training an edge that must not be seen has the role Q, whose vector is zero, and does not count in
the degrees: otherwise the answer is the entity with one edge too many. Afterwards the edges into some entities are
patched: those that came or went since the graph was built, and those that a question must be answered without.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, layer_norm, pad

try:
    from hmem.memory.propagation_kernels import fused_step
except ImportError:  # no Triton
    fused_step = None  # type: ignore[assignment]

EPSILON = 1e-6  # the least variance
CHUNK = 64  # edges that one program of a GPU sums
PARTS = 7  # matrices of a step: mean and std, each plain, times and over the degree scale; and the entity's own state
MOST_CELLS = 10_000_000  # meetings of roles that are counted at a time
FEW = 0.3  # share of the edges up to which only those out of entities that a walk has reached are looked at
FUSED = (16, 32)  # dimensions that the kernels take


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


@dataclass(frozen=True, eq=False, slots=True)
class Patch:
    """The edges into some entities, in the place of those that the graph was built with."""

    targets: Int[Tensor, " T"]  # in order
    row: Int[Tensor, " n"]  # which of the targets an edge leads to, in order
    source: Int[Tensor, " n"]
    role: Int[Tensor, " n"]
    keep: Bool[Tensor, "n B"] | None = None  # which questions see the edge; None for all

    @property
    def degree(self) -> Float[Tensor, "T _"]:
        """How many edges lead to each target, in each question if it matters."""
        seen = torch.ones(len(self.row), 1, device=self.row.device) if self.keep is None else self.keep.float()
        return seen.new_zeros(len(self.targets), seen.shape[1]).index_add(0, self.row, seen)

    def sums(
        self, states: Float[Tensor, "n B D"], roles: Float[Tensor, "Q B D"]
    ) -> tuple[Float[Tensor, "T B D"], Float[Tensor, "T B D"]]:
        """The sum of the bindings that reach each target, and of their squares; `states` are those of the sources."""
        bound = states * roles.index_select(0, self.role)
        if self.keep is not None:
            bound = bound.where(self.keep[:, :, None], 0.0)
        nothing = bound.new_zeros(len(self.targets), *bound.shape[1:])
        return nothing.index_add(0, self.row, bound), nothing.index_add(0, self.row, bound * bound)


@dataclass(frozen=True, eq=False, slots=True)
class Beyond:
    """What the degrees in a part of a graph owe to the rest of it."""

    edges: Float[Tensor, " N"]  # into each entity of the part, from entities that are not in it
    log_sum: Float[Tensor, ""]  # the logarithms of the degrees of all other entities
    num_linked: Int[Tensor, ""]  # how many of them have edges


@dataclass(frozen=True, eq=False, slots=True)
class Orders:
    """The edges in the orders in which the kernels go through them: by target, by source and by role."""

    by_source: Int[Tensor, " e"]
    by_role: Int[Tensor, " e"]
    into: Chunks
    out_of: Chunks
    along: Chunks
    target_by_source: Int[Tensor, " e"]
    source_by_role: Int[Tensor, " e"]
    target_by_role: Int[Tensor, " e"]

    @classmethod
    def of(cls, links: "Links") -> "Orders":
        by_source, by_role = (torch.argsort(each, stable=True) for each in (links.source, links.role))
        into = Chunks.of(links.target, links.num_built)
        out_of = Chunks.of(links.source[by_source], links.num_built)
        along = Chunks.of(links.role[by_role], links.num_roles + 1)  # the last for edges that are hidden
        target_by_source, target_by_role = links.target[by_source], links.target[by_role]
        return cls(by_source, by_role, into, out_of, along, target_by_source, links.source[by_role], target_by_role)


class Links:
    """Every edge of a graph, in order of the entity it leads to; both directions of a fact are edges."""

    def __init__(
        self, source: Int[Tensor, " e"], role: Int[Tensor, " e"], target: Int[Tensor, " e"], num_entities: int,
        num_roles: int,
    ) -> None:  # fmt: skip
        order = torch.argsort(target * num_entities + source)  # by target, and all edges of a pair side by side
        self.num_entities = self.num_built = num_entities  # a patched graph may have more than it was built with
        self.num_roles = num_roles
        self.source, self.target = source[order].int(), target[order].int()
        self.role = role[order].int()
        self.pair = target[order] * num_entities + source[order]
        self.patch: Patch | None = None
        self.beyond: Beyond | None = None  # of a part of a graph
        self.degree_built = torch.empty(0)  # without a patch
        self._count()

    def _count(self) -> None:
        """How many edges lead to each entity, in each question where they differ; and how that compares with others.

        Names without edges count for nothing, so that scores depend on the facts alone.
        """
        if self.patch is None:
            kept = (self.role < self.num_roles).float()
            degree = torch.zeros(self.num_entities, device=kept.device).index_add(0, self.target, kept)  # (N,)
        else:
            changed = self.patch.degree  # (T, B) or (T, 1)
            built = pad(self.degree_built, (0, self.num_entities - self.num_built))
            degree = built[:, None].repeat(1, changed.shape[1]).index_copy(0, self.patch.targets, changed)
        if self.patch is None:
            self.degree_built = degree
        if self.beyond is not None:
            degree = degree + (self.beyond.edges if degree.dim() == 1 else self.beyond.edges[:, None])
        logarithm = (degree + 1).log()
        log_sum, num_linked = logarithm.sum(0), (degree > 0).sum(0)
        if self.beyond is not None:
            log_sum, num_linked = log_sum + self.beyond.log_sum, num_linked + self.beyond.num_linked
        self.degree, self.log_sum, self.num_linked = degree, log_sum, num_linked
        self.scale = logarithm / (log_sum / num_linked.clamp_min(1)).clamp_min(EPSILON)

    @cached_property
    def bindings(self) -> "Bindings":
        """The edges as sums of rows want them, where there is no kernel of our own."""
        return Bindings(self)

    @cached_property
    def orders(self) -> Orders:
        """The edges as the kernels want them; one that is hidden keeps its place."""
        return Orders.of(self)

    @cached_property
    def role_by_source(self) -> Int[Tensor, " e"]:
        return self.role[self.orders.by_source]

    @cached_property
    def role_by_role(self) -> Int[Tensor, " e"]:
        return self.role[self.orders.by_role]

    @cached_property
    def meetings(self) -> "Links":
        """The graph of roles: an edge for each two that meet at an entity, in one of five ways.

        Both lead out of it; the first leads to where the second leads out of, or the other way round; both lead to it;
        and each role that occurs meets its inverse.
        """
        seen = self.role < self.num_roles
        together = meeting_counts(self.source[seen].long(), self.role[seen].long(), self.num_roles)
        return meetings_of(together > 0)

    def without(self, hidden: Bool[Tensor, " e"]) -> "Links":
        """The same graph with some edges hidden from all questions, and out of the degrees."""
        if self.source.is_cuda:
            self.orders  # noqa: B018  # made once, for all copies
        made = self._copy()
        for of_roles in ("bindings", "role_by_source", "role_by_role"):
            made.__dict__.pop(of_roles, None)
        made.role = self.role.masked_fill(hidden, self.num_roles)
        made._count()
        return made

    def part(self, nodes: Int[Tensor, " n"]) -> "Links":
        """Some entities, in order, and all edges between them, numbered by their places; degrees stay what they are."""
        edges = self.edges_into(nodes)
        place = torch.searchsorted(nodes, edges.source).clamp_max(len(nodes) - 1)
        inside = nodes[place] == edges.source
        made = Links(place[inside], edges.role[inside], edges.row[inside], len(nodes), self.num_roles)
        degree = self.degree.view(self.num_entities, -1)[nodes, 0]
        log_sum = self.log_sum.view(-1)[0] - (degree + 1).log().sum()
        made.beyond = Beyond(degree - made.degree, log_sum, self.num_linked.view(-1)[0] - (degree > 0).sum())
        made._count()
        made.__dict__["meetings"] = self.meetings
        return made

    def patched(self, patch: Patch, num_entities: int) -> "Links":
        """The same graph with other edges into some entities, and perhaps more entities."""
        made = self._copy()
        made.num_entities, made.patch = num_entities, patch
        made._count()
        return made

    def withholding(
        self, question: Int[Tensor, " n"], source: Int[Tensor, " n"], role: Int[Tensor, " n"],
        target: Int[Tensor, " n"], num_questions: int,
    ) -> "Links":  # fmt: skip
        """The same graph, where each of the given edges is hidden from one question."""
        patch = self.edges_into(torch.unique(torch.cat([target, self.patch.targets] if self.patch else [target])))
        N, Q = self.num_entities, self.num_roles
        edge = (patch.targets[patch.row] * N + patch.source) * Q + patch.role
        hidden = (target * N + source) * Q + role
        order = torch.argsort(edge)
        place = torch.searchsorted(edge[order], hidden).clamp_max(max(0, len(edge) - 1))
        is_there = edge[order][place] == hidden if len(edge) else torch.zeros_like(hidden, dtype=torch.bool)
        gone = order[place[is_there]]
        if num_questions == 1:
            kept = torch.ones(len(edge), dtype=torch.bool, device=edge.device).index_fill(0, gone, False)
            return self.patched(Patch(patch.targets, patch.row[kept], patch.source[kept], patch.role[kept]), N)
        keep = torch.ones(len(edge), num_questions, dtype=torch.bool, device=edge.device)
        keep[gone, question[is_there]] = False
        return self.patched(Patch(patch.targets, patch.row, patch.source, patch.role, keep), N)

    def edges_into(self, targets: Int[Tensor, " T"]) -> Patch:
        """The present edges into some entities, given in order."""
        low, high = (torch.searchsorted(self.target, (targets + step).int()) for step in (0, 1))
        if self.patch is not None:
            there = torch.isin(targets, self.patch.targets)
            high = torch.where(there, low, high)
        counts = high - low
        row = torch.repeat_interleave(counts)
        edge = torch.arange(len(row), device=row.device) + (low - (counts.cumsum(0) - counts))[row]
        edge, row = edge[self.role[edge] < self.num_roles], row[self.role[edge] < self.num_roles]
        source, role = self.source[edge].long(), self.role[edge].long()
        if self.patch is not None:
            assert self.patch.keep is None, "edges are withheld from questions once"
            asked = torch.isin(self.patch.targets, targets)[self.patch.row]
            new = torch.searchsorted(targets, self.patch.targets)[self.patch.row][asked]
            row, source, role = (
                torch.cat(each)
                for each in ((row, new), (source, self.patch.source[asked]), (role, self.patch.role[asked]))
            )
            order = torch.argsort(row, stable=True)
            row, source, role = row[order], source[order], role[order]
        return Patch(targets, row, source, role)

    def between(self, u: Int[Tensor, " B"], v: Int[Tensor, " B"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """The edges from each u to its v, as (which pair, which edge)."""
        wanted = v * self.num_built + u
        low = torch.searchsorted(self.pair, wanted)
        counts = torch.searchsorted(self.pair, wanted, right=True) - low
        which = torch.repeat_interleave(counts)
        return which, torch.arange(len(which), device=u.device) + (low - (counts.cumsum(0) - counts))[which]

    def _copy(self) -> "Links":
        made = object.__new__(Links)
        made.__dict__.update(self.__dict__)
        return made


def meeting_counts(owner: Int[Tensor, " e"], role: Int[Tensor, " e"], num_roles: int) -> Int[Tensor, "Q Q"]:
    """How many entities every two roles lead out of, given all edges by owner and role."""
    pairs = torch.unique(owner * num_roles + role)
    owner, role = pairs.div(num_roles, rounding_mode="floor"), pairs % num_roles
    _, beside = torch.unique_consecutive(owner, return_counts=True)  # roles of each owner
    first = (beside.cumsum(0) - beside).repeat_interleave(beside)  # where those of the same owner begin
    beside = beside.repeat_interleave(beside)
    counts = owner.new_zeros(num_roles**2)
    ends = beside.cumsum(0)
    low = 0
    while low < len(role):
        done = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(torch.searchsorted(ends, done + MOST_CELLS, right=True)))
        which = torch.repeat_interleave(torch.arange(low, high, device=role.device), beside[low:high])
        other = torch.arange(len(which), device=role.device) + (first - (ends - beside - done))[which]
        counts += torch.bincount(role[which] * num_roles + role[other], minlength=num_roles**2)
        low = high
    return counts.view(num_roles, num_roles)


def meetings_of(together: Bool[Tensor, "Q Q"]) -> Links:
    """The graph of roles, given which two lead out of the same entity; see `Links.meetings`."""
    Q, device = len(together), together.device
    inverse, same = torch.arange(Q, device=device).roll(Q // 2), torch.eye(Q, dtype=torch.bool, device=device)
    both_to = together[inverse][:, inverse]
    ways = [
        together & ~same,
        together[inverse],
        together[:, inverse],
        both_to & ~same,
        same[inverse] & together.diagonal(),
    ]
    edges = [way.nonzero() for way in ways]
    kind = torch.repeat_interleave(torch.tensor([len(each) for each in edges], device=device))
    first, second = torch.cat(edges).unbind(1)
    return Links(first, kind, second, Q, len(ways))


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

    def of_some(self, bags: Int[Tensor, " b"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """What lies in some of the bags: which of them, and the index."""
        low = self.offsets[bags]
        end = len(self.indices)
        after = torch.where(
            bags + 1 < len(self.offsets), self.offsets[(bags + 1).clamp_max(len(self.offsets) - 1)], end
        )
        counts = after - low
        which = torch.repeat_interleave(counts)
        place = torch.arange(len(which), device=low.device) + (low - (counts.cumsum(0) - counts))[which]
        return which, self.indices[place]


class Bindings:
    """The edges as bindings: every (source, role) pair is bound once, however many entities it leads to."""

    def __init__(self, links: "Links") -> None:
        kept = links.role < links.num_roles
        source, role, target = links.source[kept].long(), links.role[kept].long(), links.target[kept].long()
        pairs, pair = torch.unique(source * links.num_roles + role, return_inverse=True)
        self.source, self.role = pairs // links.num_roles, pairs % links.num_roles
        self.target = target  # in order, as the bindings that reach each entity are
        self.into = Bags.of(pair, target, links.num_built)  # bindings by the entity they reach
        by_pair = torch.argsort(pair, stable=True)
        self.out_of = Bags.of(target[by_pair], pair[by_pair], len(pairs))  # the entities that each binding reaches
        every = torch.arange(len(pairs), device=pairs.device)
        self.of_source = Bags.of(every, self.source, links.num_built)
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
    flat = states[: links.num_built].reshape(-1, B * D)
    sums = Superpose.apply(flat, roles.reshape(-1, B * D), links.bindings)  # type: ignore[no-untyped-call]
    total, squares = (pad(each.view(-1, B, D), (0, 0, 0, 0, 0, N - links.num_built)) for each in sums)
    if links.patch is not None:
        patch = links.patch
        of_total, of_squares = patch.sums(states.index_select(0, patch.source), roles)
        total = total.index_copy(0, patch.targets, of_total)
        squares = squares.index_copy(0, patch.targets, of_squares)
    return mixed(states, total, squares, start, parameters, links, asked, torch.arange(N, device=states.device))


def mixed(
    states: Float[Tensor, "n B D"],
    total: Float[Tensor, "n B D"],
    squares: Float[Tensor, "n B D"],
    start: Float[Tensor, "B D"],
    parameters: Step,
    links: Links,
    asked: Int[Tensor, " B"],
    nodes: Int[Tensor, " n"],
) -> Float[Tensor, "n B D"]:
    """The next states of some entities, from the sums of the bindings that reach them and their present states.

    `nodes` are the entities, in order; the asked ones are among them.
    """
    n, B, D = states.shape
    each = torch.arange(B, device=asked.device)
    here = torch.searchsorted(nodes, asked.contiguous()), each
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


def sparse_step(
    reached: Reached,
    roles: Float[Tensor, "Q B D"],
    start: Float[Tensor, "B D"],
    parameters: Step,
    links: Links,
    asked: Int[Tensor, " B"],
) -> Reached | None:
    """One step along the edges out of the entities reached so far; None if these are many, so that all are as quick."""
    nodes, states, bindings, patch = reached.nodes, reached.states, links.bindings, links.patch
    built = nodes[nodes < links.num_built]
    which, pair = bindings.of_source.of_some(built)
    bound_by, target = bindings.out_of.of_some(pair)
    if len(target) > FEW * len(links.source):
        return None
    is_near = torch.zeros(links.num_entities, dtype=torch.bool, device=nodes.device)
    is_near[nodes] = is_near[target] = is_near[asked] = True
    if patch is not None:
        is_near[patch.targets] = True
    near = is_near.nonzero().squeeze(1)
    place = torch.empty_like(is_near, dtype=torch.int64)  # of each near entity among them
    place[near] = torch.arange(len(near), device=near.device)
    bound = states[which] * roles.index_select(0, bindings.role[pair])  # (P, B, D)
    rows, nothing = bound.index_select(0, bound_by), states.new_zeros(len(near), *states.shape[1:])
    total, squares = nothing.index_add(0, place[target], rows), nothing.index_add(0, place[target], rows * rows)
    before = nothing.index_copy(0, place[nodes], states)
    if patch is not None:
        is_there = is_near[patch.source]
        sources = before[torch.where(is_there, place[patch.source], 0)].where(is_there[:, None, None], 0.0)
        of_total, of_squares = patch.sums(sources, roles)
        total = total.index_copy(0, place[patch.targets], of_total)
        squares = squares.index_copy(0, place[patch.targets], of_squares)
    return Reached(near, mixed(before, total, squares, start, parameters, links, asked, near))


def step(
    states: Float[Tensor, "N B D"],
    roles: Float[Tensor, "Q B D"],
    start: Float[Tensor, "B D"],
    parameters: Step,
    links: Links,
    asked: Int[Tensor, " B"],
) -> Float[Tensor, "N B D"]:
    """The next states, by the fastest way that this device has."""
    if not is_fused(states) or links.patch is not None:
        return plain_step(states, roles, start, parameters, links, asked)
    hidden = roles.new_zeros(1, *roles.shape[1:])  # the vector of the edges that must not be seen
    each = parameters.mixing, parameters.bias, parameters.gain, parameters.shift
    return fused_step(states, torch.cat([roles, hidden]), start, *each, links, asked)


def is_fused(states: Float[Tensor, "*shape"]) -> bool:
    """Whether the kernels take states like these."""
    return states.is_cuda and fused_step is not None and states.shape[-1] in FUSED
