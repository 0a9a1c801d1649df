"""The edges of a living graph for a network that passes messages along them.

The edges that the graph was built with are indexed once. Those into entities whose facts have changed since are read
anew and put in their place; so is which roles meet, where the change made or unmade a meeting. Neither grows with the
graph.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import product

import numpy as np
import torch
from jaxtyping import Float, Int

from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import mirror_role
from hmem.knowledge.base_index import meetings_in
from hmem.knowledge.far_links import FarLinks
from hmem.knowledge.live_graph import LiveGraph
from hmem.memory.links import Links, Patch, meetings_of
from hmem.model.propagation import large


class LiveLinks:
    """The edges of this moment."""

    def __init__(self, live: LiveGraph, device: torch.device) -> None:
        self.live, self.device = live, device
        self._graph: Neighborhoods | None = None  # of which the edges are indexed
        self._together: Int[np.ndarray, "Q Q"] = np.empty((0, 0), dtype=np.int64)  # at how many entities two roles meet
        self._meetings = meetings_of(torch.empty(0, 0, dtype=torch.bool, device=device))

    def current(self) -> Links:
        """All edges; to be used before the graph changes again."""
        touched, self.live.touched = self.live.touched, set()
        if self._graph is not self.live.graph:
            self._build()
        elif touched:
            self._patch(touched)
        return self._current

    def decide_meetings(self, facts: Iterable[tuple[int, int, int]]) -> bool:
        """Whether two roles meet because of these stored facts only: role vectors are others without them."""
        R, hidden = self.live.num_relations, defaultdict[int, set[tuple[int, int]]](set)
        for head, relation, tail in facts:
            hidden[head].add((relation + R, tail))
            hidden[tail].add((relation, head))
        gone: Counter[tuple[int, int]] = Counter()
        for entity, edges in hidden.items():
            roles, fillers = (each.tolist() for each in self.live.graph.edges_of(entity))
            now = {role for role, filler in zip(roles, fillers, strict=True) if (role, filler) not in edges}
            if len(now) < len(set(roles)):
                gone.update(pair for pair in product(set(roles), repeat=2) if not now.issuperset(pair))
        return any(self._together[pair] <= count for pair, count in gone.items())

    def _build(self) -> None:
        graph = self._graph = self.live.graph
        self._changed: dict[int, Int[np.ndarray, " n"]] = {}  # entities whose facts differ, and the roles they now have
        met_before, self._together = self._together > 0, self._count_meetings(graph)
        if not np.array_equal(self._together > 0, met_before):
            self._meetings = meetings_of(torch.from_numpy(self._together > 0).to(self.device))
        if len(graph.roles) > large(self.device):
            self._current: Links = FarLinks(graph, self.live.confidences, self.device)
        else:
            source, role, target = (
                torch.from_numpy(each.astype(np.int64)).to(self.device)
                for each in (graph.owners, graph.roles, graph.fillers)
            )
            weight = self._weights(graph.owners, graph.roles, graph.fillers)
            self._built = Links(source, role, target, len(graph.offsets) - 1, graph.num_roles, weight)
            self._current = self._built
        self._current.__dict__["meetings"] = self._meetings
        changed = graph.changed()
        if changed:
            self._patch(changed)

    def _count_meetings(self, graph: Neighborhoods) -> Int[np.ndarray, "Q Q"]:
        """At how many entities each two roles meet, by the facts that the graph was built with."""
        if self.live.index is not None and self.live.index.covers(graph):
            return self.live.index.meetings(self.live.num_relations)
        return meetings_in(graph, self.device)

    def _weights(
        self, owners: Int[np.ndarray, " n"], roles: Int[np.ndarray, " n"], fillers: Int[np.ndarray, " n"]
    ) -> Float[torch.Tensor, " n"] | None:
        """What edges count; None where all are quite sure."""
        if not self.live.confidences:
            return None
        return torch.from_numpy(self.live.confidences.of_edges(owners, roles, fillers)).to(self.device)

    def _patch(self, touched: set[int]) -> None:
        """Read the edges of the entities again that have changed."""
        graph = self.live.graph
        meet_before = self._together > 0
        for entity in touched:
            before = self._changed.get(entity)
            before = np.unique(graph.built_roles(entity)) if before is None else before
            now = np.unique(graph.edges_of(entity)[0])
            self._changed[entity] = now
            self._together[np.ix_(before, before)] -= 1
            self._together[np.ix_(now, now)] += 1
        if bool(((self._together > 0) != meet_before).any()):
            self._meetings = meetings_of(torch.from_numpy(self._together > 0).to(self.device))
        if isinstance(self._current, FarLinks):
            self._current.change(np.array(sorted(touched), dtype=np.int64))
        else:
            self._current = self._patched()
        self._current.__dict__["meetings"] = self._meetings

    def _patched(self) -> Links:
        """The edges that are indexed, with those into all entities that have changed since in their place."""
        graph = self.live.graph
        targets = np.array(sorted(self._changed), dtype=np.int64)
        edges = graph.lookup(targets)  # out of them, and so into them the other way round
        row, source, role = (
            torch.from_numpy(each.astype(np.int64)).to(self.device)
            for each in (edges.owner, edges.fillers, mirror_role(edges.roles, graph.num_relations))
        )
        weight = self._weights(targets[edges.owner], edges.roles, edges.fillers)
        patch = Patch(torch.from_numpy(targets).to(self.device), row, source, role, weight=weight)
        return self._built.patched(patch, max(graph.num_entities, self._built.num_entities))
