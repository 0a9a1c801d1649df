"""Two Harmony surfaces that can be looked at."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import StiffnessError
from hmem.figures.harmony_surface import BIAS, EIGENVALUES, MEMORY, belief, harmony_surfaces
from hmem.memory.harmony import harmony
from tests.laws import examples


@examples(15)
@given(stiffness=st.floats(0.95, 1000))
def test_the_gradient_vanishes_at_the_optimum(stiffness: float) -> None:
    result = harmony_surfaces([stiffness], resolution=3)
    state = torch.from_numpy(result.surfaces[0].optimum)[None].requires_grad_()
    memory, bias, weight = (torch.from_numpy(each)[None] for each in (result.memory, result.bias, result.weight))
    (gradient,) = torch.autograd.grad(harmony(state, memory, weight, bias, stiffness).sum(), state)
    assert gradient.abs().max() < 1e-10 * (1 + stiffness) * (1 + state.abs().max())


def test_the_surface_is_the_harmony_and_nowhere_higher_than_at_the_optimum() -> None:
    result = harmony_surfaces(resolution=21)
    assert len(result.surfaces) == 2
    M, b, W = np.array(MEMORY), np.array(BIAS), belief().numpy()
    for surface in result.surfaces:
        assert surface.values.max() < surface.top
        for row, column in ((0, 0), (3, 17), (20, 5)):
            m = np.array([result.first[column], result.second[row]])
            expected = 0.5 * (m @ W @ m + b @ m) - surface.stiffness / 2 * ((M - m) @ (M - m))
            assert surface.values[row, column] == pytest.approx(expected)


def test_everything_worth_seeing_lies_in_the_square() -> None:
    result = harmony_surfaces(resolution=5)
    for point in (result.memory, *(surface.optimum for surface in result.surfaces), *result.path):
        assert result.first[0] < point[0] < result.first[-1]
        assert result.second[0] < point[1] < result.second[-1]


def test_a_stiff_memory_stays_near_itself() -> None:
    result = harmony_surfaces(resolution=3)
    soft, stiff = (np.linalg.norm(surface.optimum - result.memory) for surface in result.surfaces)
    assert soft > 5 * stiff
    assert result.path[0] == pytest.approx(result.surfaces[0].optimum)
    assert result.path[-1] == pytest.approx(result.memory, abs=1e-3)


def test_the_belief_has_the_eigenvalues_it_should() -> None:
    assert np.linalg.eigvalsh(belief().numpy()) == pytest.approx(sorted(EIGENVALUES))


def test_a_stiffness_below_the_belief_has_no_optimum() -> None:
    with pytest.raises(StiffnessError):
        harmony_surfaces([0.85])


def test_tables() -> None:
    tables = harmony_surfaces(resolution=4).tables()
    assert len(tables["harmony"]) == 2 * 16
    assert [row["stiffness"] for row in tables["harmony-optima"]] == [1.1, 6.0]
    assert (tables["harmony-optima"][0]["memory1"], tables["harmony-optima"][0]["memory2"]) == MEMORY
