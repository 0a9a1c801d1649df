"""A graph's neighborhoods as tensors, ready for a model."""

from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.graph.confidences import Confidences
from hmem.graph.neighborhoods import Neighborhoods
from hmem.memory.links import Links
from hmem.memory.ranges import expand
from hmem.memory.superpose import Edges


@runtime_checkable
class Index(Protocol):
    @property
    def device(self) -> torch.device: ...

    def links(self) -> Links:
        """All edges, for propagation."""
        ...

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges: ...

    def follow(
        self, entities: Int[Tensor, " n"], roles: Int[Tensor, " n"], most: Int[Tensor, " n"]
    ) -> tuple[Int[Tensor, " P"], Int[Tensor, " P"]]:
        """The fillers of one role of each entity end to end, and which of the entities each belongs to; none of a role
        that has more than `most`."""
        ...

    def confidence(
        self, owners: Int[Tensor, " n"], roles: Int[Tensor, " n"], fillers: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"] | None:
        """How sure edges are; None where all are."""
        ...


class FrozenIndex:
    """All edges of a graph that does not change, on the device: training and evaluation look them up there."""

    def __init__(self, graph: Neighborhoods, device: torch.device | str = "cpu") -> None:
        assert not graph.is_changed, "a changing graph is read through LiveIndex"
        self.device = torch.device(device)
        self._num_roles = graph.num_roles
        self._offsets = torch.from_numpy(graph.offsets).to(self.device)
        self._roles = torch.from_numpy(graph.roles.astype(np.int32)).to(self.device)
        self._fillers = torch.from_numpy(graph.fillers).to(self.device)

    def to(self, device: torch.device) -> "FrozenIndex":
        """The same graph on a device."""
        if device == self.device:
            return self
        made = object.__new__(FrozenIndex)
        made.device, made._num_roles = device, self._num_roles
        made._offsets, made._roles, made._fillers = (
            each.to(device) for each in (self._offsets, self._roles, self._fillers)
        )
        return made

    def links(self) -> Links:
        return self._links

    @cached_property
    def _links(self) -> Links:
        counts = self._offsets.diff()
        owner = torch.repeat_interleave(counts)
        return Links(owner, self._roles.long(), self._fillers.long(), len(counts), self._num_roles)

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges:
        begin = self._offsets.index_select(0, entities)  # (B,)
        counts = self._offsets.index_select(0, entities + 1) - begin
        query, position = expand(begin, counts)  # (N,)
        return Edges(
            roles=self._roles.index_select(0, position).long(),
            fillers=self._fillers.index_select(0, position).long(),
            query=query,
            num_queries=len(entities),
        )

    def has_edges(self, entities: Int[Tensor, " n"]) -> Bool[Tensor, " n"]:
        return self._offsets.index_select(0, entities + 1) > self._offsets.index_select(0, entities)

    @cached_property
    def keys(self) -> Int[Tensor, " M"]:
        """Owner and role of every edge as one number; edges are sorted by it."""
        owner = torch.repeat_interleave(self._offsets.diff())
        return owner * self._num_roles + self._roles

    def follow(
        self, entities: Int[Tensor, " n"], roles: Int[Tensor, " n"], most: Int[Tensor, " n"]
    ) -> tuple[Int[Tensor, " P"], Int[Tensor, " P"]]:
        source, position = _find(self.keys, entities * self._num_roles + roles, most)
        return source, self._fillers.index_select(0, position).long()

    def confidence(self, owners: Int[Tensor, " n"], roles: Int[Tensor, " n"], fillers: Int[Tensor, " n"]) -> None:
        return None


class LiveIndex:
    """A graph that changes between questions; each look-up sees the facts of that moment.

    Edges to entities beyond `num_fillers`, which a model has no vector for, are left out. `links` are all edges as
    propagation wants them, if it is propagation that asks. Edges that are not quite `sure` have their confidence.
    """

    def __init__(
        self,
        graph: Neighborhoods,
        num_fillers: int,
        device: torch.device | str = "cpu",
        links: Links | None = None,
        sure: Confidences | None = None,
    ) -> None:
        self.graph = graph
        self.sure = sure
        self.num_fillers = num_fillers
        self.device = torch.device(device)
        self._links = links

    def links(self) -> Links:
        assert self._links is not None, "made for a model that passes no messages"
        return self._links

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges:
        flat = self.graph.lookup(entities.cpu().numpy())
        usable = flat.fillers < self.num_fillers
        roles, fillers, query = (
            torch.from_numpy(part[usable].astype(np.int64)).to(self.device)
            for part in (flat.roles, flat.fillers, flat.owner)
        )
        confidence = None
        if self.sure:
            confidence = self.confidence(entities.index_select(0, query), roles, fillers)
        return Edges(roles=roles, fillers=fillers, query=query, num_queries=len(entities), confidence=confidence)

    def confidence(
        self, owners: Int[Tensor, " n"], roles: Int[Tensor, " n"], fillers: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"] | None:
        if not self.sure:
            return None
        found = self.sure.of_edges(*(each.cpu().numpy() for each in (owners, roles, fillers)))
        return torch.from_numpy(found).to(self.device)

    def follow(
        self, entities: Int[Tensor, " n"], roles: Int[Tensor, " n"], most: Int[Tensor, " n"]
    ) -> tuple[Int[Tensor, " P"], Int[Tensor, " P"]]:
        through, row = torch.unique(entities, return_inverse=True)
        edges = self.lookup(through)
        num_roles = self.graph.num_roles
        source, position = _find(edges.query * num_roles + edges.roles, row * num_roles + roles, most)
        return source, edges.fillers.index_select(0, position)


def _find(
    keys: Int[Tensor, " M"], wanted: Int[Tensor, " n"], most: Int[Tensor, " n"]
) -> tuple[Int[Tensor, " P"], Int[Tensor, " P"]]:
    """Where the sorted `keys` equal each of `wanted`, as `expand` gives it; nowhere if it is more than `most` times."""
    low = torch.searchsorted(keys, wanted)
    counts = torch.searchsorted(keys, wanted, right=True) - low
    return expand(low, counts.masked_fill(counts > most, 0))
