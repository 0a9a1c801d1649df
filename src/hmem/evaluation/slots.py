"""Is there an answer that is not stored yet? How likely that is, by the role and by what is stored of the entity.

A slot is an entity and a role, with the answers that are stored there. Withholding shows how often a slot lacks one.
Of a role, N_n entities have n answers. To withhold any one fact of those with n + 1 leaves n stored and one missing, in
(n + 1)·N_{n+1} ways, and N_n entities have n and miss none: a role that never has two answers lacks none where it has
one. For an empty slot the question is whether entities of its kind have the role at all: of those that share a role c
with it, how many have q? The best such c speaks.

These counts, how good the best answer is and how many facts the entity has are weighed by logistic regression, apart
for filled and for empty slots, and isotonic regression makes probabilities of the sums. Both are fitted to slots of the
training graph, of which validation tells whether an answer is missing. Some of the others lack a test fact: which ones
is not looked at, but how many there must be is, and so many do not count as complete. A graph that lacks more than was
withheld for validation lacks more than these probabilities say.

A base that leaves out facts of its own has few slots to fit them to. On graphs of all kinds the regression finds nearly
the same (`FILLED`, `EMPTY`), so there it is drawn to that, and there are no steps.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.evaluation.isotonic import Steps, isotonic
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import SlotSizes, slot_sizes

BUCKETS = 10  # of numbers of stored answers: 0, 1, 2–3, 4–7, …
WITHHELD = 0.05  # of the facts, when filled slots are counted
PRIOR = 2.0  # slots of the average role that are added to those of each role
KINDS = 12  # roles that speak for each role, at most
KIND_PRIOR = 1.0  # entities of no kind in particular, added to those with a role
ENTITIES = 20_000  # of which kinds are counted
LEAST_ODDS, MOST_ODDS = -12.0, 8.0  # of the best answer
RIDGE = 1.0
MOST_SURE = 0.98
STEPS = 30
FILLED = (0.34, 1.02, 0.13, 0.02)  # by nine graphs, each with a twentieth of its facts left out
EMPTY = (-3.31, 1.13, 0.33, -0.33)
DRAWN = (1.0, 16.0, 16.0, 16.0)  # slots that these are worth


class Counted(NamedTuple):
    """What the stored facts say of the roles of a graph."""

    filled: Float[np.ndarray, "R2 buckets"]  # log odds that a slot with so many answers lacks one
    others: Int[np.ndarray, "R2 kinds"]  # the roles c that speak best for each role
    share: Float[np.ndarray, "R2 kinds"]  # of the entities with c, those that have the role as well
    base: Float[np.ndarray, " R2"]  # the same of all entities


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

    Without steps the logistic function of the sum is y, the share from which something was left out, and `times` as
    much is missing anyway. A part z of y is that the best answer was left out: all of it where the slot is empty, which
    is `is_single`. Of such slots z·times lack that answer anyway, and 1 − z − z·times are complete. Whether others are
    missing does not depend on what was left out.

        P(missing) = 1 − (1 − z·times / (1 − z))·((1 − y) / (1 − z))^times
    """

    coefficients: Float[np.ndarray, " 4"]
    steps: Steps | None
    times: float = 1.0
    is_single: bool = False

    def __call__(self, slots: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, " n"]:
        total: Float[np.ndarray, " n"] = slots @ self.coefficients
        if self.steps is not None:
            return self.steps(total)
        share = 1 / (1 + np.exp(-np.clip(total, -30, 30)))
        lead = np.minimum(share * (1.0 if self.is_single else 1 / (1 + np.exp(-slots[:, 2]))), 1 / (1 + self.times))
        others = ((1 - np.maximum(share, lead)) / (1 - lead)) ** self.times
        found: Float[np.ndarray, " n"] = np.clip(1 - (1 - lead * self.times / (1 - lead)) * others, 0.0, MOST_SURE)
        return found

    def to_dict(self) -> dict[str, Any]:
        steps = None if self.steps is None else self.steps.to_dict()
        told = {"times": self.times, "is_single": self.is_single}
        return {"coefficients": self.coefficients.tolist(), "steps": steps, **told}

    @classmethod
    def from_dict(cls, saved: Any) -> "Estimate":
        coefficients, times = np.array(saved["coefficients"], dtype=float), float(saved.get("times", 1.0))
        if coefficients.shape != (4,) or not np.isfinite([*coefficients, times]).all():
            raise ValueError("an estimate has four coefficients")
        return cls(
            coefficients,
            None if saved["steps"] is None else Steps.from_dict(saved["steps"]),
            times,
            saved.get("is_single") is True,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Slots:
    """P(an answer is missing), for filled and for empty slots."""

    counted: Counted
    filled: Estimate
    empty: Estimate

    @property
    def num_roles(self) -> int:
        return len(self.counted.base)

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


def count(graph: Neighborhoods, seed: int = 0) -> Counted:
    """What the facts of a graph say of its roles; rounded, as a file keeps it."""
    others, share, base = _kinds(graph, seed)
    odds = _filled_odds(slot_sizes(graph), graph.num_roles)
    return Counted(np.round(odds, 4), others, np.round(share, 4), np.round(base, 6))


def shares_of_kind(
    counted: Counted, graph: Neighborhoods, entity: int, roles: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Of the entities that have a role which this one has, how many have other roles; by the role that says most."""
    present = np.zeros(len(counted.base), dtype=bool)
    present[graph.edges_of(entity)[0]] = True
    return _share(counted, present, roles)


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
        odds[places] = _log_odds(_share(counted, counts > 0, asked))
    if withheld is not None:
        stored, degree = stored - withheld, degree - withheld
    odds = np.where(stored > 0, counted.filled[roles, _bucket(stored)], odds)
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
    seen: float = 1.0,
) -> Slots | None:
    """Estimates for slots of which some are seen to lack an answer; None if there is one kind of slot only.

    `seen` is the share of those that lack one of which this is seen.
    """
    estimates = []
    for kind in (slots.is_filled, ~slots.is_filled):
        if not kind.any():
            return None
        matrix = slots.matrix()[kind]
        beta = np.round(rising(matrix, is_missing[kind], weights[kind]), 6)
        steps = isotonic(matrix @ beta, is_missing[kind], weights[kind])
        estimates.append(Estimate(beta, without_unseen(steps, seen)))
    return Slots(counted=counted, filled=estimates[0], empty=estimates[1])


def drawn(
    counted: Counted,
    slots: Slot,
    is_missing: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    times: float,
) -> Slots:
    """Estimates drawn to those of other graphs, for slots that lack `times` as much as those they are fitted to."""
    estimates = []
    for kind, usual, is_single in ((slots.is_filled, FILLED, False), (~slots.is_filled, EMPTY, True)):
        beta = np.array(usual)
        if kind.any():
            beta = rising(slots.matrix()[kind], is_missing[kind], weights[kind], beta, np.array(DRAWN))
        estimates.append(Estimate(np.round(beta, 4), None, round(times, 4), is_single))
    return Slots(counted=counted, filled=estimates[0], empty=estimates[1])


def rising(
    matrix: Float[np.ndarray, "n 4"],
    is_missing: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    usual: Float[np.ndarray, " 4"] | None = None,
    penalty: Float[np.ndarray, " 4"] | None = None,
) -> Float[np.ndarray, " 4"]:
    """Weighted logistic regression of what never speaks against a missing answer.

    Neither higher odds nor a better best answer makes it less likely that an answer is missing: what would say so, by
    accident, is left out.
    """
    used = np.ones(4, dtype=bool)
    beta = regression(matrix, is_missing, weights, used, usual, penalty)
    while (falling := used & (beta < 0) & [False, True, True, False]).any():
        used &= ~falling
        beta = regression(matrix, is_missing, weights, used, usual, penalty)
    return beta


def without_unseen(steps: Steps, seen: float) -> Steps:
    """The share of slots that lack an answer among those that are seen to and those that are complete.

    Where p of the slots are seen to lack one, p·(1 − seen) / seen lack one unseen.
    """
    complete = np.maximum(1 - steps.values - steps.values * (1 - seen) / seen, 0.0)
    return replace(steps, values=np.minimum(steps.values / (steps.values + complete), MOST_SURE))


def regression(
    matrix: Float[np.ndarray, "n 4"],
    is_missing: Bool[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    used: Bool[np.ndarray, " 4"],
    usual: Float[np.ndarray, " 4"] | None = None,
    penalty: Float[np.ndarray, " 4"] | None = None,
) -> Float[np.ndarray, " 4"]:
    """Logistic regression on some of the columns, by Newton's method; the coefficients of the others are 0.

    The penalty draws the coefficients to the usual ones: to 0, but for the first.
    """
    matrix = matrix * used
    mean = np.average(is_missing, weights=weights, keepdims=True)
    usual = np.zeros(4) if usual is None else usual * used
    beta = np.array([_log_odds(mean)[0], *usual[1:]])
    weights = weights * (len(weights) / weights.sum())
    ridge = RIDGE * np.diag([0.0, 1.0, 1.0, 1.0]) if penalty is None else np.diag(penalty)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(matrix @ beta, -30, 30)))
        gradient = matrix.T @ (weights * (is_missing - p)) - ridge @ (beta - usual)
        curvature = (matrix * (weights * np.maximum(p * (1 - p), 1e-9))[:, None]).T @ matrix + ridge
        step = np.linalg.solve(curvature + 1e-9 * np.eye(4), gradient)
        beta = beta + step * min(1.0, 3.0 / max(1e-9, float(np.abs(step).max())))
    chosen: Float[np.ndarray, " 4"] = beta * used
    return chosen


def _share(counted: Counted, present: Bool[np.ndarray, " R2"], roles: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The share of the entities of a kind that have each role, where the kind is given by the roles they have.

    A role that is not listed says less than any that is; without roles an entity is of no kind in particular.
    """
    base: Float[np.ndarray, " n"] = counted.base[roles]
    if not present.any():
        return base
    speaks = np.where(present[counted.others[roles]], counted.share[roles], 0.0).max(1, initial=0.0)
    share: Float[np.ndarray, " n"] = np.where(
        speaks > 0, speaks, np.minimum(counted.share[roles].min(1, initial=1.0), base)
    )
    return share


def _filled_odds(sizes: SlotSizes, num_roles: int) -> Float[np.ndarray, "R2 buckets"]:
    """Log odds that a slot with n answers lacks another, by withholding."""
    role, answers, times = sizes.T
    complete = np.zeros((num_roles, BUCKETS))
    np.add.at(complete, (role, _bucket(answers)), times)
    lacking = np.zeros_like(complete)
    several = answers > 1
    withheld = WITHHELD * (answers * times)[several]
    np.add.at(lacking, (role[several], _bucket(answers[several] - 1)), withheld)
    average = lacking.sum(0) + 0.5
    average = average / (average + complete.sum(0) + 0.5)
    share = (lacking + PRIOR * average) / (lacking + complete + PRIOR)
    return _log_odds(share)


def _kinds(
    graph: Neighborhoods, seed: int
) -> tuple[Int[np.ndarray, "R2 kinds"], Float[np.ndarray, "R2 kinds"], Float[np.ndarray, " R2"]]:
    """For each role q the roles c with the highest P(q | c), those values, and P(q)."""
    with_facts = np.flatnonzero(np.diff(graph.offsets) > 0)
    chosen = np.random.default_rng(seed).permutation(with_facts)[:ENTITIES]
    num_roles = graph.num_roles
    together = np.zeros((num_roles, num_roles))
    rows = max(1, 2**24 // num_roles)
    for start in range(0, len(chosen), rows):
        edges = graph.lookup(chosen[start : start + rows])
        has = np.zeros((len(chosen[start : start + rows]), num_roles), dtype=np.float32)
        has[edges.owner, edges.roles] = 1
        together += has.T @ has
    number = np.diag(together).copy()
    base = number / max(1, len(chosen))
    share = (together + KIND_PRIOR * base) / (number[:, None] + KIND_PRIOR)  # (c, q)
    np.fill_diagonal(share, 0.0)
    kinds = min(KINDS, num_roles)
    others = np.argsort(-share, axis=0, kind="stable")[:kinds].T
    return others, np.take_along_axis(share.T, others, axis=1), base


def _bucket(stored: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    doublings = np.ceil(np.log2(np.maximum(stored, 0) + 1)).astype(np.int64)
    bucket: Int[np.ndarray, " n"] = np.minimum(doublings, BUCKETS - 1)
    return bucket


def _log_odds(share: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    share = np.clip(share, 1e-6, 1 - 1e-6)
    odds: Float[np.ndarray, "*shape"] = np.log(share / (1 - share))
    return odds
