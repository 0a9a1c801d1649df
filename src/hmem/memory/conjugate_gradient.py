"""A Harmony maximum for every query without a matrix for any.

The local weight is a diagonal scaling of one shared matrix, so (λI − W_i) x = λx − s·f⊙((f⊙x) W): one matrix product
applies it to a whole batch. Conjugate gradients need nothing else, and converge in a dozen steps because ‖W_i‖ stays a
margin below λ. The gradient is implicit: one more solve, and no step of the first is kept.
"""

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from hmem.errors import NumericalWarning
from hmem.memory.cuda_graph import Replayed


@dataclass(frozen=True, eq=False)
class SolveReport:
    """How a solve ended.

    `residual` is ‖t − A x‖ / (‖t‖ + λ‖x‖) with A = λI − W_i and t the target, computed afresh from the returned x. It
    says by how much A and t would have to change for x to be exact, and unlike ‖t − A x‖ / ‖t‖ it can come down to
    the precision of the numbers whatever the stiffness.
    """

    iterations: int
    residual: Float[Tensor, " B"]
    tolerance: float


def warn_if_unconverged(report: SolveReport) -> None:
    """Says so if any query's residual is above the tolerance, or is not a number. Synchronizes with the device."""
    unsolved = int((~(report.residual <= report.tolerance)).sum())
    if unsolved:
        worst = float(report.residual.max())  # NaN if any is
        warnings.warn(
            f"{unsolved} of {len(report.residual)} memories are not completed: after {report.iterations} steps the "
            f"relative residual is {worst:.1e}, expected {report.tolerance:.1e} or less. Likely causes: the local "
            "weight is not bounded below the stiffness (no bound_scale, or too small a margin); a memory "
            f"or a parameter is not finite (the training diverged); the tolerance is finer than "
            f"{report.residual.dtype} (or TF32) can resolve, or max_steps is too small for it.",
            NumericalWarning,
            stacklevel=2,
        )


@lru_cache
def steps_needed(stiffness: float, margin: float, tolerance: float) -> int:
    """The number of steps after which every residual is below `tolerance`, if ‖W_i‖_F ≤ λ − ε with ε the `margin`.

    After k steps the residual is at most √κ · max_z |p(z)| for any polynomial p of degree k with p(0) = 1, z over the
    eigenvalues λ − σ of the system. These lie in [ε, 2λ − ε], so κ = (2λ − ε)/ε, and Chebyshev's polynomial for that
    interval needs 21 steps for λ = 1, ε = ¼ and 1e-6. But a Frobenius norm has no room for many large σ: the i-th
    largest is at most (λ − ε)/√i. So let p be zero at the j largest and Chebyshev's for the rest, where |σ| ≤ τ_j:

        max_z |p(z)| ≤ 2 ρ^(k−j) Π_{i≤j} (σ_i + τ_j)/(λ − σ_i),    τ_j = (λ − ε)/√(j+1),    ρ = τ_j / (λ + √(λ² − τ_j²))

    With the best j that is 15 steps. Half the tolerance is aimed at, which leaves the rest to rounding.
    """
    bound = stiffness - margin
    kappa = (2 * stiffness - margin) / margin
    sigma = [bound / math.sqrt(i + 1) for i in range(64)]
    fewest = math.inf
    for j, tau in enumerate(sigma):
        rho = tau / (stiffness + math.sqrt(stiffness**2 - tau**2))
        outliers = sum(math.log((largest + tau) / (stiffness - largest)) for largest in sigma[:j])
        chebyshev = (math.log(2 * math.sqrt(kappa) / (tolerance / 2)) + outliers) / -math.log(rho)
        fewest = min(fewest, j + max(1, math.ceil(chebyshev)))
    return int(fewest)


def solve(
    target: Float[Tensor, "B D"],
    filter_vector: Float[Tensor, "B D"],
    global_weight: Float[Tensor, "D D"],
    scale: Float[Tensor, " B"],
    stiffness: float,
    tolerance: float,
    max_steps: int,
) -> tuple[Float[Tensor, "B D"], SolveReport]:
    """x with (λI − s·diag(f) W diag(f)) x = target for each query, W symmetric, and how well it was found.

    Differentiable once in all four tensors; the gradient of W is that of a symmetric matrix. On a CPU it stops as soon
    as every query is solved; elsewhere it takes `max_steps` steps, since asking would stall the device.
    """
    dtype = global_weight.dtype
    with torch.autocast(target.device.type, enabled=False):
        completed, residual, iterations = _Solve.apply(  # type: ignore[no-untyped-call]
            target.to(dtype), filter_vector.to(dtype), global_weight, scale.to(dtype), stiffness, tolerance, max_steps
        )
    return completed, SolveReport(iterations, residual, tolerance)


