"""Logistic regression on four columns, drawn to coefficients that other graphs have."""

import numpy as np
from jaxtyping import Bool, Float

STEPS = 30  # of Newton's method
HALVES = 30  # of a step, until it makes the loss less


def drawn_to(
    usual: Float[np.ndarray, " 4"],
    penalty: Float[np.ndarray, " 4"],
    matrix: Float[np.ndarray, "n 4"],
    is_true: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    never_falls: Bool[np.ndarray, " 4"],
) -> Float[np.ndarray, " 4"]:
    """The coefficients that suit the rows best; half the penalty times the squared distance from the usual is lost.

    Some columns never make it less likely: what would say so, by accident, is left out.
    """
    used = np.ones(4, dtype=bool)
    beta = _newton(usual, penalty, matrix, is_true, weights, used)
    while (falling := used & (beta < 0) & never_falls).any():
        used &= ~falling
        beta = _newton(usual, penalty, matrix, is_true, weights, used)
    return beta


def logistic(total: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    share: Float[np.ndarray, "*shape"] = 1 / (1 + np.exp(-np.clip(total, -30, 30)))
    return share


def log_odds(share: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    share = np.clip(share, 1e-6, 1 - 1e-6)
    odds: Float[np.ndarray, "*shape"] = np.log(share / (1 - share))
    return odds


def _newton(
    usual: Float[np.ndarray, " 4"],
    penalty: Float[np.ndarray, " 4"],
    matrix: Float[np.ndarray, "n 4"],
    is_true: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    used: Bool[np.ndarray, " 4"],
) -> Float[np.ndarray, " 4"]:
    """By Newton's method, with some of the columns; the coefficients of the others are 0."""
    matrix, usual = matrix * used, usual * used
    beta = usual
    weights = weights * (len(weights) / weights.sum())

    def lost(beta: Float[np.ndarray, " 4"]) -> float:
        total = matrix @ beta
        loss: float = (weights * (np.logaddexp(0, total) - is_true * total)).sum() + penalty @ (beta - usual) ** 2 / 2
        return loss

    loss = lost(beta)
    for _ in range(STEPS):
        p = logistic(matrix @ beta)
        gradient = matrix.T @ (weights * (is_true - p)) - penalty * (beta - usual)
        curvature = (matrix * (weights * p * (1 - p))[:, None]).T @ matrix + np.diag(penalty)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(4), gradient)
        for shrunk in 0.5 ** np.arange(HALVES):  # where nearly all is certain, a whole step goes far beyond
            if (after := lost(beta + shrunk * step)) < loss:
                break
        else:
            break
        beta, loss = beta + shrunk * step, after
    chosen: Float[np.ndarray, " 4"] = beta * used
    return chosen
