"""Entity and role vectors in the form that the bindings need."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from hmem.config import MemoryConfig
from hmem.memory.decorrelate import Whitening, normalize_roles, whiten


@dataclass(frozen=True, eq=False, slots=True)
class Vectors:
    entities: Float[Tensor, "E de"]
    roles: Float[Tensor, "roles dr"]
    placed: Bool[Tensor, " E"] | None = (
        None  # False for rows without an entity or a vector yet; None where all have both
    )
    lengths: Float[Tensor, " E"] | None = None  # ‖e_x‖², where vectors stay the same for many questions


class Embeddings(nn.Module):
    """What is learned about entities and roles in themselves.

    Tensor products get unit roles, so that unbinding a single binding is exact; convolution gets whitened vectors
    (appendix 1); Hadamard products take both as they are.
    """

    entity: Tensor  # a parameter, unless the vectors of entities are apart in training

    def __init__(self, config: MemoryConfig, num_entities: int, num_relations: int) -> None:
        super().__init__()
        self.binding = config.binding
        self.whitening = Whitening() if config.binding == "cconv" else None
        # Whitening sets the scale itself and wants unit variance; elsewhere vectors start with norm near 1.
        self.spread = 1.0 if self.whitening is not None else 1 / math.sqrt(config.entity_dim)
        self.entity = nn.Parameter(self.spread * torch.randn(num_entities, config.entity_dim))
        self.role = nn.Parameter(torch.randn(2 * num_relations, config.relation_dim))
        if config.binding == "hadamard":
            nn.init.normal_(self.role, mean=1.0, std=0.1)  # near the identity of the product

    def forward(self) -> Vectors:
        if self.whitening is not None:
            statistics = self.whitening.statistics(self.entity, self.role)
            return Vectors(whiten(self.entity, *statistics), whiten(self.role, *statistics))
        if self.binding == "tpr":
            return Vectors(self.entity, normalize_roles(self.role))
        return Vectors(self.entity, self.role)
