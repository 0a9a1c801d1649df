import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.errors import StiffnessError
from hmem.memory.harmony import complete, harmony, local_weight
from tests import oracles
from tests.memory.problems import LAW, SEEDS, generator, normal, symmetric, with_spectrum

problems = given(seed=SEEDS, batch=st.integers(1, 4), dim=st.integers(1, 12), stiffness=st.floats(0.5, 50))


def random_problem(seed: int, batch: int, dim: int, top_eigenvalue: float) -> tuple[Tensor, Tensor, Tensor]:
    """Memory, weight and bias, the weight with eigenvalues up to `top_eigenvalue` and down to minus twice that."""
    rng = generator(seed)
    weights = []
    for _ in range(batch):
        values = top_eigenvalue * (1 - 3 * torch.rand(dim, generator=rng, dtype=torch.float64))
        values[0] = top_eigenvalue
        weights.append(with_spectrum(rng, values))
    return normal(rng, batch, dim), torch.stack(weights), normal(rng, batch, dim)


@problems
@LAW
def test_harmony_gradient_vanishes_at_the_completed_memory(seed: int, batch: int, dim: int, stiffness: float) -> None:
    memory, weight, bias = random_problem(seed, batch, dim, top_eigenvalue=0.9 * stiffness)
    completed = complete(memory, weight, bias, stiffness).requires_grad_()
    (gradient,) = torch.autograd.grad(harmony(completed, memory, weight, bias, stiffness).sum(), completed)
    assert gradient.abs().max() <= 1e-10 * (1 + stiffness * (memory.abs().max() + completed.abs().max()))


@problems
@LAW
def test_every_other_state_has_lower_harmony(seed: int, batch: int, dim: int, stiffness: float) -> None:
    memory, weight, bias = random_problem(seed, batch, dim, top_eigenvalue=0.9 * stiffness)
    completed = complete(memory, weight, bias, stiffness)
    best = harmony(completed, memory, weight, bias, stiffness)
    rng = generator(seed + 1)
    for size in (0.1, 1.0, 10.0):
        other = completed + size * normal(rng, batch, dim)
        assert (harmony(other, memory, weight, bias, stiffness) < best).all()


@problems
@LAW
def test_equals_one_cholesky_solve_per_query(seed: int, batch: int, dim: int, stiffness: float) -> None:
    memory, weight, bias = random_problem(seed, batch, dim, top_eigenvalue=0.9 * stiffness)
    completed = complete(memory, weight, bias, stiffness)
    for b in range(batch):
        torch.testing.assert_close(completed[b], oracles.complete(memory[b], weight[b], bias[b], stiffness))


def test_the_harmony_of_a_case_done_by_hand() -> None:
    state, memory = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 1.0]])
    weight, bias = torch.tensor([[[1.0, 3.0], [3.0, 2.0]]]), torch.tensor([[5.0, 7.0]])
    # mᵀWm = 1 + 2·3·2 + 2·4 = 21, bᵀm = 19, ‖M − m‖² = 2
    assert harmony(state, memory, weight, bias, 10.0).item() == (21 + 19) / 2 - 10 / 2 * 2


def test_great_stiffness_gives_the_memory_back() -> None:
    memory, weight, bias = random_problem(0, 3, 6, top_eigenvalue=1.0)
    for stiffness in (1e3, 1e6, 1e9):
        distance = (complete(memory, weight, bias, stiffness) - memory).abs().max()
        assert distance < 10 / stiffness
    assert complete(memory, weight, bias, math.inf) is memory


def test_the_printed_optimum_is_minus_twice_the_maximum() -> None:
    """Equation 8 of the paper reads (W − λI)⁻¹ (2λM + b)."""
    stiffness = 3.0
    memory, weight, bias = random_problem(0, 4, 6, top_eigenvalue=2.0)
    eye = torch.eye(6, dtype=torch.float64)
    printed = torch.linalg.solve(weight - stiffness * eye, 2 * stiffness * memory + bias).requires_grad_()
    completed = complete(memory, weight, bias, stiffness)
    torch.testing.assert_close(printed, -2 * completed)
    (gradient,) = torch.autograd.grad(harmony(printed, memory, weight, bias, stiffness).sum(), printed)
    assert gradient.abs().max() > 1  # so it is no optimum of the printed Harmony
    far = torch.linalg.solve(weight - 1e9 * eye, 2e9 * memory + bias)
    torch.testing.assert_close(far, -2 * memory)  # nor does it tend to the memory


def test_a_stiffness_above_the_global_weight_does_not_bound_the_local_one() -> None:
    """The paper asks for λ > ‖W_global‖ only; a filter above 1 is enough to lose the maximum."""
    stiffness, global_weight = 1.0, 0.5 * torch.eye(2, dtype=torch.float64)
    assert stiffness > torch.linalg.matrix_norm(global_weight, ord=2)
    filter_vector = torch.tensor([[2.0, 1.0]], dtype=torch.float64)
    weight = local_weight(filter_vector, global_weight, torch.ones(1, dtype=torch.float64))
    assert torch.linalg.matrix_norm(weight, ord=2) == 2.0
    memory, bias = torch.ones(1, 2, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    with pytest.raises(StiffnessError):
        complete(memory, weight, bias, stiffness)
    near, far = (harmony(scale * memory, memory, weight, bias, stiffness) for scale in (1.0, 1e3))
    assert far > near  # Harmony grows without end


def test_too_small_a_stiffness_names_the_number_of_queries() -> None:
    memory, weight, bias = random_problem(0, 4, 3, top_eigenvalue=1.0)
    weight[1:] *= 3
    with pytest.raises(StiffnessError, match=r"stiffness 2.0 .* for 3 of 4 queries"):
        complete(memory, weight, bias, 2.0)


@given(seed=SEEDS, dim=st.integers(1, 8))
@LAW
def test_the_local_weight_is_symmetric_and_a_diagonal_scaling(seed: int, dim: int) -> None:
    rng = generator(seed)
    filters, weight = normal(rng, 3, dim), symmetric(rng, dim)
    scale = torch.rand(3, generator=rng, dtype=torch.float64)
    local = local_weight(filters, weight, scale)
    torch.testing.assert_close(local, local.mT)
    for b in range(3):
        torch.testing.assert_close(local[b], oracles.local_weight(filters[b], weight, scale[b]))
