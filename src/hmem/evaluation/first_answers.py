"""How likely the first answer to a question is true, provided that an answer is missing.

The softmax p of a model tells which of all candidates is the one that was left out. Of a question with many answers
several are missing, m by what is presumed (`hmem.evaluation.presumed`), and each may be the first:

    a = log odds of 1 − (1 − p)^m        m = h·(n + 1) / (1 − (1 − h)ⁿ⁺¹) with n answers stored

Logistic regression on a, on whether nothing is stored and on log(n + 1) corrects that by what became of left-out facts.
On most graphs it finds nearly a itself (`USUAL`), and it is drawn to that, since questions are few. Steps over the sum
follow what is seen often, and are drawn to the sum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.evaluation.isotonic import Steps, isotonic
from hmem.evaluation.logistic import drawn_to, log_odds, logistic
from hmem.evaluation.presumed import expected, presuming

USUAL = (0.2, 1.0, -0.1, 0.05)  # of thirteen graphs with a tenth hidden
DRAWN = (8.0, 32.0, 16.0, 32.0)  # questions that these are worth
WORTH = 300.0  # questions that the sum is worth to the steps
LEAST_ODDS, MOST_ODDS = -8.0, 8.0
NEVER_FALLS = np.array([False, True, False, False])  # with the odds


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstAnswers:
    """P(true | log p, how many answers are stored) of first answers."""

    coefficients: Float[np.ndarray, " 4"]
    steps: Steps
    presumed: float  # the share of all facts that is missing

    def __call__(self, log_p: Float[np.ndarray, " n"], stored: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        found: Float[np.ndarray, " n"] = self.steps(_matrix(log_p, stored, self.presumed) @ self.coefficients)
        return found

    def to_dict(self) -> dict[str, Any]:
        sum_of = {"coefficients": self.coefficients.tolist(), "presumed": self.presumed}
        return {**sum_of, "steps": self.steps.to_dict()}

    @classmethod
    def from_dict(cls, saved: Any) -> "FirstAnswers":
        coefficients, presumed = np.array(saved["coefficients"], dtype=float), float(saved["presumed"])
        if coefficients.shape != (4,) or not np.isfinite(coefficients).all() or not 0 < presumed < 1:
            raise ValueError("first answers have four coefficients and a presumed share")
        return cls(coefficients=coefficients, steps=Steps.from_dict(saved["steps"]), presumed=presumed)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaningSteps:
    """The same of earlier models: by steps over log p, from which something is taken where answers are stored."""

    steps: Steps
    filled: float = 0.0  # if any is stored
    stored: float = 0.0  # times the logarithm of how many, and one

    def __call__(self, log_p: Float[np.ndarray, " n"], stored: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        leaning = np.minimum(self.filled * (stored > 0) + self.stored * np.log1p(stored), 0.0)
        found: Float[np.ndarray, " n"] = self.steps(log_p + leaning)
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"lean": [self.filled, self.stored], "steps": self.steps.to_dict()}

    @classmethod
    def from_dict(cls, saved: Any) -> "LeaningSteps":
        filled, stored = (float(each) for each in saved["lean"] or (0.0, 0.0))
        if not np.isfinite([filled, stored]).all():
            raise ValueError("a lean that is no number")
        return cls(steps=Steps.from_dict(saved["steps"]), filled=filled, stored=stored)


def fit(
    log_p: Float[np.ndarray, " n"],
    is_true: Bool[np.ndarray, " n"],
    stored: Int[np.ndarray, " n"],
    left_out: float,
    presumed: float,
) -> tuple[FirstAnswers, Float[np.ndarray, " n"]]:
    """What suits the first answers to questions from which a share is left out, and what each of these counts for."""
    ones, seen = np.ones(len(log_p)), _matrix(log_p, stored, left_out)
    share = logistic(seen @ drawn_to(np.array(USUAL), np.array(DRAWN) / 4, seen, is_true, ones, NEVER_FALLS))
    weights = presuming(is_true, share, stored, left_out, presumed)
    matrix = _matrix(log_p, stored, presumed)
    beta = np.round(drawn_to(np.array(USUAL), np.array(DRAWN), matrix, is_true, weights, NEVER_FALLS), 4)
    total = matrix @ beta
    steps = isotonic(total, is_true, weights, logistic(total), WORTH)
    return FirstAnswers(coefficients=beta, steps=steps, presumed=presumed), weights


def _matrix(log_p: Float[np.ndarray, " n"], stored: Int[np.ndarray, " n"], share: float) -> Float[np.ndarray, "n 4"]:
    no_other = -np.expm1(np.minimum(log_p, -1e-9))  # 1 − p
    odds = np.clip(log_odds(1 - no_other ** expected(stored, share)), LEAST_ODDS, MOST_ODDS)
    return np.stack([np.ones(len(log_p)), odds, stored == 0, np.log1p(stored)], axis=1)
