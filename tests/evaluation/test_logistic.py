"""Logistic regression that is drawn to usual coefficients."""

import numpy as np
import pytest

from hmem.evaluation.logistic import drawn_to, logistic

USUAL, PENALTY = np.array([0.2, 1.0, 0.0, 0.0]), np.array([2.0, 8.0, 4.0, 8.0])
FREE, NEVER_FALLS = np.zeros(4, dtype=bool), np.array([False, True, False, False])


def rows(odds: np.ndarray, is_true: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nothing = np.zeros(len(odds))
    return np.stack([np.ones(len(odds)), odds, nothing, nothing], axis=1), is_true, np.ones(len(odds))


@pytest.mark.parametrize("far", [0.0, 3.0, 6.0])
def test_the_gradient_vanishes_also_where_all_is_said_to_be_certain(far: float) -> None:
    """Of answers that a network is sure of two in three are true; whole steps of Newton's method run away there."""
    rng = np.random.default_rng(0)
    matrix, is_true, weights = rows(far + 2 * rng.random(300), rng.random(300) < 0.65)
    beta = drawn_to(USUAL, PENALTY, matrix, is_true, weights, FREE)
    share = logistic(matrix @ beta)
    np.testing.assert_allclose(matrix.T @ (is_true - share), PENALTY * (beta - USUAL), atol=1e-3)
    assert share.mean() == pytest.approx(is_true.mean(), abs=0.02)


def test_few_rows_leave_the_usual_coefficients() -> None:
    matrix, is_true, weights = rows(np.array([2.0]), np.array([True]))
    assert drawn_to(USUAL, PENALTY, matrix, is_true, weights, FREE) == pytest.approx(USUAL, abs=0.05)


def test_what_would_speak_against_it_by_accident_is_left_out() -> None:
    odds = np.linspace(-4, 4, 400)
    matrix, is_true, weights = rows(odds, odds < 0)
    assert drawn_to(USUAL, PENALTY, matrix, is_true, weights, FREE)[1] < 0
    assert drawn_to(USUAL, PENALTY, matrix, is_true, weights, NEVER_FALLS)[1] == 0
