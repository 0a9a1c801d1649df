"""The exact channel: recall of what is stored, without crosstalk.

Give every filler, beside its learned vector, an identity vector orthogonal to all others. Unbinding is linear, so the
identity part of what is retrieved is a sparse vector over the entities: each edge adds its coefficient to its filler,
however many edges there are. No such vectors are ever built; the coefficients are. Three learned tables turn them into
a distribution over the edges of the asked entity and one slot more for "none of these":

    ℓ_c = C[q, r_c] + u_q·e_c        p_c = e^{ℓ_c} / Z        p_null = e^{n_q} / Z        Z = e^{n_q} + Σ_c e^{ℓ_c}

C says how much one role tells about another, u_q which fillers suit the asked role, n_q how often none does. The
weights w_c of the superposition play no part: they are there to keep crosstalk low, which this channel does not know.
What the null slot holds is handed to the dense channel, the memory of the paper:

    p(x) = Σ_{c: e_c = x} p_c + p_null · softmax(dense)(x)
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from hmem.memory.superpose import Edges
from hmem.memory.weighting import edge_products


@dataclass(frozen=True, eq=False, slots=True)
class Copied:
    """How much of the answer each edge gives by itself, and how much is left to the dense channel."""

    log_edge: Float[Tensor, " N"]  # log p_c; −∞ for an edge that is not there
    log_null: Float[Tensor, " B"]  # log p_null

    def log_mass_on(self, edges: Edges, target: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """log Σ p_c over the edges to one filler per query; −∞ if there is none."""
        hits = edges.fillers == target.index_select(0, edges.query)  # (N,)
        return segment_logsumexp(self.log_edge.masked_fill(~hits, -torch.inf), edges.query, len(target))

    def mixed_with(self, log_dense: Float[Tensor, "B E"], edges: Edges) -> Float[Tensor, "B E"]:
        """log p(x) for every entity, from the log-softmax of the dense channel."""
        num_entities = log_dense.shape[1]
        cell = edges.query * num_entities + edges.fillers
        copied = torch.zeros_like(log_dense).view(-1).index_add_(0, cell, self.log_edge.exp()).view_as(log_dense)
        # As below: the logarithm of 0 is kept away from the gradient.
        log_copied = torch.where(copied > 0, torch.where(copied > 0, copied, 1.0).log(), -torch.inf)
        return torch.logaddexp(log_dense + self.log_null[:, None], log_copied)


class ExactChannel(nn.Module):
    """Learned coefficients C between the asked role and the role of an edge, a taste u in fillers and a null slot n."""

    affinity: Float[Tensor, "roles roles"]
    taste: Float[Tensor, "roles de"]
    null: Float[Tensor, " roles"]

    def __init__(self, num_roles: int, entity_dim: int) -> None:
        super().__init__()
        self.affinity = nn.Parameter(torch.zeros(num_roles, num_roles))
        self.taste = nn.Parameter(torch.zeros(num_roles, entity_dim))
        self.null = nn.Parameter(torch.zeros(num_roles))

    def forward(
        self,
        query_roles: Int[Tensor, " B"],
        edges: Edges,
        entity_vectors: Float[Tensor, "E de"],
        absent: Bool[Tensor, " N"],
    ) -> Copied:
        """`absent` marks edges that must not be copied: withheld, dropped, or another known answer.

        The entity vectors are read, never moved: they belong to the dense channel.
        """
        pair = query_roles.index_select(0, edges.query) * len(self.affinity) + edges.roles
        taste = self.taste.index_select(0, query_roles)  # (B, de)
        suits = edge_products(taste, entity_vectors.detach(), edges.query, edges.fillers)  # (N,)
        logits = self.affinity.flatten().gather(0, pair) + suits  # (N,)
        logits = logits.masked_fill(absent, -torch.inf)
        null = self.null.index_select(0, query_roles)  # (B,)
        log_total = torch.logaddexp(segment_logsumexp(logits, edges.query, len(null)), null)
        return Copied(logits - log_total.index_select(0, edges.query), null - log_total)


def segment_logsumexp(
    values: Float[Tensor, " N"], segment: Int[Tensor, " N"], num_segments: int
) -> Float[Tensor, " B"]:
    """log Σ exp over each segment; −∞ for one that is empty or holds nothing else."""
    top = values.detach().new_full((num_segments,), -torch.inf)
    top = top.scatter_reduce(0, segment, values.detach(), "amax")  # (B,)
    top = top.masked_fill(top == -torch.inf, 0.0)
    shifted = (values - top.index_select(0, segment)).exp()
    total = torch.zeros_like(top).index_add(0, segment, shifted)
    # The gradient of log at 0 is infinite, and 0·∞ is NaN: an empty segment takes a constant instead.
    return torch.where(total > 0, total.clamp_min(torch.finfo(total.dtype).tiny).log() + top, -torch.inf)
