from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.memory.binding import CircularConvolution, TensorProduct
from hmem.memory.decorrelate import (
    Whitening,
    eigh_inverse_root,
    newton_schulz_inverse_root,
    normalize_roles,
    whiten,
)
from tests import oracles
from tests.memory.problems import LAW, SEEDS, generator, normal, with_spectrum


def correlated(seed: int, count: int, dim: int) -> Tensor:
    """Vectors of about unit variance whose components depend on each other, around a mean that is not zero."""
    rng = generator(seed)
    mixing = torch.eye(dim, dtype=torch.float64) + 0.5 * normal(rng, dim, dim) / dim**0.5
    vectors: Tensor = normal(rng, count, dim) @ mixing + normal(rng, dim)
    return vectors


@pytest.mark.parametrize("method", ["eigh", "newton-schulz"])
@given(seed=SEEDS, dim=st.integers(1, 9), shrinkage=st.floats(0.01, 1))
@LAW
def test_equals_the_formula_of_the_appendix(
    method: Literal["eigh", "newton-schulz"], seed: int, dim: int, shrinkage: float
) -> None:
    entity, role = correlated(seed, 12, dim), normal(generator(seed), 4, dim)
    mean, root = Whitening(shrinkage, method).statistics(entity, role)
    together = torch.cat([entity, role])
    covariance = (1 - shrinkage) * oracles.covariance(together) + shrinkage * torch.eye(dim, dtype=torch.float64)
    torch.testing.assert_close(mean, together.mean(0))
    torch.testing.assert_close(root, oracles.inverse_root(covariance), rtol=1e-9, atol=1e-9)
    expected = (entity - mean) @ oracles.inverse_root(covariance) / dim**0.5
    torch.testing.assert_close(whiten(entity, mean, root), expected, rtol=1e-9, atol=1e-9)


def test_the_whitened_covariance_is_near_a_d_th_of_the_identity() -> None:
    dim = 16
    entity, role = correlated(0, 4000, dim), correlated(0, 40, dim)
    for shrinkage, distance in ((1e-6, 1e-3), (0.2, 0.25)):
        mean, root = Whitening(shrinkage).statistics(entity, role)
        whitened = whiten(torch.cat([entity, role]), mean, root)
        assert (dim * torch.cov(whitened.T, correction=0) - torch.eye(dim)).abs().max() < distance
        assert abs(whitened.square().sum(1).mean() - 1) < distance
    raw = torch.cov(entity.T)
    assert (raw - torch.eye(dim)).abs().max() > 0.3  # which it was not before


def test_whitening_makes_convolution_invertible() -> None:
    """Correlated vectors with a mean unbind badly, whitened ones as well as random ones."""
    dim, binding = 64, CircularConvolution()
    entity, role = correlated(0, 2000, dim) + 1, correlated(1, 200, dim) + 1

    def similarity(entity: Tensor, role: Tensor) -> float:
        retrieved = binding.unbind(role, binding.bind(role, entity[:200]))
        return float(torch.cosine_similarity(retrieved - retrieved.mean(0), entity[:200] - entity.mean(0)).mean())

    mean, root = Whitening().statistics(entity, role)
    assert similarity(whiten(entity, mean, root), whiten(role, mean, root)) > 0.6
    assert similarity(entity, role) < 0.3


def test_no_gradient_goes_through_the_covariance() -> None:
    entity, role = correlated(0, 20, 5).requires_grad_(), correlated(1, 4, 5).requires_grad_()
    mean, root = Whitening().statistics(entity, role)
    assert not mean.requires_grad
    assert not root.requires_grad
    whitened = whiten(entity, mean, root)
    (gradient,) = torch.autograd.grad(whitened[3, 2], entity)
    expected = torch.zeros_like(entity)
    expected[3] = root[:, 2] / 5**0.5  # as if the statistics were constants
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("dim", [1, 8, 80, 200])
@pytest.mark.parametrize("largest", [0.2, 1.0, 100.0])
def test_newton_schulz_agrees_with_eigh(dtype: torch.dtype, tolerance: float, dim: int, largest: float) -> None:
    values = torch.logspace(torch.log10(torch.tensor(0.2)).item(), torch.log10(torch.tensor(largest)).item(), dim)
    covariance = with_spectrum(generator(dim), values.double()).to(dtype)
    distance = newton_schulz_inverse_root(covariance) - eigh_inverse_root(covariance)
    assert distance.abs().max() <= tolerance


def test_autocast_does_not_coarsen_the_statistics() -> None:
    entity, role = correlated(0, 50, 8).float(), correlated(1, 5, 8).float()
    expected = Whitening(method="newton-schulz").statistics(entity, role)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(Whitening(method="newton-schulz").statistics(entity, role)[1], expected[1])


@given(seed=SEEDS, dim=st.integers(1, 20))
@LAW
def test_normalized_roles_unbind_exactly(seed: int, dim: int) -> None:
    rng = generator(seed)
    role, filler = normalize_roles(1e3 * normal(rng, 4, dim)), normal(rng, 4, 3)
    torch.testing.assert_close(role.square().sum(1), torch.ones(4, dtype=torch.float64))
    torch.testing.assert_close(TensorProduct().unbind(role, TensorProduct().bind(role, filler)), filler)


def test_a_zero_role_stays_zero_with_a_finite_gradient() -> None:
    role = torch.zeros(2, 3, requires_grad=True)
    normalized = normalize_roles(role)
    (gradient,) = torch.autograd.grad(normalized.sum(), role)
    assert not normalized.any()
    assert torch.equal(gradient, torch.ones(2, 3))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_cuda_whitens_without_a_synchronization(cuda: torch.device) -> None:
    entity, role = correlated(0, 500, 40), correlated(1, 5, 40)
    there = entity.to(cuda), role.to(cuda)
    Whitening().statistics(*there)  # libraries may synchronize when they start
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    mean, root = Whitening().statistics(*there)
    torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(root.cpu(), Whitening().statistics(entity, role)[1])
    torch.testing.assert_close(mean.cpu(), Whitening().statistics(entity, role)[0])