class _Solve(Function):
    """Solves in both directions. With A = λI − s·diag(f) W diag(f), x = A⁻¹ t and u = A⁻¹ ∂L/∂x:

    ∂L/∂t = u
    ∂L/∂f = s·(u⊙W(f⊙x) + x⊙W(f⊙u))
    ∂L/∂W = Σ_b s·(f⊙u)(f⊙x)ᵀ, made symmetric
    ∂L/∂s = (f⊙u)ᵀ W (f⊙x)
    """

    @staticmethod
    def forward(
        ctx: Any,
        target: Tensor,
        filter_vector: Tensor,
        weight: Tensor,
        scale: Tensor,
        stiffness: float,
        tolerance: float,
        max_steps: int,
    ) -> tuple[Tensor, Tensor, int]:
        ctx.settings = {"stiffness": stiffness, "tolerance": tolerance, "max_steps": max_steps}
        x, residual, steps = _FORWARD(target, filter_vector, weight, scale, **ctx.settings)
        ctx.save_for_backward(x, filter_vector, weight, scale)
        ctx.mark_non_differentiable(residual)
        return x, residual, _count(steps, max_steps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x, filter_vector, weight, scale = ctx.saved_tensors
        with torch.autocast(x.device.type, enabled=False):
            u, residual, steps, d_filter, d_weight, d_scale = _BACKWARD(
                gradient, x, filter_vector, weight, scale, **ctx.settings
            )
            if u.device.type == "cpu":
                iterations = _count(steps, ctx.settings["max_steps"])
                warn_if_unconverged(SolveReport(iterations, residual, ctx.settings["tolerance"]))
        return u, d_filter, d_weight, d_scale, None, None, None


def _count(steps: Tensor, max_steps: int) -> int:
    """The number of steps taken; elsewhere than on a CPU all are taken, and nothing has to wait for the device."""
    return int(steps) if steps.device.type == "cpu" else max_steps


def _forward(
    target: Tensor, f: Tensor, weight: Tensor, scale: Tensor, *, stiffness: float, tolerance: float, max_steps: int
) -> tuple[Tensor, ...]:
    gate = scale.sqrt().unsqueeze(1) * f  # (B, D); the square root keeps a huge f from overflowing
    x, steps = _conjugate_gradient(target, gate, weight, stiffness, tolerance, max_steps)
    return x, _relative_residual(x, target, gate, weight, stiffness), steps


def _backward(
    gradient: Tensor,
    x: Tensor,
    f: Tensor,
    weight: Tensor,
    scale: Tensor,
    *,
    stiffness: float,
    tolerance: float,
    max_steps: int,
) -> tuple[Tensor, ...]:
    s = scale.unsqueeze(1)  # (B, 1)
    # u = A⁻¹ ∂L/∂x
    u, residual, steps = _forward(
        gradient, f, weight, scale, stiffness=stiffness, tolerance=tolerance, max_steps=max_steps
    )
    fx, fu = f * x, f * u  # (B, D)
    w_fx = fx @ weight  # (B, D)
    d_weight = (s * fu).mT @ fx  # (D, D)
    d_filter = s * (u * w_fx + x * (fu @ weight))
    return u, residual, steps, d_filter, (d_weight + d_weight.mT) / 2, (fu * w_fx).sum(1)


# On CUDA each direction is one recorded launch instead of some hundred small ones.
_FORWARD, _BACKWARD = Replayed(_forward), Replayed(_backward)


def _apply(x: Tensor, gate: Tensor, weight: Tensor, stiffness: float) -> Tensor:
    """A x = λx − g⊙((g⊙x) W), with g = √s f."""
    return stiffness * x - gate * ((gate * x) @ weight)


def _relative_residual(
    x: Float[Tensor, "B D"], target: Float[Tensor, "B D"], gate: Float[Tensor, "B D"], weight: Tensor, stiffness: float
) -> Float[Tensor, " B"]:
    size = _size(target)
    # ‖t − A x‖ / (‖t‖ + λ‖x‖)
    error = torch.linalg.vector_norm((target - _apply(x, gate, weight, stiffness)) / size, dim=1)
    whole = torch.linalg.vector_norm(target / size, dim=1) + stiffness * torch.linalg.vector_norm(x / size, dim=1)
    relative: Tensor = error / torch.where(whole == 0, 1.0, whole)
    return relative


def _size(rows: Float[Tensor, "B D"]) -> Float[Tensor, "B 1"]:
    """The largest component of each row, or 1 for a row of zeros. Divided by it, no square under- or overflows."""
    largest = rows.abs().amax(dim=1, keepdim=True)
    return torch.where(largest > 0, largest, 1.0)


def _conjugate_gradient(
    target: Float[Tensor, "B D"],
    gate: Float[Tensor, "B D"],
    weight: Float[Tensor, "D D"],
    stiffness: float,
    tolerance: float,
    max_steps: int,
) -> tuple[Float[Tensor, "B D"], Int[Tensor, ""]]:
    """A⁻¹ t for each row, and the number of steps taken.

    Works on A/λ = I − g⊙((g⊙·) W), whose gate g is √(s/λ) f: every operation is a kernel launch, and those are what a
    GPU spends its time on here.
    """
    size = _size(target)
    smallest = torch.finfo(target.dtype).tiny  # keeps 0/0 away from rows that are already exact
    gate = gate / math.sqrt(stiffness)
    # x₀ = 0,  r₀ = t,  p₀ = r₀
    x = torch.zeros_like(target)
    r = target / size
    p = r
    rr = r.square().sum(1, keepdim=True)  # (B, 1)
    goal = (tolerance / 2) ** 2 * rr
    step = 0
    while step < max_steps and not (target.device.type == "cpu" and bool((rr <= goal).all())):
        step += 1
        # A p/λ = p − g⊙((g⊙p) W)
        ap = torch.addcmul(p, gate, (gate * p) @ weight, value=-1)
        # α = rᵀr / pᵀAp
        alpha = rr / (p * ap).sum(1, keepdim=True).clamp_min_(smallest)
        # x ← x + α p
        x.addcmul_(alpha, p)
        # r ← r − α A p
        r = torch.addcmul(r, alpha, ap, value=-1)
        # β = r'ᵀr' / rᵀr
        previous, rr = rr, r.square().sum(1, keepdim=True)
        beta = rr / previous.clamp_min_(smallest)
        # p ← r + β p
        p = torch.addcmul(r, beta, p)
    return x * (size / stiffness), torch.full((), step, device=target.device)
