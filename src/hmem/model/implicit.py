"""Implicit memories: learned for each entity as an embedding (the paper's "im" rows)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hmem.config import MemoryConfig
from hmem.memory.binding import make_binding
from hmem.memory.superpose import Edges, MemoryState
from hmem.model.explicit import WeightedEdges
from hmem.model.index import Index
from hmem.model.query import KEEP_ALL, Drop, Query
from hmem.model.vectors import Vectors


class ImplicitMemory(nn.Module):
    """M_i is a parameter. It cannot hold facts that come after training; it is here to be compared with."""

    def __init__(self, config: MemoryConfig, num_entities: int) -> None:
        super().__init__()
        self.binding = make_binding(config.binding)
        memory_dim = self.binding.memory_dim(config.entity_dim, config.relation_dim)
        self.state = nn.Parameter(torch.randn(num_entities, memory_dim) / math.sqrt(memory_dim))

    def attend(
        self, query: Query, graph: Index, identity: Float[Tensor, "B de"], vectors: Vectors, drop: Drop = KEEP_ALL
    ) -> WeightedEdges:
        """No edges: the graph is not looked at."""
        none = query.entity.new_empty(0)
        return WeightedEdges(Edges(none, none, none, len(query)), identity.new_empty(0), none.bool(), none.bool())

    def assemble(self, query: Query, weighted: WeightedEdges, vectors: Vectors) -> MemoryState:
        """The learned M_i of each asked entity."""
        return MemoryState(self.binding, self.state.index_select(0, query.entity), vectors.roles)
