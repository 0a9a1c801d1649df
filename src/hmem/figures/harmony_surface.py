"""The Harmony of every state of a two-dimensional memory, where it can be seen.

    𝓗(m) = ½ (mᵀ W m + bᵀ m) − λ/2 ‖M − m‖²          M̂ = (λI − W)⁻¹ (λM + b/2)

One memory M and one belief W, b, at two stiffnesses. Just above the top eigenvalue of W the surface is a long ridge
along what W believes, and its top lies far from M; with a large λ it is a round hill beside M.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hmem.figures.tables import TableRow, Tables
from hmem.memory.harmony import complete, harmony

MEMORY = (0.9, -0.25)
BIAS = (0.1, 0.2)
EIGENVALUES = (0.9, -0.3)  # of W: agreement along the first axis is rewarded, along the second punished
ANGLE = 35.0  # degrees from m₁ to the first eigenvector of W
STIFFNESSES = (1.1, 6.0)
PADDING = 0.9  # around M, the optima and the origin


@dataclass(frozen=True, kw_only=True)
class Surface:
    stiffness: float
    values: Float[np.ndarray, "n n"]  # 𝓗 at (first[column], second[row])
    optimum: Float[np.ndarray, " 2"]
    top: float  # 𝓗 at the optimum


@dataclass(frozen=True, kw_only=True)
class HarmonySurfaces:
    memory: Float[np.ndarray, " 2"]
    weight: Float[np.ndarray, "2 2"]
    bias: Float[np.ndarray, " 2"]
    first: Float[np.ndarray, " n"]
    second: Float[np.ndarray, " n"]
    path: Float[np.ndarray, "steps 2"]  # the optima of all stiffnesses from the lowest to nearly infinite
    surfaces: tuple[Surface, ...]

    def tables(self) -> Tables:
        grid: list[TableRow] = []
        optima: list[TableRow] = []
        for surface in self.surfaces:
            for row, second in enumerate(self.second.tolist()):
                for column, first in enumerate(self.first.tolist()):
                    value = float(surface.values[row, column])
                    grid.append({"stiffness": surface.stiffness, "m1": first, "m2": second, "harmony": value})
            points = [*self.memory.tolist(), *surface.optimum.tolist()]
            named = zip(("memory1", "memory2", "optimum1", "optimum2"), points, strict=True)
            optima.append({"stiffness": surface.stiffness, **dict(named), "harmony": surface.top})
        return {"harmony": grid, "harmony-optima": optima}


def harmony_surfaces(stiffnesses: Sequence[float] = STIFFNESSES, *, resolution: int = 81) -> HarmonySurfaces:
    """The surfaces over one square that holds the memory and all optima."""
    memory, bias = (torch.tensor(numbers, dtype=torch.float64) for numbers in (MEMORY, BIAS))
    weight = belief()
    optima = [optimum(memory, weight, bias, stiffness) for stiffness in stiffnesses]
    points = torch.stack([memory, torch.zeros_like(memory), *optima])
    low, high = points.amin(0), points.amax(0)
    half = float((high - low).max()) / 2 + PADDING
    first, second = (
        torch.linspace(middle - half, middle + half, resolution, dtype=torch.float64)
        for middle in ((low + high) / 2).tolist()
    )
    states = torch.cartesian_prod(second, first).flip(1)  # (n · n, 2), m₁ changing fastest

    def height(states: Float[Tensor, "n 2"], stiffness: float) -> Float[Tensor, " n"]:
        count = len(states)
        return harmony(states, memory.expand(count, 2), weight.expand(count, 2, 2), bias.expand(count, 2), stiffness)

    surfaces = []
    for stiffness, best in zip(stiffnesses, optima, strict=True):
        values = height(states, stiffness).view(resolution, resolution)
        top = float(height(best.unsqueeze(0), stiffness))
        surfaces.append(Surface(stiffness=stiffness, values=values.numpy(), optimum=best.numpy(), top=top))
    sweep = np.geomspace(min(stiffnesses), 1000 * max(stiffnesses), 60)
    return HarmonySurfaces(
        memory=memory.numpy(),
        weight=weight.numpy(),
        bias=bias.numpy(),
        first=first.numpy(),
        second=second.numpy(),
        path=torch.stack([optimum(memory, weight, bias, stiffness) for stiffness in sweep.tolist()]).numpy(),
        surfaces=tuple(surfaces),
    )


def belief() -> Float[Tensor, "2 2"]:
    """The symmetric W with the eigenvalues and the direction above."""
    angle = np.deg2rad(ANGLE)
    basis = torch.tensor([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], dtype=torch.float64)
    return basis @ torch.diag(torch.tensor(EIGENVALUES, dtype=torch.float64)) @ basis.mT


def optimum(
    memory: Float[Tensor, " 2"], weight: Float[Tensor, "2 2"], bias: Float[Tensor, " 2"], stiffness: float
) -> Float[Tensor, " 2"]:
    """M̂ of one memory."""
    return complete(memory.unsqueeze(0), weight.unsqueeze(0), bias.unsqueeze(0), stiffness).squeeze(0)
