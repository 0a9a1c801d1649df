"""Isotonic regression, which fits a step function that never falls, and the error of such probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

BINS = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """A non-decreasing step function: `values[i]` from `starts[i]` on, and `values[0]` below as well."""

    starts: Float[np.ndarray, " n"]
    values: Float[np.ndarray, " n"]

    def __call__(self, log_p: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        step = np.searchsorted(self.starts, log_p, side="right") - 1
        found = self.values[np.maximum(step, 0)]
        return np.where(np.isnan(log_p), np.nan, found)

    def to_dict(self) -> dict[str, list[float]]:
        return {"log_p": self.starts.tolist(), "probability": self.values.tolist()}

    @classmethod
    def from_dict(cls, saved: Any) -> "Steps":
        starts, values = (np.array(saved[name], dtype=np.float64) for name in ("log_p", "probability"))
        if starts.ndim != 1 or starts.shape != values.shape or not len(values):
            raise ValueError(f"{starts.size} steps with {values.size} values")
        rise = (np.diff(starts) > 0).all() and (np.diff(values) >= 0).all() and not np.isnan(starts).any()
        if not rise or not 0 <= values[0] <= values[-1] <= 1:  # also where a number is none
            raise ValueError("the steps do not rise from 0 to 1")
        return cls(starts=starts, values=values)


def isotonic(
    log_p: Float[np.ndarray, " n"],
    is_true: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"] | None = None,
    expected: Float[np.ndarray, " n"] | None = None,
    worth: float = 0.0,
) -> Steps:
    """The non-decreasing steps of least squared error, by pooling neighbors that are out of order.

    A step that begins half-way between two log probabilities treats both alike. The lowest step, of which nothing may
    have been true, and the highest, of which everything may have been, stay 1/(n + 2) away from certainty, where n is
    how many candidates they were counted from.

    The steps are drawn to what is `expected` of each candidate, as if it were the share of the true ones among `worth`
    more candidates.
    """
    weights = np.ones(len(log_p)) if weights is None else weights
    found = weights * is_true
    if expected is not None:
        weights, found = weights + worth / len(log_p), found + worth / len(log_p) * expected
    points, place, numbers = np.unique(log_p, return_inverse=True, return_counts=True)
    mass = np.bincount(place, weights=weights)
    hits = np.bincount(place, weights=found)
    blocks: list[list[float]] = []  # hits, mass, number and first point of each block so far; their shares rise
    for first, point in enumerate(zip(hits.tolist(), mass.tolist(), numbers.tolist(), strict=True)):
        blocks.append([*point, first])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1][:3] = [one + other for one, other in zip(blocks[-1][:3], last[:3], strict=True)]
    hits, mass, number, begins = np.array(blocks).T
    values = hits / mass
    values[0] = max(values[0], min(1 / (number[0] + 2), values[1] if len(values) > 1 else 1.0))
    values[-1] = min(values[-1], max(1 - 1 / (number[-1] + 2), values[-2] if len(values) > 1 else 0.0))
    at = begins.astype(np.int64)
    starts, before = points[at], points[at[1:] - 1]
    middle = (before + starts[1:]) / 2
    starts[1:] = np.where(middle > before, middle, starts[1:])  # two floats may have none between them
    return Steps(starts=starts, values=values)


def expected_calibration_error(
    probability: Float[np.ndarray, " n"],
    is_true: Bool[np.ndarray, " n"],
    bins: int = BINS,
    weights: Float[np.ndarray, " n"] | None = None,
) -> float:
    """How far predicted and counted shares lie apart, on average over bins of equal numbers.

    Equal probabilities share a bin. `weights` say what each counts for.
    """
    weights = np.ones(len(probability)) if weights is None else weights
    _, place, counts = np.unique(probability, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2  # the mean rank of each value
    bin_of = np.minimum((middle * bins / len(probability)).astype(np.int64), bins - 1)[place]
    gaps = np.bincount(bin_of, weights=weights * (probability - is_true), minlength=bins)
    return float(np.abs(gaps).sum() / weights.sum())
