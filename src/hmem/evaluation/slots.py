"""Is there an answer that is not stored yet? How likely that is, by the role and by what is stored of the entity.

What the facts say of the roles (`hmem.evaluation.role_counts`), how good the best answer is and how many facts the
entity has are weighed by logistic regression, apart for filled and for empty slots. It is fitted to slots from which
facts were left out and others that lack nothing as far as is known. On graphs of all kinds it finds nearly the same
(`FILLED`, `EMPTY`), and it is drawn to that: some hundred slots are few.

What is missing anyway counts as complete there; `Estimate` allows for as much of it as is presumed.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.evaluation.isotonic import Steps, isotonic
from hmem.evaluation.logistic import drawn_to, log_odds, logistic
from hmem.evaluation.role_counts import BUCKETS, KINDS, Counted, bucket, share_of
from hmem.graph.neighborhoods import Neighborhoods

LEAST_ODDS, MOST_ODDS = -12.0, 8.0  # of the best answer
MOST_SURE = 0.98
FILLED = (0.34, 1.02, 0.13, 0.02)  # by nine graphs, each with a twentieth of its facts left out
EMPTY = (-3.31, 1.13, 0.33, -0.33)
DRAWN = (1.0, 16.0, 16.0, 16.0)  # slots that these are worth
WORTH = 300.0  # slots that the sum is worth to the steps
NEVER_FALLS = np.array([False, True, True, False])  # neither higher odds nor a better best answer speak against it


class Slot(NamedTuple):
    """Some slots, by what an estimate takes into account."""

    stored: Int[np.ndarray, " n"]  # how many answers are stored there
    odds: Float[np.ndarray, " n"]  # by the counts
    lead_log_p: Float[np.ndarray, " n"]  # of the best answer that is not stored
    degree: Int[np.ndarray, " n"]  # how many facts the entity has

    @property
    def is_filled(self) -> Bool[np.ndarray, " n"]:
        filled: Bool[np.ndarray, " n"] = self.stored > 0
        return filled

    def matrix(self) -> Float[np.ndarray, "n 4"]:
        """A row of numbers for each slot: 1, the odds by the counts, those of the best answer, the degree."""
        log_p = np.clip(np.nan_to_num(self.lead_log_p, nan=LEAST_ODDS), LEAST_ODDS, -np.exp(-MOST_ODDS))
        lead = np.clip(log_p - np.log1p(-np.exp(log_p)), LEAST_ODDS, MOST_ODDS)
        return np.stack([np.ones(len(lead)), self.odds, lead, np.log1p(self.degree)], axis=1)


class Estimate(NamedTuple):
    """A sum of what speaks for it, and what share of the slots with such a sum lack an answer.

    y is the share from which something was left out, by the logistic function of the sum and by steps drawn to that.
    `times` as much is missing anyway. A part z of y is that the best answer was left out: all of it where the slot is
    empty, which is `is_single`. Of such slots z·times lack that answer anyway, and 1 − z − z·times are complete. If
    facts were `held_back` besides, so many times as many as were left out, z·held_back slots look complete that have
    the answer where the estimate is used. Whether others are missing does not depend on what was left out.

        P(missing) = 1 − (1 − z·times / (1 − z − z·held_back))·((1 − y) / (1 − z))^times
    """

    coefficients: Float[np.ndarray, " 4"]
    steps: Steps | None  # of models that were calibrated by steps
    times: float = 1.0
    is_single: bool = False
    left_out: Steps | None = None  # y by the sum
    held_back: float = 0.0

    def __call__(self, slots: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, " n"]:
        total: Float[np.ndarray, " n"] = slots @ self.coefficients
        if self.steps is not None:
            return self.steps(total)
        share = logistic(total) if self.left_out is None else self.left_out(total)
        most = 1 / (1 + self.times + self.held_back)
        lead = np.minimum(share * (1.0 if self.is_single else logistic(slots[:, 2])), most)
        others = ((1 - np.maximum(share, lead)) / (1 - lead)) ** self.times
        lacks_lead = lead * self.times / (1 - lead - lead * self.held_back)
        found: Float[np.ndarray, " n"] = np.clip(1 - (1 - lacks_lead) * others, 0.0, MOST_SURE)
        return found

    def to_dict(self) -> dict[str, Any]:
        steps, left_out = (None if each is None else each.to_dict() for each in (self.steps, self.left_out))
        told = {"times": self.times, "is_single": self.is_single, "left_out": left_out, "held_back": self.held_back}
        return {"coefficients": self.coefficients.tolist(), "steps": steps, **told}

    @classmethod
    def from_dict(cls, saved: Any) -> "Estimate":
        coefficients, times = np.array(saved["coefficients"], dtype=float), float(saved.get("times", 1.0))
        held_back = float(saved.get("held_back", 0.0))
        if coefficients.shape != (4,) or not np.isfinite([*coefficients, times, held_back]).all():
            raise ValueError("an estimate has four coefficients")
        return cls(
            coefficients,
            None if saved["steps"] is None else Steps.from_dict(saved["steps"]),
            times,
            saved.get("is_single") is True,
            None if saved.get("left_out") is None else Steps.from_dict(saved["left_out"]),
            held_back,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Slots:
    """P(an answer is missing), for filled and for empty slots."""

    counted: Counted
    filled: Estimate
    empty: Estimate

    def missing(self, slots: Slot) -> Float[np.ndarray, " n"]:
        """The probability that each slot lacks an answer."""
        matrix = slots.matrix()
        return np.where(slots.is_filled, self.filled(matrix), self.empty(matrix))

    def to_dict(self) -> dict[str, Any]:
        counted = {name: part.tolist() for name, part in self.counted._asdict().items()}
        return {"counted": counted, "filled": self.filled.to_dict(), "empty": self.empty.to_dict()}

    @classmethod
    def from_dict(cls, saved: Any) -> "Slots":
        kinds = {name: np.int64 if name == "others" else np.float64 for name in Counted._fields}
        counted = Counted(**{name: np.array(saved["counted"][name], dtype=kind) for name, kind in kinds.items()})
        roles = len(counted.base)
        shapes = [part.shape for part in counted]
        if shapes != [(roles, BUCKETS), (roles, min(KINDS, roles)), (roles, min(KINDS, roles)), (roles,)]:
            raise ValueError(f"counts of {roles} roles with the shapes {shapes}")
        if (
            not all(np.isfinite(part).all() for part in counted)
            or not ((counted.others >= 0) & (counted.others < roles)).all()
        ):
            raise ValueError("counts with numbers that are none")
        filled, empty = (Estimate.from_dict(saved[name]) for name in ("filled", "empty"))
        return cls(counted=counted, filled=filled, empty=empty)


def describe(
    counted: Counted,
    graph: Neighborhoods,
    entities: Int[np.ndarray, " n"],
    roles: Int[np.ndarray, " n"],
    lead_log_p: Float[np.ndarray, " n"],
    withheld: Bool[np.ndarray, " n"] | None = None,
) -> Slot:
    """The slots of these entities and roles, each without one of its stored answers where that is `withheld`."""
    stored, odds, degree = (np.empty(len(entities), dtype=kind) for kind in (np.int64, np.float64, np.int64))
    order = np.argsort(entities, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(entities[order])) + 1):
        if not len(places):
            continue
        counts = np.bincount(graph.edges_of(int(entities[places[0]]))[0], minlength=len(counted.base))
        degree[places] = counts.sum()
        asked = roles[places]
        stored[places] = counts[asked]
        odds[places] = log_odds(share_of(counted, counts > 0, asked))
    if withheld is not None:
        stored, degree = stored - withheld, degree - withheld
    odds = np.where(stored > 0, counted.filled[roles, bucket(stored)], odds)
    return Slot(stored, odds, lead_log_p, degree)


def stored_answers(
    graph: Neighborhoods,
    entities: Int[np.ndarray, " n"],
    roles: Int[np.ndarray, " n"],
    withheld: Bool[np.ndarray, " n"] | None = None,
) -> Int[np.ndarray, " n"]:
    """How many answers are stored in each slot, without one of them where that is `withheld`."""
    pairs, place = np.unique(np.stack([entities, roles], axis=1), axis=0, return_inverse=True)
    counts = np.array([len(graph.answers(*pair)) for pair in pairs.tolist()], dtype=np.int64)[place.reshape(-1)]
    left: Int[np.ndarray, " n"] = counts if withheld is None else counts - withheld
    return left


def fit(
    counted: Counted,
    slots: Slot,
    is_missing: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    times: float,
    held_back: float = 0.0,
) -> Slots:
    """Estimates drawn to those of other graphs, for slots that lack `times` as much as was left out here."""
    estimates = []
    for kind, usual, is_single in ((slots.is_filled, FILLED, False), (~slots.is_filled, EMPTY, True)):
        beta, steps, matrix = np.array(usual), None, slots.matrix()[kind]
        if kind.any():
            beta = drawn_to(beta, np.array(DRAWN), matrix, is_missing[kind], weights[kind], NEVER_FALLS)
            beta = np.round(beta, 4)
            weight = weights[kind] * (kind.sum() / weights[kind].sum())
            steps = isotonic(matrix @ beta, is_missing[kind], weight, logistic(matrix @ beta), WORTH)
        estimates.append(Estimate(beta, None, round(times, 4), is_single, steps, round(held_back, 4)))
    return Slots(counted=counted, filled=estimates[0], empty=estimates[1])
