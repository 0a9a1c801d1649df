"""Weighting: how strongly each edge enters the memory, given the question (paper, eq. 5).

    w_c = σ( (e_i ⊕ r_q)ᵀ W_score (e_c ⊕ r_c) + b_qᵀ (e_c ⊕ r_c) [+ A[q, r_c]] )

Modules here return the logits, so that a loss can have log w_c without losing digits; `torch.sigmoid` makes them
weights. Everything left of (e_c ⊕ r_c) is one key per query, and what remains is a dot product per edge, which there
are two ways to compute: `dense` multiplies all keys with all vectors and gathers (a GPU does this fastest while the
products fit), `rows` fetches both rows of each edge (a CPU, or a large graph).
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hmem.memory.superpose import DENSE_LIMIT, Edges


class Weighting(nn.Module):
    """The paper's query-dependent weights; they start near σ(0) = ½.

    With `role_bias` the logit gets one more learned number A[q, r_c] per pair of roles, which is not in the paper and
    lets a query ask for a relation whatever its filler. `method` is chosen by device and size unless it is given.
    """

    score_matrix: Float[Tensor, "de+dr de+dr"]
    score_bias: Float[Tensor, "roles de+dr"]
    role_bias: Float[Tensor, "roles roles"] | None

    def __init__(
        self,
        num_roles: int,
        entity_dim: int,
        relation_dim: int,
        role_bias: bool = False,
        method: Literal["auto", "dense", "rows"] = "auto",
    ) -> None:
        super().__init__()
        pair_dim = entity_dim + relation_dim
        self.method = method
        self.score_matrix = nn.Parameter(torch.randn(pair_dim, pair_dim) * 0.1 / pair_dim)
        self.score_bias = nn.Parameter(torch.zeros(num_roles, pair_dim))
        self.role_bias = nn.Parameter(torch.zeros(num_roles, num_roles)) if role_bias else None

    def forward(
        self,
        query_entity_vec: Float[Tensor, "B de"],
        query_roles: Int[Tensor, " B"],
        edges: Edges,
        role_vectors: Float[Tensor, "roles dr"],
        entity_vectors: Float[Tensor, "E de"],
    ) -> Float[Tensor, " N"]:
        """The logit of each edge's weight. An entity without an embedding has a zero row in `query_entity_vec`."""
        asked = torch.cat([query_entity_vec, role_vectors.index_select(0, query_roles)], dim=1)  # (B, de + dr)
        # key_b = (e_i ⊕ r_q)ᵀ W_score + b_q
        key = asked @ self.score_matrix + self.score_bias.index_select(0, query_roles)  # (B, de + dr)
        entity_key, role_key = key[:, : entity_vectors.shape[1]], key[:, entity_vectors.shape[1] :]
        if self._dense(len(key) * len(entity_vectors), key.device.type):
            by_role = role_key @ role_vectors.mT  # (B, 2R)
            if self.role_bias is not None:
                by_role = by_role + self.role_bias.index_select(0, query_roles)
            by_entity = entity_key @ entity_vectors.mT  # (B, E)
            return _pick(by_entity, edges.query, edges.fillers) + _pick(by_role, edges.query, edges.roles)
        bags = edges.bags
        by_bag = _row_products(role_key, role_vectors, bags.query, bags.roles)  # (P,)
        if self.role_bias is not None:
            by_bag = by_bag + _pick(self.role_bias, query_roles.index_select(0, bags.query), bags.roles)
        by_edge = _row_products(entity_key, entity_vectors, edges.query, edges.fillers)  # (N,)
        return by_edge + by_bag.index_select(0, bags.of_edge)

    def _dense(self, products: int, device: str) -> bool:
        return self.method == "dense" or (self.method == "auto" and device == "cuda" and products <= DENSE_LIMIT)


class UniformWeighting(nn.Module):
    """Weights that ask nothing: 1 for every edge, or 1/degree with `mean`, which makes the memory ERAvg's average."""

    def __init__(self, mean: bool = False) -> None:
        super().__init__()
        self.mean = mean

    def forward(
        self,
        query_entity_vec: Float[Tensor, "B de"],
        query_roles: Int[Tensor, " B"],
        edges: Edges,
        role_vectors: Float[Tensor, "roles dr"],
        entity_vectors: Float[Tensor, "E de"],
    ) -> Float[Tensor, " N"]:
        """The logit of each edge's weight: ∞, or −log(degree − 1)."""
        if self.mean:
            return torch.logit(uniform_weights(edges, entity_vectors.dtype))
        return entity_vectors.new_full((len(edges.query),), torch.inf)


def uniform_weights(edges: Edges, dtype: torch.dtype = torch.float32) -> Float[Tensor, " N"]:
    """1/degree for each edge: superposing with it gives the mean of the bindings."""
    return edges.degree.index_select(0, edges.query).to(dtype).reciprocal()


def _pick(
    table: Float[Tensor, "rows columns"], row: Int[Tensor, " N"], column: Int[Tensor, " N"]
) -> Float[Tensor, " N"]:
    """table[row, column], through `gather`: its backward adds where indexing's sorts, and is several times faster."""
    return table.flatten().gather(0, row * table.shape[1] + column)


def _row_products(
    left: Float[Tensor, "B d"], right: Float[Tensor, "V d"], row: Int[Tensor, " N"], column: Int[Tensor, " N"]
) -> Float[Tensor, " N"]:
    """left[row] · right[column], without the other products."""
    return (left.index_select(0, row) * right.index_select(0, column)).sum(1)
