"""The read-out: what is unbound, seen as the asked role would have it.

Unbinding gives a weighted sum of the neighbors' own vectors. An actor's profession may be among them; their language
rarely is, and no weights turn a film into one. The read-out can: a few linear maps, shared by all roles and mixed for
each, and a vector for each role, what its answers have in common. And what is unbound grows with the neighborhood, so
that answers about hubs are sure of themselves for no reason; with `damping` it is divided by a power of its load,

    ê_o = (e_o + Σ_k t_qk B_k e_o) / (1 + Σ_c w_c)^γ_q + v_q.

For a memory as it stands that is as linear as unbinding, so the share of every stored fact in an answer stays exact.
The paper has none of it: B, γ and v are 0 there.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

START = 0.1  # of the mixtures; with the maps' own size a gentle nudge at first


class ReadOut(nn.Module):
    maps: Float[Tensor, "K de de"]
    mixture: Float[Tensor, "roles K"]
    damping: Float[Tensor, " roles"] | None  # γ_q; None where nothing is divided
    usual: Float[Tensor, "roles de"]

    def __init__(self, num_roles: int, entity_dim: int, num_maps: int, damping: float | None = None) -> None:
        super().__init__()
        self.maps = nn.Parameter(torch.randn(num_maps, entity_dim, entity_dim) / entity_dim)
        self.mixture = nn.Parameter(START * torch.randn(num_roles, num_maps))
        self.damping = None if damping is None else nn.Parameter(torch.full((num_roles,), damping))
        self.usual = nn.Parameter(torch.zeros(num_roles, entity_dim))  # v_q

    def forward(
        self, unbound: Float[Tensor, "B de"], roles: Int[Tensor, " B"], load: Float[Tensor, " B"] | None
    ) -> Float[Tensor, "B de"]:
        turned = torch.einsum("bd,kde->bke", unbound, self.maps)  # (B, K, de)
        mixed = (self.mixture.index_select(0, roles)[:, :, None] * turned).sum(1)  # (B, de)
        return self._damped(unbound + mixed, roles, load) + self.usual.index_select(0, roles)

    def back(
        self, wanted: Float[Tensor, "B de"], roles: Int[Tensor, " B"], load: Float[Tensor, " B"] | None
    ) -> Float[Tensor, "B de"]:
        """The vector whose match with anything unbound is that of `wanted` with what is read out of it, v_q aside."""
        turned = torch.einsum("bd,ked->bke", wanted, self.maps)  # (B, K, de)
        mixed = (self.mixture.index_select(0, roles)[:, :, None] * turned).sum(1)  # (B, de)
        return self._damped(wanted + mixed, roles, load)

    def _damped(
        self, vectors: Float[Tensor, "B de"], roles: Int[Tensor, " B"], load: Float[Tensor, " B"] | None
    ) -> Float[Tensor, "B de"]:
        if self.damping is None:
            return vectors
        assert load is not None, "what is unbound is damped by Σ_c w_c"
        return vectors * (1 + load).pow(-self.damping.index_select(0, roles))[:, None]
