"""Vectors that bind well: whitened for circular convolution (paper, appendix 1), unit roles for tensor products."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

NEWTON_STEPS = 24  # enough while shrinkage is no less than 1e-6 of ‖Σ̂‖_F; each early step gains a factor 2.25


@dataclass(frozen=True)
class Whitening:
    """Makes entity and role vectors spherical, which convolution needs for its correlation to invert it.

        Σ̂ = (1 − α) Σ + α I         v̂ = (v − μ) Σ̂^(−½) / √d

    μ and Σ are the mean and covariance of all entity and role vectors together, α is `shrinkage`. They are constants
    to the gradient. The norm of v̂ is near 1 only while the variance of the raw components is near 1 or above, since
    α I dominates a smaller Σ: start the embeddings from N(0, 1). `method` is "newton-schulz" on CUDA, where it needs
    only matrix products and never waits, and "eigh" elsewhere, unless given.
    """

    shrinkage: float = 0.2
    method: Literal["auto", "eigh", "newton-schulz"] = "auto"

    @torch.no_grad()
    def statistics(
        self, entity: Float[Tensor, "E d"], role: Float[Tensor, "roles d"]
    ) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
        """μ and Σ̂^(−½), without gradient."""
        vectors = torch.cat([entity, role])  # (E + 2R, d)
        mean = vectors.mean(0)  # (d,)
        centered = vectors - mean
        with torch.autocast(vectors.device.type, enabled=False):
            # Σ̂ = (1 − α) EᵀE/n + α I
            covariance = centered.mT @ centered * ((1 - self.shrinkage) / len(vectors))  # (d, d)
            covariance.diagonal().add_(self.shrinkage)
            if self.method == "newton-schulz" or (self.method == "auto" and covariance.device.type == "cuda"):
                return mean, newton_schulz_inverse_root(covariance)
            return mean, eigh_inverse_root(covariance)


def whiten(
    vectors: Float[Tensor, "*batch d"], mean: Float[Tensor, " d"], root: Float[Tensor, "d d"]
) -> Float[Tensor, "*batch d"]:
    """v̂ = (v − μ) Σ̂^(−½) / √d with the statistics of a `Whitening`."""
    whitened: Tensor = (vectors - mean) @ (root / vectors.shape[-1] ** 0.5)
    return whitened


def eigh_inverse_root(covariance: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """Σ^(−½) = Q Λ^(−½) Qᵀ.

    In double precision, since eigenvalues err by a share of the largest and the smallest count most here: float32 would
    leave an error of 1e-4 where the largest is a thousand times the shrinkage.
    """
    values, basis = torch.linalg.eigh(covariance.double())
    root: Tensor = (basis * values.rsqrt()) @ basis.mT
    return root.to(covariance.dtype)


def newton_schulz_inverse_root(covariance: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """Σ^(−½) by matrix products alone (the coupled Newton–Schulz iteration; Higham 2008, eq. 6.35).

    Y → S^½ and Z → S^(−½) for S = Σ/c, where c = ‖Σ‖_F puts the eigenvalues of S into (0, 1].
    """
    size = torch.linalg.matrix_norm(covariance)
    eye = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
    # Y₀ = S,  Z₀ = I
    y, z = covariance / size, eye
    for _ in range(NEWTON_STEPS):
        # T = (3I − Z Y)/2
        t = 1.5 * eye - 0.5 * (z @ y)
        # Y ← Y T,  Z ← T Z
        y, z = y @ t, t @ z
    root: Tensor = z / size.sqrt()
    return (root + root.mT) / 2


def normalize_roles(role: Float[Tensor, "*batch dr"]) -> Float[Tensor, "*batch dr"]:
    """r/‖r‖, with which unbinding a tensor product is exact. A zero role stays zero, with a gradient of 1."""
    norm = torch.linalg.vector_norm(role, dim=-1, keepdim=True)
    return role / torch.where(norm > 0, norm, 1.0)
