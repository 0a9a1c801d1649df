"""A graph's neighbourhoods as tensors, ready for a model."""

from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hmem.graph.neighborhoods import Neighborhoods
from hmem.memory.superpose import Edges


@runtime_checkable
class Index(Protocol):
    @property
    def device(self) -> torch.device: ...

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges: ...


class FrozenIndex:
    """All edges of a graph that does not change, on the device: training and evaluation look them up there."""

    def __init__(self, graph: Neighborhoods, device: torch.device | str = "cpu") -> None:
        assert not graph.is_changed, "a changing graph is read through LiveIndex"
        self.device = torch.device(device)
        self._offsets = torch.from_numpy(graph.offsets).to(self.device)
        self._roles = torch.from_numpy(graph.roles.astype(np.int32)).to(self.device)
        self._fillers = torch.from_numpy(graph.fillers).to(self.device)

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges:
        begin = self._offsets.index_select(0, entities)  # (B,)
        counts = self._offsets.index_select(0, entities + 1) - begin
        total = int(counts.sum())
        each = torch.arange(len(entities), device=self.device)
        query = torch.repeat_interleave(each, counts, output_size=total)  # (N,)
        shift = begin - (counts.cumsum(0) - counts)  # from a place among the batch's edges to one among all
        position = torch.arange(total, device=self.device) + shift.index_select(0, query)
        return Edges(
            roles=self._roles.index_select(0, position).long(),
            fillers=self._fillers.index_select(0, position).long(),
            query=query,
            num_queries=len(entities),
        )


class LiveIndex:
    """A graph that changes between questions; each look-up sees the facts of that moment.

    Edges to entities beyond `num_fillers`, which a model has no vector for, are left out.
    """

    def __init__(self, graph: Neighborhoods, num_fillers: int, device: torch.device | str = "cpu") -> None:
        self.graph = graph
        self.num_fillers = num_fillers
        self.device = torch.device(device)

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges:
        flat = self.graph.lookup(entities.cpu().numpy())
        usable = flat.fillers < self.num_fillers
        roles, fillers, query = (
            torch.from_numpy(part[usable].astype(np.int64)).to(self.device)
            for part in (flat.roles, flat.fillers, flat.owner)
        )
        return Edges(roles=roles, fillers=fillers, query=query, num_queries=len(entities))
