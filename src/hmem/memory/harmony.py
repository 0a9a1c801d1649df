"""The Harmony of a memory state, and its maximum by a dense solve: the reference for `hmem.memory.completion`.

A (D, D) matrix per query and O(D³) work each make this slow. It says what the fast way must compute.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from hmem.errors import StiffnessError


def harmony(
    state: Float[Tensor, "B D"],
    memory: Float[Tensor, "B D"],
    weight: Float[Tensor, "B D D"],
    bias: Float[Tensor, "B D"],
    stiffness: float,
) -> Float[Tensor, " B"]:
    """How well `state` agrees with what the model believes and with the memory it started from (paper, eq. 7).

        𝓗(m) = ½ (mᵀ W m + bᵀ m) − λ/2 ‖M − m‖²

    The paper prints bᵀ without its m.
    """
    belief = ((state.unsqueeze(1) @ weight).squeeze(1) * state).sum(1) + (bias * state).sum(1)  # (B,)
    return belief / 2 - stiffness / 2 * (memory - state).square().sum(1)


def complete(
    memory: Float[Tensor, "B D"], weight: Float[Tensor, "B D D"], bias: Float[Tensor, "B D"], stiffness: float
) -> Float[Tensor, "B D"]:
    """The memory state of greatest Harmony near `memory` (paper, eq. 8).

    Solves (λI − W) m = λM + b/2, where λ is `stiffness`. The paper prints −2 times this solution, which is no
    maximum; see docs/math.md. With `stiffness=math.inf` the memory is returned unchanged.
    """
    if math.isinf(stiffness):
        return memory
    eye = torch.eye(memory.shape[1], dtype=memory.dtype, device=memory.device)
    # the factor exists only if λ exceeds the top eigenvalue, and so only if there is a maximum
    factor, failed = torch.linalg.cholesky_ex(stiffness * eye - weight)  # (B, D, D), (B,)
    if failed.any():
        raise StiffnessError(
            f"stiffness {stiffness} is not above the top eigenvalue of a finite weight for {int((failed > 0).sum())} "
            f"of {len(memory)} queries, so their Harmony has no maximum; raise it, or scale the weight with bound_scale"
        )
    target = stiffness * memory + bias / 2  # (B, D)
    return torch.cholesky_solve(target.unsqueeze(2), factor).squeeze(2)


def local_weight(
    filter_vector: Float[Tensor, "B D"], global_weight: Float[Tensor, "D D"], scale: Float[Tensor, " B"]
) -> Float[Tensor, "B D D"]:
    """What the model believes about one memory: W_i = s · diag(f) W_global diag(f) (paper, eq. 9, without s)."""
    return scale[:, None, None] * filter_vector[:, :, None] * global_weight * filter_vector[:, None, :]
