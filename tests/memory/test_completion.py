import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.config import MARGIN
from hmem.errors import ConfigError, NumericalWarning
from hmem.memory.completion import Completion, NoCompletion, attainable, bound_scale, make_completion
from hmem.memory.conjugate_gradient import steps_needed
from hmem.memory.harmony import complete, harmony, local_weight
from tests.memory.problems import LAW, SEEDS, generator, normal, symmetric

DIM, DE = 8, 3


def random_completion(seed: int, stiffness: float = 1.0, local: bool = True, size: float = 1.0) -> Completion:
    """Parameters of order `size`, far from the start values."""
    completion = Completion(DIM, DE, stiffness, local=local, tolerance=1e-12).double()
    rng = generator(seed)
    for parameter in completion.parameters():
        parameter.data = size * normal(rng, *parameter.shape)
    return completion


def dense(completion: Completion, memory: Tensor, entity: Tensor) -> tuple[Tensor, Tensor]:
    """Local weight and bias, multiplied out."""
    filters, weight = completion.filter_vector(memory), completion.symmetric_weight()
    scale = bound_scale(filters, weight, completion.stiffness, completion.margin)
    return local_weight(filters, weight, scale), entity @ completion.bias_map.T


# The bound


@given(seed=SEEDS, stiffness=st.floats(0.3, 50), size=st.sampled_from([1e-200, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e100]))
@LAW
def test_the_bound_holds_for_adversarial_filters(seed: int, stiffness: float, size: float) -> None:
    rng = generator(seed)
    weight = symmetric(rng, 6) * 10.0 ** int(torch.randint(-3, 4, (), generator=rng))
    one_hot, zero = torch.eye(6, dtype=torch.float64)[:2], torch.zeros(1, 6, dtype=torch.float64)
    _, vectors = torch.linalg.eigh(weight)
    uneven = torch.logspace(-9, 9, 6, dtype=torch.float64).unsqueeze(0)
    filters = size * torch.cat([normal(rng, 4, 6), one_hot, vectors.T, uneven, zero])
    scale = bound_scale(filters, weight, stiffness, 0.25)
    assert scale.isfinite().all()
    assert (scale <= 1).all()
    gate = scale.sqrt().unsqueeze(1) * filters  # as `solve` does, without squaring the filter
    local = local_weight(gate, weight, torch.ones_like(scale))
    assert local.isfinite().all()
    bound = (stiffness - 0.25) * (1 + 1e-9)
    assert (torch.linalg.matrix_norm(local) <= bound).all()
    assert (torch.linalg.matrix_norm(local, ord=2) <= bound).all()


def test_the_bound_is_reached_and_not_undercut() -> None:
    rng = generator(0)
    filters, weight = normal(rng, 3, 6), symmetric(rng, 6)
    filters[1] *= 1e-3
    norm = torch.linalg.matrix_norm(local_weight(filters, weight, torch.ones(3, dtype=torch.float64)))
    expected = torch.minimum(torch.ones(3, dtype=torch.float64), 0.75 / norm)
    torch.testing.assert_close(bound_scale(filters, weight, 1.0, 0.25), expected)
    assert expected[1] == 1
    assert expected[0] < 1


def test_gradients_of_the_bound() -> None:
    rng = generator(0)
    inputs = normal(rng, 3, 4).requires_grad_(), symmetric(rng, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda f, w: bound_scale(f, w, 1.0, 0.25), inputs)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e15])
def test_gradients_of_the_bound_are_finite_at_the_extremes(size: float) -> None:
    filters, weight = (size * torch.ones(2, 4)).requires_grad_(), torch.ones(4, 4).requires_grad_()
    for gradient in torch.autograd.grad(bound_scale(filters, weight, 1.0, 0.25).sum(), (filters, weight)):
        assert gradient.isfinite().all()
    for gradient in torch.autograd.grad(bound_scale(filters, 0 * weight, 1.0, 0.25).sum(), (filters, weight)):
        assert gradient.isfinite().all()


# The module


@pytest.mark.parametrize("local", [True, False])
@given(seed=SEEDS, stiffness=st.floats(0.5, 20))
@LAW
def test_the_completed_memory_is_the_harmony_maximum(local: bool, seed: int, stiffness: float) -> None:
    completion = random_completion(seed, stiffness, local)
    memory, entity = normal(generator(seed + 1), 4, DIM), normal(generator(seed + 2), 4, DE)
    completed = completion(memory, entity)
    weight, bias = dense(completion, memory, entity)
    torch.testing.assert_close(completed, complete(memory, weight, bias, stiffness), rtol=1e-8, atol=1e-8)
    state = completed.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(harmony(state, memory, weight, bias, stiffness).sum(), state)
    assert gradient.abs().max() <= 1e-8 * (1 + stiffness * state.abs().max())


def test_every_parameter_gets_the_dense_gradient() -> None:
    completion = random_completion(0)
    memory, entity = normal(generator(1), 4, DIM).requires_grad_(), normal(generator(2), 4, DE)
    inputs = [memory, *completion.parameters()]
    mine = torch.autograd.grad(completion(memory, entity).square().sum(), inputs)
    theirs = torch.autograd.grad(complete(memory, *dense(completion, memory, entity), 1.0).square().sum(), inputs)
    for gradient, expected in zip(mine, theirs, strict=True):
        assert expected.any()
        torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("local", [True, False])
