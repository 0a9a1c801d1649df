"""What a rank is. This is the only definition in the package.

Candidates are compared with the true answer by the scores one kernel gave to all of them. Other true answers of the
same query are filtered: they are not rivals. With `better` rivals above the truth and `tied` beside it:

    optimistic = 1 + better        pessimistic = 1 + better + tied        realistic = their mean
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import NonFiniteError

MAX_EXACT_FLOAT = 2**24  # float32 counts exactly up to here


@dataclass(frozen=True, slots=True)
class Ranks:
    """1-based ranks of the true answers, and how many candidates each was ranked among (itself included)."""

    optimistic: Int[np.ndarray, " Q"]
    pessimistic: Int[np.ndarray, " Q"]
    candidates: Int[np.ndarray, " Q"]

    @property
    def realistic(self) -> Float[np.ndarray, " Q"]:
        mean: Float[np.ndarray, " Q"] = (self.optimistic + self.pessimistic) / 2
        return mean

    def select(self, rows: np.ndarray) -> "Ranks":
        return Ranks(self.optimistic[rows], self.pessimistic[rows], self.candidates[rows])


def filtered_ranks(
    scores: Float[Tensor, "Q C"],
    true_scores: Float[Tensor, " Q"],
    filtered_query: Int[Tensor, " K"],
    filtered_scores: Float[Tensor, " K"],
) -> tuple[Int[Tensor, " Q"], Int[Tensor, " Q"]]:
    """Optimistic and pessimistic ranks of answers with `true_scores` among the columns of `scores`.

    The true answer is one of the columns. Filtered answers are given sparsely, query by query, with the scores
    they have in their columns: counting them and taking the count away equals masking them, at next to no cost.
    """
    # A sum is NaN if any part of it is, and takes a tenth of the time of asking each; ∞ − ∞ is the one false alarm.
    suspicious = bool(torch.isnan(scores.sum())) and bool(torch.isnan(scores).any())
    if suspicious or bool(torch.isnan(true_scores).any()):
        raise NonFiniteError("the model gave NaN as a score; ranks of NaN would look perfect. Was the training stable?")
    beats = (filtered_scores > true_scores[filtered_query]).to(torch.int64)
    equals = (filtered_scores == true_scores[filtered_query]).to(torch.int64)
    filtered_above = torch.zeros_like(true_scores, dtype=torch.int64).index_add_(0, filtered_query, beats)
    filtered_level = torch.zeros_like(true_scores, dtype=torch.int64).index_add_(0, filtered_query, equals)
    flags = torch.empty_like(scores, dtype=torch.float32)  # used twice
    above = _count(torch.gt, scores, true_scores, flags) - filtered_above
    level = _count(torch.eq, scores, true_scores, flags) - filtered_level - 1  # the truth stands level with itself
    return 1 + above, 1 + above + level


def _count(compare: Callable[..., Tensor], scores: Tensor, truth: Tensor, flags: Tensor) -> Int[Tensor, " Q"]:
    """How many columns compare so with the truth; float ones add up many times faster than booleans on a CPU."""
    compare(scores, truth[:, None], out=flags)
    parts = [flags[:, start : start + MAX_EXACT_FLOAT] for start in range(0, flags.shape[1], MAX_EXACT_FLOAT)]
    return torch.stack([part.sum(1).to(torch.int64) for part in parts]).sum(0)
