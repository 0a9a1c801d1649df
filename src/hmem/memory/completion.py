"""Completion: the state of greatest Harmony near an assembled memory (paper, section 4).

    f   = W_map M + b_map                        filter vector
    W_i = s · diag(f) W_global diag(f)           local weight, s ≤ 1 so that ‖W_i‖_F ≤ λ − ε
    M̂   = (λI − W_i)⁻¹ (λM + b/2)                b = B e_i

Departures from the paper: its condition λ > ‖W_global‖ does not bound W_i, so each W_i is scaled on its own; the
bias depends on the query's entity, as in the authors' code, and is zero for one without an embedding.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from hmem.config import MARGIN
from hmem.errors import ConfigError
from hmem.memory.conjugate_gradient import SolveReport, solve, steps_needed, warn_if_unconverged


def bound_scale(
    filter_vector: Float[Tensor, "B D"], global_weight: Float[Tensor, "D D"], stiffness: float, margin: float
) -> Float[Tensor, " B"]:
    """The greatest s ≤ 1 with ‖s · diag(f) W diag(f)‖_F ≤ λ − ε, where ε is `margin`.

    The Frobenius norm is never below the spectral one, so λI − W_i has no eigenvalue below ε. It costs one matrix
    product: ‖diag(f) W diag(f)‖_F² = (f²)ᵀ (W∘W) (f²). Its fourth powers are taken of f divided by its largest
    component, and so overflow only where f² itself would.
    """
    largest = filter_vector.detach().abs().amax(dim=1)  # (B,); s does not depend on it, so neither does its gradient
    largest = torch.where(largest > 0, largest, 1.0)
    squares = (filter_vector / largest.unsqueeze(1)).square()  # (B, D), none above 1
    # (B,) squared, and divided by the 4th power of `largest`
    norm = ((squares @ global_weight.square()) * squares).sum(1)
    norm = norm.clamp_min(torch.finfo(norm.dtype).tiny).sqrt() * largest.square()  # the root of 0 has no gradient
    return (stiffness - margin) / norm.clamp_min(stiffness - margin)


def attainable(tolerance: float, device: torch.device) -> float:
    """The tolerance, or the best that matrix products of the precision now in force can reach.

    TF32 keeps 10 bits of each factor and bfloat16 7; asking conjugate gradients for more would only repeat rounding.
    """
    if device.type != "cuda":
        return tolerance
    return max(tolerance, {"highest": 0.0, "high": 5e-4, "medium": 2e-2}[torch.get_float32_matmul_precision()])


class Completion(nn.Module):
    """Completes memories with finite stiffness; starts close to the identity.

    `local=False` is the paper's global-weight ablation, f = 1. `last_report` tells how the latest solve ended. On a CPU
    and in evaluation a solve that failed is a NumericalWarning at once; in training on another device nothing here
    waits for the result, and the caller passes `last_report` to `warn_if_unconverged` when it can afford to.
    """

    filter_map: Float[Tensor, "D D"] | None
    filter_bias: Float[Tensor, " D"] | None
    global_weight: Float[Tensor, "D D"]
    bias_map: Float[Tensor, "D de"]
    last_report: SolveReport | None

    def __init__(
        self,
        memory_dim: int,
        entity_dim: int,
        stiffness: float,
        margin: float = MARGIN,
        local: bool = True,
        tolerance: float = 1e-6,
        max_steps: int | None = None,
    ) -> None:
        super().__init__()
        if not 0 < margin < stiffness < math.inf:
            raise ConfigError(f"expected 0 < margin < stiffness < inf, received margin={margin}, stiffness={stiffness}")
        self.stiffness = stiffness
        self.margin = margin
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.last_report = None
        # ‖W_global‖_F starts near a tenth of its bound, and the filter near 1
        self.global_weight = nn.Parameter(torch.randn(memory_dim, memory_dim) * 0.1 * (stiffness - margin) / memory_dim)
        self.bias_map = nn.Parameter(torch.zeros(memory_dim, entity_dim))
        self.filter_map = nn.Parameter(torch.randn(memory_dim, memory_dim) * 0.01 / memory_dim**0.5) if local else None
        self.filter_bias = nn.Parameter(torch.ones(memory_dim)) if local else None

    def forward(self, memory: Float[Tensor, "B D"], query_entity_vec: Float[Tensor, "B de"]) -> Float[Tensor, "B D"]:
        """The completed memories. An entity without an embedding has a zero row in `query_entity_vec`."""
        filter_vector = self.filter_vector(memory)  # (B, D)
        weight = self.symmetric_weight()  # (D, D)
        scale = bound_scale(filter_vector, weight, self.stiffness, self.margin)  # (B,)
        target = self.stiffness * memory + linear(query_entity_vec, self.bias_map) / 2  # (B, D)
        tolerance = attainable(self.tolerance, memory.device)
        steps = self.max_steps or steps_needed(self.stiffness, self.margin, tolerance)
        completed, self.last_report = solve(target, filter_vector, weight, scale, self.stiffness, tolerance, steps)
        if completed.device.type == "cpu" or not self.training:
            warn_if_unconverged(self.last_report)
        return completed

    def filter_vector(self, memory: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """f = W_map M + b_map: which parts of the global weight apply to this memory."""
        if self.filter_map is None:
            return torch.ones_like(memory)
        return linear(memory, self.filter_map, self.filter_bias)

    def symmetric_weight(self) -> Float[Tensor, "D D"]:
        """W_global = (A + Aᵀ)/2 of the parameter A."""
        return (self.global_weight + self.global_weight.mT) / 2


class NoCompletion(nn.Module):
    """Infinite stiffness: a memory stays as it was assembled."""

    last_report: None = None

    def forward(self, memory: Float[Tensor, "B D"], query_entity_vec: Float[Tensor, "B de"]) -> Float[Tensor, "B D"]:
        return memory


def make_completion(
    memory_dim: int, entity_dim: int, stiffness: float, local: bool = True
) -> Completion | NoCompletion:
    """The completion for a stiffness λ, which may be `math.inf`."""
    return NoCompletion() if math.isinf(stiffness) else Completion(memory_dim, entity_dim, stiffness, local=local)