def test_starts_close_to_the_identity(local: bool) -> None:
    torch.manual_seed(0)
    completion = Completion(50, DE, 1.0, local=local)
    memory, entity = torch.randn(6, 50), torch.randn(6, DE)
    completed = completion(memory, entity)
    assert (completed - memory).norm(dim=1).max() < 0.1 * memory.norm(dim=1).min()
    assert not torch.equal(completed, memory)
    scale = bound_scale(completion.filter_vector(memory), completion.symmetric_weight(), 1.0, 0.25)
    assert (scale == 1).all()  # the bound is not active yet


def test_an_entity_without_an_embedding_has_no_bias() -> None:
    completion = random_completion(0)
    memory = normal(generator(1), 2, DIM)
    entity = torch.stack([torch.zeros(DE, dtype=torch.float64), normal(generator(2), DE)])
    completed = completion(memory, entity)
    completion.bias_map.data.zero_()
    without = completion(memory, entity)
    torch.testing.assert_close(completed[0], without[0])
    assert (completed[1] - without[1]).abs().max() > 1e-3


def test_the_global_ablation_has_no_filter() -> None:
    completion = random_completion(0, local=False)
    assert {name for name, _ in completion.named_parameters()} == {"global_weight", "bias_map"}
    assert completion.filter_vector(normal(generator(1), 2, DIM)).eq(1).all()


def test_reports_how_the_solve_ended() -> None:
    completion = random_completion(0)
    assert completion.last_report is None
    completion(normal(generator(1), 4, DIM), normal(generator(2), 4, DE))
    report = completion.last_report
    assert report is not None
    assert 0 < report.iterations <= steps_needed(completion.stiffness, completion.margin, completion.tolerance)
    assert report.residual.shape == (4,)
    assert report.residual.max() <= report.tolerance == 1e-12


def test_an_unconverged_solve_is_warned_about() -> None:
    completion = Completion(DIM, DE, 1.0, max_steps=1).double()
    completion.global_weight.data = normal(generator(0), DIM, DIM)
    with pytest.warns(NumericalWarning, match="not completed"):
        completion(normal(generator(1), 4, DIM), normal(generator(2), 4, DE))


def test_great_stiffness_gives_the_memory_back() -> None:
    memory, entity = normal(generator(1), 4, DIM), normal(generator(2), 4, DE)
    completion = random_completion(0, stiffness=1e7, size=0.1)
    torch.testing.assert_close(completion(memory, entity), memory, rtol=1e-4, atol=1e-4)


def test_infinite_stiffness_is_no_completion() -> None:
    completion = make_completion(DIM, DE, math.inf)
    memory = normal(generator(1), 4, DIM)
    assert isinstance(completion, NoCompletion)
    assert completion(memory, normal(generator(2), 4, DE)) is memory
    assert completion.last_report is None
    assert not list(completion.parameters())


def test_finite_stiffness_makes_a_completion() -> None:
    completion = make_completion(DIM, DE, 2.0, local=False)
    assert isinstance(completion, Completion)
    assert (completion.stiffness, completion.margin) == (2.0, MARGIN)
    assert completion.filter_map is None
    assert make_completion(DIM, DE, 2.0).filter_map is not None


@pytest.mark.parametrize(
    ("stiffness", "margin"), [(math.inf, 0.25), (0.2, 0.25), (1.0, 0.0), (0.0, 0.25), (math.nan, 0.25)]
)
def test_a_stiffness_without_room_for_the_margin_is_refused(stiffness: float, margin: float) -> None:
    with pytest.raises(ConfigError, match="0 < margin < stiffness < inf"):
        Completion(DIM, DE, stiffness, margin)


def test_runs_under_autocast() -> None:
    torch.manual_seed(0)
    completion = Completion(DIM, DE, 1.0)
    memory, entity = torch.randn(4, DIM), torch.randn(4, DE)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        completed = completion(memory, entity)
    torch.testing.assert_close(completed, completion(memory, entity), rtol=0.02, atol=0.02)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_training_on_cuda_does_not_synchronize(cuda: torch.device) -> None:
    completion = random_completion(0).to(cuda)
    memory, entity = normal(generator(1), 4, DIM).to(cuda), normal(generator(2), 4, DE).to(cuda)
    completion(memory, entity).sum().backward()  # libraries may synchronize when they start
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    completed = completion(memory, entity)
    torch.autograd.grad(completed.sum(), list(completion.parameters()))
    torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(completed, complete(memory, *dense(completion, memory, entity), 1.0))


@pytest.mark.parametrize(("precision", "expected"), [("highest", 1e-6), ("high", 5e-4), ("medium", 2e-2)])
def test_no_more_is_asked_of_a_gpu_than_its_precision_can_give(precision: str, expected: float) -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        assert attainable(1e-6, torch.device("cuda")) == expected
        assert attainable(1e-6, torch.device("cpu")) == 1e-6
    finally:
        torch.set_float32_matmul_precision(before)
