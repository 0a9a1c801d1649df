"""The edges of a graph, whole or in part, as they are and with some of them hidden or changed.

In training an edge that must not be seen has the role Q, whose vector is zero, and does not count in the degrees:
otherwise the answer is the entity with one edge too many. Afterwards the edges into some entities are patched: those
that came or went since the graph was built, and those that a question must be answered without.

An edge that is not quite sure has a weight below 1: its binding and its part of the degree are multiplied with it, so
that one of weight 0 is as good as absent. A graph without such edges has no weights at all. The kernels know none.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from hmem.memory.edge_orders import Bindings, Orders
from hmem.memory.ranges import expand, matches

EPSILON = 1e-6  # the least scale
MOST_CELLS = 10_000_000  # meetings of roles that are counted at a time


@dataclass(frozen=True, eq=False, slots=True)
class Patch:
    """The edges into some entities, in the place of those that the graph was built with."""

    targets: Int[Tensor, " T"]  # in order
    row: Int[Tensor, " n"]  # which of the targets an edge leads to, in order
    source: Int[Tensor, " n"]
    role: Int[Tensor, " n"]
    keep: Bool[Tensor, "n B"] | None = None  # which questions see the edge; None for all
    weight: Float[Tensor, " n"] | None = None  # of the edges, if some count less than in full

    @property
    def seen(self) -> Float[Tensor, "n _"]:
        """What each edge counts, in each question if it matters."""
        seen = torch.ones(len(self.row), 1, device=self.row.device) if self.keep is None else self.keep.float()
        return seen if self.weight is None else seen * self.weight[:, None]

    @property
    def degree(self) -> Float[Tensor, "T _"]:
        """How many edges lead to each target, in each question if it matters."""
        seen = self.seen
        return seen.new_zeros(len(self.targets), seen.shape[1]).index_add(0, self.row, seen)

    def sums(
        self, states: Float[Tensor, "n B D"], roles: Float[Tensor, "Q B D"]
    ) -> tuple[Float[Tensor, "T B D"], Float[Tensor, "T B D"]]:
        """The sum of the bindings that reach each target, and of their squares; `states` are those of the sources."""
        bound = states * roles.index_select(0, self.role)
        if self.keep is not None:
            bound = bound.where(self.keep[:, :, None], 0.0)
        nothing = bound.new_zeros(len(self.targets), *bound.shape[1:])
        squares = bound * bound
        if self.weight is not None:
            weight = self.weight[:, None, None].to(bound.dtype)
            bound, squares = bound * weight, squares * weight
        return nothing.index_add(0, self.row, bound), nothing.index_add(0, self.row, squares)


@dataclass(frozen=True, eq=False, slots=True)
class Beyond:
    """What the degrees in a part of a graph owe to the rest of it."""

    edges: Float[Tensor, " N"]  # into each entity of the part, from entities that are not in it
    log_sum: Float[Tensor, ""]  # the logarithms of the degrees of all other entities
    num_linked: Int[Tensor, ""]  # how many of them have edges


class Links:
    """Every edge of a graph, in order of the entity it leads to; both directions of a fact are edges."""

    def __init__(
        self, source: Int[Tensor, " e"], role: Int[Tensor, " e"], target: Int[Tensor, " e"], num_entities: int,
        num_roles: int, weight: Float[Tensor, " e"] | None = None,
    ) -> None:  # fmt: skip
        """An edge with a `weight` below 1 counts so much of a whole one; without weights, nothing is different."""
        order = torch.argsort(target * num_entities + source)  # by target, and all edges of a pair side by side
        self.num_entities = self.num_built = num_entities  # a patched graph may have more than it was built with
        self.num_roles = num_roles
        self.source, self.target = source[order].int(), target[order].int()
        self.role = role[order].int()
        self.weight = None if weight is None else weight[order]
        self.pair = target[order] * num_entities + source[order]
        self.patch: Patch | None = None
        self.beyond: Beyond | None = None  # of a part of a graph
        self.whole: Links | None = None  # the graph without hidden edges, where some are
        self.degree_built = torch.empty(0)  # without a patch
        self._count()

    def _count(self) -> None:
        """How many edges lead to each entity, in each question where they differ; and how that compares with others.

        Names without edges count for nothing, so that scores depend on the facts alone.
        """
        if self.patch is None:
            kept = (self.role < self.num_roles).float()
            if self.weight is not None:
                kept = kept * self.weight
            degree = torch.zeros(self.num_entities, device=kept.device).index_add(0, self.target, kept)  # (N,)
            self.degree_built = degree
        else:
            changed = self.patch.degree  # (T, B) or (T, 1)
            built = pad(self.degree_built, (0, self.num_entities - self.num_built))
            degree = built[:, None].repeat(1, changed.shape[1]).index_copy(0, self.patch.targets, changed)
        if self.beyond is not None:
            degree = degree + (self.beyond.edges if degree.dim() == 1 else self.beyond.edges[:, None])
        logarithm = (degree + 1).log()
        log_sum, num_linked = logarithm.sum(0), (degree > 0).sum(0)
        if self.beyond is not None:
            log_sum, num_linked = log_sum + self.beyond.log_sum, num_linked + self.beyond.num_linked
        self.degree, self.log_sum, self.num_linked = degree, log_sum, num_linked
        self.scale = logarithm / (log_sum / num_linked.clamp_min(1)).clamp_min(EPSILON)

    @property
    def num_edges(self) -> int:
        return len(self.source)

    @property
    def device(self) -> torch.device:
        return self.source.device

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing that the kernels do not know: neither patches nor weights."""
        return self.patch is None and self.weight is None

    @property
    def is_sure(self) -> bool:
        """Whether all edges count in full."""
        return self.weight is None and (self.patch is None or self.patch.weight is None)

    @cached_property
    def bindings(self) -> Bindings:
        """The edges as sums of rows want them, where there is no kernel of our own."""
        kept = self.role < self.num_roles
        source, role, target = (each[kept].long() for each in (self.source, self.role, self.target))
        weight = None if self.weight is None else self.weight[kept]
        return Bindings(source, role, target, self.num_built, self.num_roles, weight)

    @cached_property
    def orders(self) -> Orders:
        """The edges as the kernels want them; one that is hidden keeps its place."""
        return Orders.of(self.source, self.role, self.target, self.num_built, self.num_roles)

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
        together = meeting_counts(self.source[seen].long(), self.role[seen].long(), self.num_roles) > 0
        return meetings_of(together) if self.whole is None else still_meeting(self.whole.meetings, together)

    def without(self, hidden: Bool[Tensor, " e"]) -> "Links":
        """The same graph with some edges hidden from all questions, and out of the degrees."""
        if self.source.is_cuda:
            self.orders  # noqa: B018  # made once, for all copies
        made = self._copy()
        for of_roles in ("bindings", "role_by_source", "role_by_role", "meetings"):
            made.__dict__.pop(of_roles, None)
        made.role = self.role.masked_fill(hidden, self.num_roles)
        made.whole = self.whole or self
        made._count()
        return made

    def part(self, nodes: Int[Tensor, " n"]) -> "Links":
        """Some entities, in order, and all edges between them, numbered by their places; degrees stay what they are."""
        edges = self.edges_into(nodes)
        place = torch.searchsorted(nodes, edges.source).clamp_max(len(nodes) - 1)
        inside = nodes[place] == edges.source
        weight = None if edges.weight is None else edges.weight[inside]
        made = Links(place[inside], edges.role[inside], edges.row[inside], len(nodes), self.num_roles, weight)
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
        edge = (patch.row * N + patch.source) * Q + patch.role
        hidden = (torch.searchsorted(patch.targets, target) * N + source) * Q + role
        order = torch.argsort(edge)
        which, place = matches(edge[order], hidden)
        gone = order[place]
        if num_questions == 1:
            kept = torch.ones(len(edge), dtype=torch.bool, device=edge.device).index_fill(0, gone, False)
            weight = None if patch.weight is None else patch.weight[kept]
            few = Patch(patch.targets, patch.row[kept], patch.source[kept], patch.role[kept], weight=weight)
            return self.patched(few, N)
        keep = torch.ones(len(edge), num_questions, dtype=torch.bool, device=edge.device)
        keep[gone, question[which]] = False
        return self.patched(replace(patch, keep=keep), N)

    def edges_into(self, targets: Int[Tensor, " T"]) -> Patch:
        """The present edges into some entities, given in order."""
        low, high = (torch.searchsorted(self.target, (targets + step).int()) for step in (0, 1))
        if self.patch is not None:
            there = torch.isin(targets, self.patch.targets)
            high = torch.where(there, low, high)
        row, edge = expand(low, high - low)
        edge, row = edge[self.role[edge] < self.num_roles], row[self.role[edge] < self.num_roles]
        source, role = self.source[edge].long(), self.role[edge].long()
        weight = None if self.weight is None else self.weight[edge]
        if self.patch is not None:
            assert self.patch.keep is None, "edges are withheld from questions once"
            asked = torch.isin(self.patch.targets, targets)[self.patch.row]
            new = torch.searchsorted(targets, self.patch.targets)[self.patch.row][asked]
            row, source, role = (
                torch.cat(each)
                for each in ((row, new), (source, self.patch.source[asked]), (role, self.patch.role[asked]))
            )
            order = torch.argsort(row, stable=True)
            if weight is not None or self.patch.weight is not None:
                both = ((weight, edge), (self.patch.weight, self.patch.role))
                of_built, of_patch = (torch.ones(len(of), device=row.device) if w is None else w for w, of in both)
                weight = torch.cat([of_built, of_patch[asked]])[order]
            row, source, role = row[order], source[order], role[order]
        return Patch(targets, row, source, role, weight=weight)

    def between(self, u: Int[Tensor, " B"], v: Int[Tensor, " B"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """The edges from each u to its v, as (which pair, which edge)."""
        return matches(self.pair, v * self.num_built + u)

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
        which, other = expand(first[low:high], beside[low:high])
        counts += torch.bincount(role[low + which] * num_roles + role[other], minlength=num_roles**2)
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


def still_meeting(meetings: Links, together: Bool[Tensor, "Q Q"]) -> Links:
    """A graph of roles without the edges between those of which no two lead out of the same entity any more."""
    Q, first, kind, second = len(together), meetings.source.long(), meetings.role, meetings.target.long()
    inverse = torch.arange(Q, device=first.device).roll(Q // 2)
    turns_first = (kind == 1) | (kind == 3) | (kind == 4)  # see `meetings_of`
    turns_second = (kind == 2) | (kind == 3)
    there = torch.where(turns_first, inverse[first], first), torch.where(turns_second, inverse[second], second)
    return meetings.without(~together[there])
