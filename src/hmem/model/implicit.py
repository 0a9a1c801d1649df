"""Implicit memories: learned for each entity as an embedding (the paper's "im" rows)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hmem.config import MemoryConfig
from hmem.memory.binding import make_binding
from hmem.model.query import Query


class ImplicitMemory(nn.Module):
    """M_i is a parameter. It cannot hold facts that come after training; it is here to be compared with."""

    def __init__(self, config: MemoryConfig, num_entities: int) -> None:
        super().__init__()
        memory_dim = make_binding(config.binding).memory_dim(config.entity_dim, config.relation_dim)
        self.state = nn.Parameter(torch.randn(num_entities, memory_dim) / math.sqrt(memory_dim))

    def assemble(self, query: Query) -> Float[Tensor, "B D"]:
        return self.state.index_select(0, query.entity)
