"""The exact channel: recall of what is stored, without crosstalk.

Give every filler, beside its learned vector, an identity vector orthogonal to all others. Unbinding is linear, so the
identity part of what is retrieved is a sparse vector over the entities: each edge adds its coefficient to its filler,
however many edges there are. No such vectors are ever built; the coefficients are. Learned tables turn them into a
distribution over the edges of the asked entity and one slot more for "none of these":

    ℓ_c = C[q, r_c] + u_q·e_c − β_q τ‖e_o − e_c‖²        p_c = e^{ℓ_c} / Z        p_null = e^{n_q} / Z
    Z = e^{n_q} + Σ_c e^{ℓ_c}

C says how much one role tells about another, u_q which fillers suit the asked role, β_q how much they should also look
like what the memory retrieved, n_q how often none does. The weights w_c of the superposition play no part: they are
there to keep crosstalk low, which this channel does not know. What the null slot holds is handed on, to the next
channel or to the dense one, the memory of the paper:

    p(x) = Σ_{c: e_c = x} p_c + p_null · softmax(dense)(x)

An edge with a confidence κ counts κ times as much: log κ is added to its ℓ_c.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from hmem.memory.log_odds import log_odds_table
from hmem.memory.superpose import Edges
from hmem.memory.weighting import edge_products


@dataclass(frozen=True, eq=False, slots=True)
class Recalled:
    """What an exact channel gives to the filler of each slot, and what it leaves to the next channel."""

    log_edge: Float[Tensor, " N"]  # log p_c; −∞ for a slot that is not there
    log_null: Float[Tensor, " B"]  # log p_null
    fillers: Int[Tensor, " N"]
    query: Int[Tensor, " N"]

    def log_mass_on(self, target: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """log Σ p_c over the slots of one filler per query; −∞ if there is none."""
        hits = self.fillers == target.index_select(0, self.query)  # (N,)
        return segment_logsumexp(self.log_edge.masked_fill(~hits, -torch.inf), self.query, len(target))

    def mixed_with(self, log_rest: Float[Tensor, "B E"]) -> Float[Tensor, "B E"]:
        """log p(x) for every entity, from the log probabilities that the null slot is handed to."""
        cell, log_mass = self._masses(log_rest)
        mixed = (log_rest + self.log_null[:, None]).view(-1)
        return mixed.index_copy(0, cell, torch.logaddexp(mixed[cell], log_mass)).view_as(log_rest)

    def by_itself(self, like: Float[Tensor, "B E"]) -> Float[Tensor, "B E"]:
        """log p_x / (p_x + p_null) with p_x = Σ_{c: e_c = x} p_c: what the slots of x say, whatever its rivals have."""
        cell, log_mass = self._masses(like)
        log_null = self.log_null.index_select(0, cell // like.shape[1])
        nothing = torch.full_like(like, -torch.inf).view(-1)
        return nothing.index_copy(0, cell, log_mass - torch.logaddexp(log_mass, log_null)).view_as(like)

    def _masses(self, like: Float[Tensor, "B E"]) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"]]:
        """The cells of (query, entity) that slots lead to, and log Σ_{c: e_c = x} p_c of each."""
        slot = self.query * like.shape[1] + self.fillers
        copied = torch.zeros_like(like).view(-1).index_add(0, slot, self.log_edge.exp())
        cell = copied.nonzero().squeeze(1)
        return cell, copied[cell].log()


@dataclass(frozen=True, eq=False, slots=True)
class DenseView:
    """What the exact channels may read of the dense one. It has no gradients: they never move it."""

    entities: Float[Tensor, "E de"]
    lengths: Float[Tensor, " E"]  # ‖e_x‖²
    retrieved: Float[Tensor, "B de"]
    temperature: Float[Tensor, ""]
    self_bias: Float[Tensor, " roles"] | None = None  # s_q

    def with_self_bias(
        self, logits: Float[Tensor, " N"], is_asked: Bool[Tensor, " N"], roles: Int[Tensor, " N"]
    ) -> Float[Tensor, " N"]:
        """The logits, with s_q added to those of slots that lead back to the asked entity."""
        return logits if self.self_bias is None else logits + is_asked * self.self_bias.index_select(0, roles)


class Liking(nn.Module):
    """u_q·e_c − β_q τ‖e_o − e_c‖², up to what all fillers of a query share: which fillers suit, before any rule."""

    taste: Float[Tensor, "roles de"]
    trust: Float[Tensor, " roles"]

    def __init__(self, num_roles: int, entity_dim: int) -> None:
        super().__init__()
        self.taste = nn.Parameter(torch.zeros(num_roles, entity_dim))
        self.trust = nn.Parameter(torch.zeros(num_roles))

    def forward(
        self, query_roles: Int[Tensor, " B"], fillers: Int[Tensor, " N"], query: Int[Tensor, " N"], dense: DenseView
    ) -> Float[Tensor, " N"]:
        trust = dense.temperature * self.trust.index_select(0, query_roles)  # (B,) β τ
        wanted = self.taste.index_select(0, query_roles) + 2 * trust[:, None] * dense.retrieved  # (B, de)
        lengths = dense.lengths.index_select(0, fillers)  # (N,) ‖e_c‖²
        return edge_products(wanted, dense.entities, query, fillers) - trust.index_select(0, query) * lengths


class ExactChannel(nn.Module):
    """Learned coefficients C between the asked role and the role of an edge, a liking for fillers and a null slot."""

    affinity: Float[Tensor, "roles roles"]
    null: Float[Tensor, " roles"]

    def __init__(self, num_roles: int, entity_dim: int) -> None:
        super().__init__()
        self.affinity = nn.Parameter(torch.zeros(num_roles, num_roles))
        self.liking = Liking(num_roles, entity_dim)
        self.null = nn.Parameter(torch.zeros(num_roles))

    @torch.no_grad()
    def start_from(self, keys: Int[Tensor, " rules"], confidence: Float[Tensor, " rules"]) -> None:
        """Begin with what counting says: the log-odds of the rules c ⇒ q, whose keys are c·2R + q."""
        self.affinity.copy_(log_odds_table(len(self.affinity), keys, confidence))

    def forward(
        self,
        query_roles: Int[Tensor, " B"],
        edges: Edges,
        absent: Bool[Tensor, " N"],
        dense: DenseView,
    ) -> Recalled:
        """`absent` marks edges that must not be copied: withheld, or leading to a stored answer."""
        pair = query_roles.index_select(0, edges.query) * len(self.affinity) + edges.roles
        suits = self.liking(query_roles, edges.fillers, edges.query, dense)  # (N,)
        logits = self.affinity.flatten().gather(0, pair) + suits  # (N,)
        if edges.confidence is not None:
            logits = logits + edges.confidence.log()
        return copy(logits, self.null.index_select(0, query_roles), absent, edges.fillers, edges.query)


def copy(
    logits: Float[Tensor, " N"],
    null: Float[Tensor, " B"],
    absent: Bool[Tensor, " N"],
    fillers: Int[Tensor, " N"],
    query: Int[Tensor, " N"],
) -> Recalled:
    """The softmax over the slots of each query and its null slot."""
    logits = logits.masked_fill(absent, -torch.inf)
    log_total = torch.logaddexp(segment_logsumexp(logits, query, len(null)), null)
    return Recalled(logits - log_total.index_select(0, query), null - log_total, fillers, query)


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
