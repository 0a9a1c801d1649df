"""Binding: one vector that stands for "this filler in this role" (paper, section 3).

A binding is a pair of maps, `bind(role, filler) -> memory` and `unbind(role, memory) -> filler`, the second inverting
the first approximately, or exactly for the roles its docstring names. Both are linear in each argument, so the
memory of a whole neighborhood is a sum of bindings. Neither normalizes anything: unit roles (tensor product) and
whitened vectors (convolution) are made by the caller, see `hmem.memory.decorrelate`.
"""

from abc import ABC, abstractmethod
from typing import Literal, assert_never, final

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from hmem.errors import ConfigError


class Binding(ABC):
    """How a role and a filler become one flat memory, and how a role gets its filler back."""

    @abstractmethod
    def memory_dim(self, entity_dim: int, relation_dim: int) -> int:
        """The size D of a memory for fillers of `entity_dim` and roles of `relation_dim` components."""

    @abstractmethod
    def bind(self, role: Float[Tensor, "*#batch dr"], filler: Float[Tensor, "*#batch de"]) -> Float[Tensor, "*batch D"]:
        """The memory of one filler in one role."""

    @abstractmethod
    def unbind(
        self, role: Float[Tensor, "*#batch dr"], memory: Float[Tensor, "*#batch D"]
    ) -> Float[Tensor, "*batch de"]:
        """What `memory` holds in `role`."""


@final
class TensorProduct(Binding):
    """r ⊗ e, unbound by r · M (paper, eq. 1 and 3). Exact for unit roles, and across orthogonal ones.

    The dr × de matrix is kept flat, M[r·de + e], so that every binding has memories of shape (..., D).
    """

    def memory_dim(self, entity_dim: int, relation_dim: int) -> int:
        return relation_dim * entity_dim

    def bind(self, role: Float[Tensor, "*#batch dr"], filler: Float[Tensor, "*#batch de"]) -> Float[Tensor, "*batch D"]:
        return (role.unsqueeze(-1) * filler.unsqueeze(-2)).flatten(-2)  # (..., dr, de) -> (..., D)

    def unbind(
        self, role: Float[Tensor, "*#batch dr"], memory: Float[Tensor, "*#batch D"]
    ) -> Float[Tensor, "*batch de"]:
        rows, columns = role.shape[-1], memory.shape[-1] // role.shape[-1]
        matrix = memory.reshape(*memory.shape[:-1], rows, columns)  # (..., dr, de)
        return (role.unsqueeze(-2) @ matrix).squeeze(-2)  # (..., de)


@final
class CircularConvolution(Binding):
    """r ⊛ e, unbound by the circular correlation r ⋆ M (paper, eq. 2 and 4).

    In Fourier space binding is a product with F(r) and unbinding one with its conjugate, so unbinding is exact when
    every |F(r)| is 1 and otherwise good for roles with independent components of variance 1/d (paper, Appendix 1).
    """

    def memory_dim(self, entity_dim: int, relation_dim: int) -> int:
        _require_equal_dims(self, entity_dim, relation_dim)
        return entity_dim

    def bind(self, role: Float[Tensor, "*#batch d"], filler: Float[Tensor, "*#batch d"]) -> Float[Tensor, "*batch d"]:
        # F(r ⊛ e) = F(r) ⊙ F(e)
        return _from_spectrum(_spectrum(role) * _spectrum(filler), filler.shape[-1])

    def unbind(self, role: Float[Tensor, "*#batch d"], memory: Float[Tensor, "*#batch d"]) -> Float[Tensor, "*batch d"]:
        # F(r ⋆ M) = conj F(r) ⊙ F(M)
        return _from_spectrum(_spectrum(role).conj() * _spectrum(memory), memory.shape[-1])


@final
class Hadamard(Binding):
    """r ⊙ e, unbound by r ⊙ M; not in the paper. Exact when every component of the role is 1 or −1.

    Unbinding multiplies and does not divide: with uniform weights and λ = ∞ the model is then the published baseline
    oDistMult-ERAvg (Albooyeh et al. 2020), and a role component near zero cannot blow a memory up.
    """

    def memory_dim(self, entity_dim: int, relation_dim: int) -> int:
        _require_equal_dims(self, entity_dim, relation_dim)
        return entity_dim

    def bind(self, role: Float[Tensor, "*#batch d"], filler: Float[Tensor, "*#batch d"]) -> Float[Tensor, "*batch d"]:
        return role * filler

    def unbind(self, role: Float[Tensor, "*#batch d"], memory: Float[Tensor, "*#batch d"]) -> Float[Tensor, "*batch d"]:
        return role * memory


def make_binding(name: Literal["tpr", "cconv", "hadamard"]) -> Binding:
    """The binding a configuration names."""
    match name:
        case "tpr":
            return TensorProduct()
        case "cconv":
            return CircularConvolution()
        case "hadamard":
            return Hadamard()
        case _:
            assert_never(name)


# A batch can be empty (queries about entities without facts), and MKL refuses to transform nothing.


def _spectrum(vectors: Float[Tensor, "*batch d"]) -> Complex[Tensor, "*batch half"]:
    if vectors.numel() == 0:
        return torch.complex(vectors, vectors)[..., : vectors.shape[-1] // 2 + 1]
    spectrum: Tensor = torch.fft.rfft(vectors)
    return spectrum


def _from_spectrum(spectrum: Complex[Tensor, "*batch half"], dim: int) -> Float[Tensor, "*batch d"]:
    if spectrum.numel() == 0:
        return spectrum.real.new_zeros(*spectrum.shape[:-1], dim)
    vectors: Tensor = torch.fft.irfft(spectrum, n=dim)  # n is given because an odd size leaves no trace in the spectrum
    return vectors


def _require_equal_dims(binding: Binding, entity_dim: int, relation_dim: int) -> None:
    if relation_dim != entity_dim:
        expected = f"equal entity_dim={entity_dim} for {type(binding).__name__}"
        problem = f"relation_dim={relation_dim} must {expected}"
        raise ConfigError(problem, option="relation_dim", found=relation_dim, expected=expected)
