"""The read-out: what is unbound, seen as the asked role would have it.

Unbinding gives a weighted sum of the neighbours' own vectors. An actor's profession may be among them; their language
rarely is, and no weights turn a film into one. The read-out can: a few linear maps, shared by all roles and mixed for
each, and a vector for each role, what its answers have in common,

    ê_o = e_o + Σ_k t_qk B_k e_o + v_q.

It is as linear as unbinding, so the share of every stored fact in an answer stays exact. The paper has none: B and v
are 0 there.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

START = 0.1  # of the mixtures; with the maps' own size a gentle nudge at first


class ReadOut(nn.Module):
    maps: Float[Tensor, "K de de"]
    mixture: Float[Tensor, "roles K"]
    usual: Float[Tensor, "roles de"]

    def __init__(self, num_roles: int, entity_dim: int, num_maps: int) -> None:
        super().__init__()
        self.maps = nn.Parameter(torch.randn(num_maps, entity_dim, entity_dim) / entity_dim)
        self.mixture = nn.Parameter(START * torch.randn(num_roles, num_maps))
        self.usual = nn.Parameter(torch.zeros(num_roles, entity_dim))  # v_q

    def forward(self, unbound: Float[Tensor, "B de"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B de"]:
        turned = torch.einsum("bd,kde->bke", unbound, self.maps)  # (B, K, de)
        mixed = (self.mixture.index_select(0, roles)[:, :, None] * turned).sum(1)  # (B, de)
        return unbound + mixed + self.usual.index_select(0, roles)

    def back(self, wanted: Float[Tensor, "B de"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B de"]:
        """The vector whose match with anything unbound is that of `wanted` with what is read out of it, v_q aside."""
        turned = torch.einsum("bd,ked->bke", wanted, self.maps)  # (B, K, de)
        return wanted + (self.mixture.index_select(0, roles)[:, :, None] * turned).sum(1)
