import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.errors import NumericalWarning
from hmem.memory.completion import bound_scale
from hmem.memory.conjugate_gradient import SolveReport, _conjugate_gradient, solve, steps_needed, warn_if_unconverged
from hmem.memory.harmony import complete, local_weight
from tests.memory.problems import LAW, SEEDS, LargestTensor, generator, normal, symmetric, with_spectrum

MARGIN = 0.25
TOLERANCE = 1e-13


def problem(seed: int, batch: int, dim: int, stiffness: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Target, filter, weight and a scale that puts ‖W_i‖_F at λ − ε."""
    rng = generator(seed)
    filters, weight = normal(rng, batch, dim), symmetric(rng, dim)
    return normal(rng, batch, dim), filters, weight, bound_scale(1e3 * filters, weight, stiffness, MARGIN) * 1e6


def solve_densely(target: Tensor, filters: Tensor, weight: Tensor, scale: Tensor, stiffness: float) -> Tensor:
    return complete(target / stiffness, local_weight(filters, weight, scale), torch.zeros_like(target), stiffness)


@given(seed=SEEDS, batch=st.integers(1, 4), dim=st.integers(1, 12), stiffness=st.floats(0.5, 50))
@LAW
def test_the_solution_and_all_gradients_equal_the_dense_ones(seed: int, batch: int, dim: int, stiffness: float) -> None:
    target, filters, weight, scale = problem(seed, batch, dim, stiffness)
    inputs = [tensor.detach().requires_grad_() for tensor in (target, filters, weight, scale)]
    incoming = normal(generator(seed + 1), batch, dim)
    target, filters, weight, scale = inputs
    matrix_free, report = solve(target, filters, (weight + weight.mT) / 2, scale, stiffness, TOLERANCE, 100)
    dense = solve_densely(target, filters, (weight + weight.mT) / 2, scale, stiffness)
    torch.testing.assert_close(matrix_free, dense, rtol=1e-8, atol=1e-8)
    assert report.residual.max() <= TOLERANCE
    mine = torch.autograd.grad((matrix_free * incoming).sum(), inputs)
    theirs = torch.autograd.grad((dense * incoming).sum(), inputs)
    for gradient, expected in zip(mine, theirs, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-8 * (1 + expected.abs().max().item()))


def test_gradients_by_finite_differences() -> None:
    inputs = [tensor.detach().requires_grad_() for tensor in problem(0, 2, 4, 1.0)]

    def solution(target: Tensor, filters: Tensor, raw: Tensor, scale: Tensor) -> Tensor:
        return solve(target, filters, (raw + raw.mT) / 2, scale, 1.0, TOLERANCE, 100)[0]

    assert torch.autograd.gradcheck(solution, inputs)


def test_the_gradient_of_the_weight_is_symmetric() -> None:
    target, filters, weight, scale = problem(0, 3, 5, 1.0)
    weight.requires_grad_()
    completed, _ = solve(target, filters, weight, scale, 1.0, TOLERANCE, 100)
    (gradient,) = torch.autograd.grad(completed[:, 0].sum(), weight)
    torch.testing.assert_close(gradient, gradient.mT)


def test_there_is_no_matrix_per_query() -> None:
    batch, dim = 64, 20
    inputs = [tensor.detach().requires_grad_() for tensor in problem(0, batch, dim, 1.0)]
    target, filters, weight, scale = inputs
    with LargestTensor() as largest:
        completed, _ = solve(target, filters, weight, scale, 1.0, 1e-6, 20)
        torch.autograd.grad(completed.sum(), inputs)
    assert largest.numel == batch * dim


def test_works_without_gradients() -> None:
    target, filters, weight, scale = problem(0, 3, 5, 1.0)
    with torch.no_grad():
        completed, _ = solve(target, filters, weight.requires_grad_(), scale, 1.0, TOLERANCE, 100)
    assert not completed.requires_grad
    torch.testing.assert_close(completed, solve_densely(target, filters, weight.detach(), scale, 1.0))


@given(
    seed=SEEDS,
    stiffness=st.floats(0.3, 100),
    values=st.lists(st.floats(-1, 1), min_size=1, max_size=40).filter(
        lambda values: any(abs(v) > 1e-3 for v in values)
    ),
)
@LAW
@pytest.mark.parametrize(("tolerance", "dtype"), [(1e-6, torch.float32), (1e-10, torch.float64)])
def test_the_steps_suffice_for_any_spectrum_within_the_bound(
    seed: int, stiffness: float, values: list[float], tolerance: float, dtype: torch.dtype
) -> None:
    rng = generator(seed)
    spectrum = torch.tensor(values, dtype=torch.float64)
    spectrum = spectrum * (stiffness - MARGIN) / spectrum.square().sum().sqrt()
    weight = with_spectrum(rng, spectrum).to(dtype)
    target, ones = normal(rng, 2, len(values)).to(dtype), torch.ones(2, len(values), dtype=dtype)
    steps = steps_needed(stiffness, MARGIN, tolerance)
    _, report = solve(target, ones, weight, ones[:, 0], stiffness, tolerance, steps)
    assert report.residual.max() <= tolerance


def test_the_number_of_steps_is_modest() -> None:
    assert steps_needed(1.0, MARGIN, 1e-6) == 15
    assert steps_needed(2.0, MARGIN, 1e-6) == 18
    assert steps_needed(20.0, MARGIN, 1e-6) == 22
    assert steps_needed(1.0, 1 - 1e-9, 1e-6) == 1  # nothing left to solve


def test_stops_on_a_cpu_as_soon_as_every_query_is_solved() -> None:
    target, filters, weight, scale = problem(0, 3, 30, 1.0)
    _, loose = solve(target, filters, weight, scale, 1.0, 1e-3, 100)
    _, tight = solve(target, filters, weight, scale, 1.0, 1e-9, 100)
    assert 0 < loose.iterations < tight.iterations < 100
    _, idle = solve(torch.zeros_like(target), filters, weight, scale, 1.0, 1e-3, 100)
    assert idle.iterations == 0
    assert not idle.residual.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_beyond_convergence_do_no_harm(dtype: torch.dtype) -> None:
    """A device that never asks goes on with rows that are zero, or were solved long ago."""
    target, filters, weight, scale = (tensor.to(dtype) for tensor in problem(0, 4, 6, 1.0))
    target[0] = 0
    weight[0], weight[:, 0] = 0, 0  # the second row is solved in one step
    target[1] = torch.eye(6, dtype=dtype)[0]
    target[2] *= 1e-30
    target[3] *= 1e30
    gate = scale.sqrt().unsqueeze(1) * filters
    x, steps = _conjugate_gradient(target, gate, weight, 1.0, 0.0, 300)
    assert steps > 20 or not x.any()
    assert x.isfinite().all()
    size = torch.tensor([1, 1, 1e-30, 1e30], dtype=dtype).unsqueeze(1)
    expected = solve_densely(target / size, filters, weight, scale, 1.0)
    torch.testing.assert_close(x / size, expected)


def warning_of(report: SolveReport) -> str:
    with pytest.warns(NumericalWarning) as caught:
        warn_if_unconverged(report)
    return str(caught[0].message)


def test_too_few_steps_are_warned_about_with_the_likely_causes() -> None:
    target, filters, weight, scale = problem(0, 3, 30, 1.0)
    target[1] = 0
    _, report = solve(target, filters, weight, scale, 1.0, 1e-6, 1)
    message = warning_of(report)
    assert message.startswith("2 of 3 memories are not completed: after 1 steps")
    for cause in ("margin", "not finite", "tolerance", "max_steps"):
        assert cause in message


def test_an_unbounded_weight_is_warned_about() -> None:
    target, filters, weight, scale = problem(0, 3, 30, 1.0)
    warning_of(solve(target, filters, weight, 100 * scale, 1.0, 1e-6, 15)[1])


def test_what_is_not_a_number_is_warned_about() -> None:
    target, filters, weight, scale = problem(0, 3, 30, 1.0)
    target[1, 0] = torch.nan
    completed, report = solve(target, filters, weight, scale, 1.0, 1e-6, 15)
    assert warning_of(report).startswith("1 of 3")
    assert completed[[0, 2]].isfinite().all()


def test_a_tolerance_that_the_precision_cannot_reach_is_warned_about() -> None:
    target, filters, weight, scale = (tensor.float() for tensor in problem(0, 3, 30, 1.0))
    assert "torch.float32" in warning_of(solve(target, filters, weight, scale, 1.0, 1e-12, 100)[1])


def test_a_solved_problem_is_not_warned_about() -> None:
    target, filters, weight, scale = (tensor.float() for tensor in problem(0, 3, 30, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_unconverged(solve(target, filters, weight, scale, 1.0, 1e-6, steps_needed(1.0, MARGIN, 1e-6))[1])


def test_a_gradient_that_does_not_converge_is_warned_about() -> None:
    """The forward target is an eigenvector, solved in one step; the gradient is not."""
    _, filters, weight, scale = problem(0, 1, 30, 1.0)
    _, vectors = torch.linalg.eigh(local_weight(filters, weight, scale)[0])
    target = vectors[:, :1].T.contiguous().requires_grad_()
    completed, report = solve(target, filters, weight, scale, 1.0, 1e-9, 2)
    assert report.residual.max() < 1e-9
    with pytest.warns(NumericalWarning):
        torch.autograd.grad(completed[0, 0], target)


def test_autocast_does_not_coarsen_the_solve() -> None:
    target, filters, weight, scale = (tensor.float() for tensor in problem(0, 3, 30, 1.0))
    weight.requires_grad_()
    expected, _ = solve(target, filters, weight, scale, 1.0, 1e-6, 15)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        completed, report = solve(target, filters, weight, scale, 1.0, 1e-6, 15)
        torch.autograd.grad(completed.sum(), weight)
    assert report.residual.max() <= 1e-6
    assert torch.equal(completed, expected)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_cuda_equals_cpu_without_a_synchronization(cuda: torch.device) -> None:
    inputs = problem(0, 8, 40, 1.0)

    def solve_on(device: torch.device) -> tuple[Tensor, ...]:
        target, filters, weight, scale = there = [tensor.detach().to(device).requires_grad_() for tensor in inputs]
        incoming = torch.ones_like(target)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        completed, report = solve(target, filters, weight, scale, 1.0, 1e-12, 60)
        gradients = torch.autograd.grad(completed, there, incoming)
        torch.cuda.set_sync_debug_mode("default")
        return completed, report.residual, *gradients

    solve_on(cuda)  # libraries may synchronize when they start
    completed, residual, *gradients = solve_on(cuda)
    expected, _, *expected_gradients = solve_on(torch.device("cpu"))
    assert residual.max() <= 1e-12
    torch.testing.assert_close(completed.cpu(), expected)
    for mine, theirs in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs)
