"""Memories of random vectors: a graph stored and read back with no learning at all.

The paper's remark on Crawford et al.: sum the bindings of an entity's links over fixed random vectors, and the links
can be recovered by unbinding, as long as there are not too many. It is what training starts from, and shows how much
a superposition holds by itself.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.config import MemoryConfig
from hmem.memory.binding import make_binding
from hmem.memory.decorrelate import normalize_roles
from hmem.memory.superpose import superpose
from hmem.model.index import Index
from hmem.model.vectors import Vectors


class UntrainedMemory:
    """Scores how well each entity matches what unbinding a role from an entity's memory gives back."""

    def __init__(
        self, config: MemoryConfig, num_entities: int, num_relations: int, graph: Index, seed: int = 0
    ) -> None:
        self.graph = graph
        self.binding = make_binding(config.binding)
        self.vectors = random_vectors(config, num_entities, num_relations, seed, graph.device)

    @property
    def device(self) -> torch.device:
        return self.graph.device

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        edges = self.graph.lookup(entities)
        ones = torch.ones(len(edges.query), device=self.device)
        memory = superpose(self.binding, edges, ones, self.vectors.roles, self.vectors.entities)  # (B, D)
        retrieved = self.binding.unbind(self.vectors.roles.index_select(0, roles), memory)  # (B, de)
        return retrieved @ self.vectors.entities.mT


def random_vectors(
    config: MemoryConfig, num_entities: int, num_relations: int, seed: int, device: torch.device
) -> Vectors:
    """Unit entities; roles that each binding can undo: unit, of variance 1/d, or of signs."""
    generator = torch.Generator().manual_seed(seed)
    entities = torch.randn(num_entities, config.entity_dim, generator=generator)
    roles = torch.randn(2 * num_relations, config.relation_dim, generator=generator)
    match config.binding:
        case "tpr":
            roles = normalize_roles(roles)
        case "cconv":
            roles = roles / math.sqrt(config.relation_dim)
        case "hadamard":
            roles = roles.sign()
    return Vectors(torch.nn.functional.normalize(entities).to(device), roles.to(device))
