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

from hmem.memory.log_odds import log_odds_table
from hmem.memory.superpose import DENSE_LIMIT, Edges

Method = Literal["auto", "dense", "rows"]
# Between these the role bias starts where it starts from counts: σ'(A) is .1 and .05 there, so that it can still leave.
COUNTED = (-2.0, 3.0)


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
        method: Method = "auto",
    ) -> None:
        super().__init__()
        pair_dim = entity_dim + relation_dim
        self.method = method
        self.score_matrix = nn.Parameter(torch.randn(pair_dim, pair_dim) * 0.1 / pair_dim)
        self.score_bias = nn.Parameter(torch.zeros(num_roles, pair_dim))
        self.role_bias = nn.Parameter(torch.zeros(num_roles, num_roles)) if role_bias else None

    @torch.no_grad()
    def start_from(self, keys: Int[Tensor, " rules"], confidence: Float[Tensor, " rules"]) -> None:
        """Begin with what counting says: A[q, r_c] near the log-odds of r_c ⇒ q, so that other edges weigh little."""
        assert self.role_bias is not None, "there is no table to begin with"
        self.role_bias.copy_(log_odds_table(len(self.role_bias), keys, confidence).clamp(*COUNTED))

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
        by_entity = edge_products(entity_key, entity_vectors, edges.query, edges.fillers, self.method)  # (N,)
        by_role = edge_products(role_key, role_vectors, edges.query, edges.roles, self.method)  # (N,)
        if self.role_bias is not None:
            by_role = by_role + _pick(self.role_bias, query_roles.index_select(0, edges.query), edges.roles)
        return by_entity + by_role


def edge_products(
    left: Float[Tensor, "B d"],
    right: Float[Tensor, "V d"],
    row: Int[Tensor, " N"],
    column: Int[Tensor, " N"],
    method: Method = "auto",
) -> Float[Tensor, " N"]:
    """left[row] · right[column] for every edge, the way that suits the device."""
    fits = left.device.type == "cuda" and len(left) * len(right) <= DENSE_LIMIT
    if method == "dense" or (method == "auto" and fits):
        return _pick(left @ right.mT, row, column)
    return (left.index_select(0, row) * right.index_select(0, column)).sum(1)  # without the other products


def _pick(
    table: Float[Tensor, "rows columns"], row: Int[Tensor, " N"], column: Int[Tensor, " N"]
) -> Float[Tensor, " N"]:
    """table[row, column], through `gather`: its backward adds where indexing's sorts, and is several times faster."""
    return table.flatten().gather(0, row * table.shape[1] + column)
