"""Recall in several steps: answers that stand in a neighbor's memory.

What no edge of the asked entity holds may be held by a neighbor: its part's maker, its kind's habitat. A path goes
along role c₁ to a neighbor, along c₂ to one of its fillers, and perhaps along c₃ from there. For every asked role q a
table lists the paths worth following (`graph.paths` finds them by counting); each has a learned coefficient, and a
softmax over all walks of the asked entity, with a null slot of its own, makes them a second exact channel,

    ℓ_p = C'[q, (c₁, c₂, …)] + u'_q·e_y − β'_q τ‖e_o − e_y‖²        for a walk p that ends at y,

which divides what the first one left over. It is unbinding repeatedly from one-hot memories, so it is as exact as the
first step, follows every added or removed fact at once, and needs no vectors of unseen entities.

A walk along facts that are not quite sure counts so much less: log κ is added to its ℓ_p, κ being the product of their
confidences.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from hmem.graph.paths import MOST_AT_A_STEP, MOST_WAYS
from hmem.memory.exact import DenseView, Liking, Recalled, copy
from hmem.memory.log_odds import log_odds
from hmem.memory.ranges import expand
from hmem.memory.superpose import Edges
from hmem.model.index import Index
from hmem.model.query import Query, is_stored_answer, mirrored


@dataclass(frozen=True, eq=False, slots=True)
class Walks:
    """Ways from the asked entities, flat and in no order."""

    edge: Int[Tensor, " P"]  # the first step, as a place among the edges of the batch
    rule: Int[Tensor, " P"]  # row · K + column in the table of paths
    nodes: Int[Tensor, "P L"]  # the entity that each step reaches; −1 after the last of a shorter path
    query: Int[Tensor, " P"]
    fillers: Int[Tensor, " P"]  # the entity that is reached in the end
    confidence: Float[Tensor, " P"] | None  # the product of those of its steps; None where all are quite sure


class PathChannel(nn.Module):
    """The paths that may answer each role, a coefficient for each, a liking for fillers and a null slot."""

    steps: Int[Tensor, "roles K L"]
    affinity: Float[Tensor, "roles K"]
    null: Float[Tensor, " roles"]

    def __init__(self, num_roles: int, entity_dim: int, per_role: int, length: int) -> None:
        super().__init__()
        self.num_roles = num_roles
        self.register_buffer("steps", torch.full((num_roles, per_role, length), -1))  # sorted, empty places last
        self.affinity = nn.Parameter(torch.zeros(num_roles, per_role))
        self.liking = Liking(num_roles, entity_dim)
        self.null = nn.Parameter(torch.zeros(num_roles))

    @torch.no_grad()
    def start_from(self, steps: Int[Tensor, "roles K L"], confidence: Float[Tensor, "roles K"]) -> None:
        """Begin with what counting says; the paths of a role are sorted by their first step."""
        self.steps.copy_(steps)
        self.affinity.copy_(log_odds(confidence))

    def follow(self, query: Query, edges: Edges, absent: Bool[Tensor, " N"], graph: Index) -> Walks:
        """Every walk along a path of the table from the asked entities, by edges that are not absent."""
        edge, rule, ways = self._first_steps(query, edges, absent)
        table = self.steps.flatten(0, 1)  # (2R·K, L)
        nodes = edges.fillers.index_select(0, edge)[:, None]  # (P, 1)
        done = []
        for step in range(1, table.shape[1]):
            role = table[:, step].index_select(0, rule)  # (P,)
            ends = role < 0
            if step > 1:
                done.append((edge[ends], rule[ends], nodes[ends]))
            edge, rule, nodes, role, ways = (each[~ends] for each in (edge, rule, nodes, role, ways))
            source, reached = graph.follow(nodes[:, -1], role, (MOST_WAYS // ways).clamp_max(MOST_AT_A_STEP))
            ways = ways * torch.bincount(source, minlength=len(ways))  # (P,)
            edge, rule, role, ways = (each.index_select(0, source) for each in (edge, rule, role, ways))
            nodes = torch.cat([nodes.index_select(0, source), reached[:, None]], dim=1)  # (P, step + 1)
            sound = ~self._goes_back(query, edges, edge, rule, nodes, role)
            edge, rule, nodes, ways = (each[sound] for each in (edge, rule, nodes, ways))
        done.append((edge, rule, nodes))
        length = table.shape[1]
        padded = [torch.nn.functional.pad(each, (0, length - each.shape[1]), value=-1) for _, _, each in done]
        edge, rule = (torch.cat([each[place] for each in done]) for place in (0, 1))
        nodes = torch.cat(padded)
        return Walks(
            edge=edge,
            rule=rule,
            nodes=nodes,
            query=edges.query.index_select(0, edge),
            fillers=torch.cat([each[:, -1] for _, _, each in done]),
            confidence=None
            if edges.confidence is None
            else self._confidence(edges.confidence[edge], rule, nodes, graph),
        )

    def forward(self, query: Query, edges: Edges, walks: Walks, dense: DenseView) -> Recalled:
        """The softmax over all walks of each query; one that ends at a stored answer is left out."""
        suits = self.liking(query.role, walks.fillers, walks.query, dense)  # (P,)
        logits = self.affinity.flatten().gather(0, walks.rule) + suits
        if walks.confidence is not None:
            logits = logits + walks.confidence.log()
        leads_back = walks.fillers == query.entity.index_select(0, walks.query)
        logits = dense.with_self_bias(logits, leads_back, query.role.index_select(0, walks.query))
        stored = is_stored_answer(query, edges, walks.query, walks.fillers)
        return copy(logits, self.null.index_select(0, query.role), stored, walks.fillers, walks.query)

    def _confidence(
        self, first: Float[Tensor, " P"], rule: Int[Tensor, " P"], nodes: Int[Tensor, "P L"], graph: Index
    ) -> Float[Tensor, " P"]:
        """How sure each walk is: as its first step, times each of those that follow."""
        for step in range(1, nodes.shape[1]):
            there = (nodes[:, step] >= 0).nonzero().squeeze(1)
            role = self.steps.flatten(0, 1)[rule[there], step]
            found = graph.confidence(nodes[there, step - 1], role, nodes[there, step])
            if found is not None:
                first = first.index_copy(0, there, first[there] * found)
        return first

    def _first_steps(
        self, query: Query, edges: Edges, absent: Bool[Tensor, " N"]
    ) -> tuple[Int[Tensor, " P"], Int[Tensor, " P"], Int[Tensor, " P"]]:
        """Which edges begin which paths of the asked role, and how many edges each had to choose from."""
        stride = self.num_roles + 1  # one key more than roles: an empty place comes after all of them
        first = self.steps[:, :, 0]
        each = torch.arange(self.num_roles, device=first.device)[:, None]
        keys = (each * stride + torch.where(first < 0, self.num_roles, first)).flatten()  # sorted
        body = query.role.index_select(0, edges.query) * stride + edges.roles  # (N,)
        low = torch.searchsorted(keys, body)
        counts = torch.searchsorted(keys, body, right=True) - low
        bag = edges.bags.of_edge
        crowd = torch.bincount(bag, minlength=len(edges.bags.roles)).index_select(0, bag)
        edge, rule = expand(low, counts.masked_fill(absent | (crowd > MOST_AT_A_STEP), 0))
        return edge, rule, crowd.index_select(0, edge)

    def _goes_back(
        self,
        query: Query,
        edges: Edges,
        edge: Int[Tensor, " P"],
        rule: Int[Tensor, " P"],
        nodes: Int[Tensor, "P steps"],
        role: Int[Tensor, " P"],
    ) -> Bool[Tensor, " P"]:
        """Whether the latest step undoes the one before, or states the fact that is asked for."""
        row = edges.query.index_select(0, edge)
        entity, came_from, reached = query.entity.index_select(0, row), nodes[:, -2], nodes[:, -1]
        before = nodes[:, -3] if nodes.shape[1] > 2 else entity
        previous = self.steps.flatten(0, 1)[:, nodes.shape[1] - 2].index_select(0, rule)
        relations = self.num_roles // 2
        back = (role == mirrored(previous, relations)) & (reached == before)
        if query.target is None:
            return back
        asked, target = query.role.index_select(0, row), query.target.index_select(0, row)
        stated = (came_from == entity) & (role == asked) & (reached == target)
        return back | stated | ((came_from == target) & (role == mirrored(asked, relations)) & (reached == entity))
