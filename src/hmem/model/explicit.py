"""Explicit memories: assembled from an entity's edges, so they hold what is stored now."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from hmem.config import MemoryConfig
from hmem.memory.binding import make_binding
from hmem.memory.superpose import Edges, Superposition, keep_strongest
from hmem.memory.weighting import Weighting
from hmem.model.index import Index
from hmem.model.query import KEEP_ALL, Drop, Query, unavailable
from hmem.model.vectors import Vectors


@dataclass(frozen=True, eq=False, slots=True)
class WeightedEdges:
    """The edges of the asked entities and how strongly each enters the memory."""

    edges: Edges
    log_weights: Float[Tensor, " N"]
    absent: Bool[Tensor, " N"]  # withheld or dropped: as if the edge were not there
    withheld: Bool[Tensor, " N"]  # the asked fact and links hidden with it; the exact channels see the rest

    @property
    def weights(self) -> Float[Tensor, " N"]:
        """In (0, 1); exactly 0 for an edge that is absent."""
        return self.log_weights.exp().masked_fill(self.absent, 0.0)

    @property
    def load(self) -> Float[Tensor, " B"]:
        """Σ_c w_c of each query."""
        weights = self.weights
        return weights.new_zeros(self.edges.num_queries).index_add(0, self.edges.query, weights)


class ExplicitMemory(nn.Module):
    """M_i = Σ_c κ_c w_c · bind(r_c, e_c) over the edges of the asked entity, the asked fact left out.

    κ_c is the confidence of the edge's fact, which is 1 where none is given.
    """

    def __init__(self, config: MemoryConfig, num_relations: int) -> None:
        super().__init__()
        self.binding = make_binding(config.binding)
        self.num_relations = num_relations
        self.max_neighbors = config.max_neighbors
        self.weighting: Weighting | None = None  # without it every edge weighs 1/degree
        if config.weighting == "learned":
            self.weighting = Weighting(
                2 * num_relations, config.entity_dim, config.relation_dim, role_bias=config.role_bias is not None
            )

    def attend(
        self, query: Query, graph: Index, identity: Float[Tensor, "B de"], vectors: Vectors, drop: Drop = KEEP_ALL
    ) -> WeightedEdges:
        """Look the edges up and weigh them by what is asked."""
        edges = graph.lookup(query.entity)  # (N,) roles and fillers, without padding
        withheld = unavailable(query, edges, self.num_relations, drop)  # (N,)
        absent = withheld
        if drop.neighbor > 0:
            absent = absent | drop.noise.chosen_edges(query, edges, graph, drop.neighbor)
        if self.weighting is None:
            counted = (~absent).to(identity.dtype) * (1.0 if edges.confidence is None else edges.confidence)
            present = torch.zeros_like(identity[:, 0]).index_add(0, edges.query, counted)  # (B,)
            log_weights = -present.clamp_min(1).log().index_select(0, edges.query)
        else:
            log_weights = logsigmoid(self.weighting(identity, query.role, edges, vectors.roles, vectors.entities))
        if edges.confidence is not None:
            log_weights = log_weights + edges.confidence.log()  # log(κ_c w_c), where κ_c is the confidence of an edge
        if self.weighting is not None and self.max_neighbors is not None:
            ranked = log_weights.exp().masked_fill(absent, 0.0)
            absent = absent | ~keep_strongest(edges, ranked, self.max_neighbors)
        return WeightedEdges(edges, log_weights, absent, withheld)

    def assemble(self, query: Query, weighted: WeightedEdges, vectors: Vectors) -> Superposition:
        """The superposition of the weighted bindings."""
        return Superposition(self.binding, weighted.edges, weighted.weights, vectors.roles, vectors.entities)
