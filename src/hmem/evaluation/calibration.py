"""From a score to a probability.

A model ranks; how often an answer with a given score is true has to be counted. `calibrate` asks the questions of the
validation facts, takes the best candidates that are not stored, and notes for each of them log p, the model's log
probability among the answers that are not stored, and whether validation holds that fact. Isotonic regression then
fits P(true | log p) by a non-decreasing step function: one for the first answer to each question and one for all
others, because in dense graphs many candidates score nearly as high as the first and few of them are true. Answers with
equally good evidence share p among them and are no less true for that; where a scorer can give the log probability of
an answer by its own evidence (`log_alone`), that is used in place of log p. An answer to a question of which others are
stored already may be less likely than its log p says; by how much (`Lean`) is found by logistic regression.

How to read such a probability:

- A candidate that validation lacks counts as false, though it may be true and not recorded: it is a lower bound. A base
  that is asked with facts of its own left out is presumed to lack others too (`hmem.evaluation.presumed`).
- Each question was asked because at least one answer to it is missing, so it holds for questions of which that is true.
  How likely that is has a number of its own (`hmem.evaluation.slots`), and what is shown is the product of the two.
- It was counted on entities with about as many facts as those of training, and is not given for entities that have far
  more (`Calibration.covers`).

The calibration error is measured by two halves of the questions: each is predicted by the steps fitted to the other.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.errors import CheckpointError
from hmem.evaluation.evaluate import Scorer
from hmem.evaluation.isotonic import Steps, expected_calibration_error, isotonic
from hmem.evaluation.outcomes import DEPTH, Outcomes, outcomes_of
from hmem.evaluation.queries import queries_of
from hmem.evaluation.slots import Counted, Slot, Slots, count, describe, fit, regression
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import most_answers, slot_sizes

QUESTIONS = 2000  # enough for errors of a percent, and quick
SLOTS = 2000  # filled ones, and as many empty ones, of which validation has no answer
EMPTY_ROLES = 4  # drawn for each entity
ROOM = 2  # an entity may have so many times as many facts in a role as any had in training
FEW = 20  # so many facts in a role are never too many

LEAST_LOG_P = -12.0  # below which all are alike
LEAST_SLOPE = 0.05  # of log p, below which nothing is compared with it

NUMBERS = ("questions", "candidates", "base_rate", "error", "top_error")


class Lean(NamedTuple):
    """What is taken from log p where answers are stored already."""

    filled: float = 0.0  # if any is
    stored: float = 0.0  # times the logarithm of how many, and one

    def __call__(self, log_p: Float[np.ndarray, " n"], stored: Int[np.ndarray, " n"] | None) -> Float[np.ndarray, " n"]:
        if stored is None:
            return log_p
        leaning = self.filled * (stored > 0) + self.stored * np.log1p(stored)
        less: Float[np.ndarray, " n"] = log_p + np.minimum(leaning, 0.0)  # nothing becomes likelier: it is seen seldom
        return less


NO_LEAN = Lean()


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """P(true | log p), and how far it can be trusted."""

    steps: Steps  # for answers that are not the first to their question
    questions: int  # asked of the model
    candidates: int  # counted, all questions together
    base_rate: float  # the share of them that was true
    error: float | None  # expected calibration error of all candidates, cross-fitted; None if there are too few
    top_error: float | None  # the same of the first answers alone, which are read most
    first_steps: Steps | None = None  # for first answers; None in older models, where `steps` are of all
    empty_steps: Steps | None = None  # for first answers where none is stored, if these have steps of their own
    slots: Slots | None = None  # whether there is an answer that is not stored; None in older models
    most: Int[np.ndarray, " R2"] | None = None  # the most facts that an entity of the training graph has in each role
    lean: Lean = NO_LEAN

    def probability(
        self,
        log_p: Float[np.ndarray, " n"],
        leads: Bool[np.ndarray, " n"],
        missing: Float[np.ndarray, " n"] | float = 1.0,
        stored: Int[np.ndarray, " n"] | None = None,
    ) -> Float[np.ndarray, " n"]:
        """The probability that a candidate is true, from its log probability among the answers that are not stored.

        `leads` says which candidates score best of those, `missing` how likely it is that an answer is missing at all,
        and `stored` how many answers to the question are stored.
        """
        leaning = self.lean(log_p, stored)
        others = self.steps(leaning)
        first = others if self.first_steps is None else self.first_steps(leaning)
        if self.empty_steps is None:
            first = np.maximum(first, others)
        else:  # first answers are counted best
            first = first if stored is None else np.where(stored > 0, first, self.empty_steps(leaning))
            others = np.minimum(first, others)
        return missing * np.where(leads, first, others)

    def missing(
        self,
        graph: Neighborhoods,
        entities: Int[np.ndarray, " n"],
        roles: Int[np.ndarray, " n"],
        lead_log_p: Float[np.ndarray, " n"],
        withheld: Bool[np.ndarray, " n"] | None = None,
    ) -> Float[np.ndarray, " n"]:
        """The probability that there is an answer which is not stored, from the facts that are and the best answer."""
        if self.slots is None or self.slots.num_roles != graph.num_roles:  # of another graph's relations
            return np.ones(len(entities))
        return self.slots.missing(describe(self.slots.counted, graph, entities, roles, lead_log_p, withheld))

    def covers(self, roles: Int[np.ndarray, " K"]) -> bool:
        """Whether training had entities with about as many facts as one whose edges have these roles."""
        if self.most is None:
            return True
        counts = np.bincount(roles, minlength=len(self.most))
        return bool((counts <= np.maximum(ROOM * self.most, FEW)).all())

    def to_dict(self) -> dict[str, Any]:
        """The form in which a model folder keeps it, in `metrics.json`."""
        return {
            "method": "isotonic",
            **{name: getattr(self, name) for name in NUMBERS},
            "steps": self.steps.to_dict(),
            "first_steps": None if self.first_steps is None else self.first_steps.to_dict(),
            "empty_steps": None if self.empty_steps is None else self.empty_steps.to_dict(),
            "slots": None if self.slots is None else self.slots.to_dict(),
            "most": None if self.most is None else self.most.tolist(),
            "lean": list(self.lean),
        }

    @classmethod
    def from_dict(cls, saved: Any) -> "Calibration":
        try:
            if saved["method"] != "isotonic":
                raise ValueError(f"method {saved['method']!r}")
            numbers = {name: saved[name] for name in NUMBERS}
            lean = Lean(*(float(each) for each in saved.get("lean", ())))
            each = np.array([*lean, *(number or 0 for number in numbers.values())], dtype=np.float64)
            if not np.isfinite(each).all() or not isinstance(saved["questions"], int):
                raise ValueError(f"numbers that are none among {numbers} and {list(lean)}")
            most = None if saved.get("most") is None else np.array(saved["most"], dtype=np.int64)
            if most is not None and most.ndim != 1:
                raise ValueError("the most facts of each role are no list")
            return cls(
                steps=Steps.from_dict(saved["steps"]),
                first_steps=None if saved.get("first_steps") is None else Steps.from_dict(saved["first_steps"]),
                empty_steps=None if saved.get("empty_steps") is None else Steps.from_dict(saved["empty_steps"]),
                slots=None if saved.get("slots") is None else Slots.from_dict(saved["slots"]),
                most=most,
                lean=lean,
                **numbers,
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            problem = f"the calibration in metrics.json cannot be used ({error!r})"
            raise CheckpointError(problem, hint="remove it, and scores are shown instead") from error


class Marks(NamedTuple):
    """What became of the questions of one graph, and of slots that lack nothing as far as is known."""

    outcomes: Outcomes  # of questions that have an answer
    slots: Slot  # the same questions first, then others
    weights: Float[np.ndarray, " n"]  # how many slots each of these stands for
    seen: float  # the share of slots lacking an answer of which this is known


def calibrate(
    scorer: Scorer,
    dataset: Dataset,
    *,
    questions: int = QUESTIONS,
    slots: int = SLOTS,
    depth: int = DEPTH,
    seed: int = 0,
    sample: Int[np.ndarray, "n 2"] | None = None,
) -> Calibration | None:
    """Calibrate a model whose memories are made of the training facts; None if there is not a single candidate.

    `questions` of the validation facts are asked, or those of a `sample` of them, and about `slots` filled and empty
    ones that they do not ask for.
    """
    graph = dataset.inference_graph("train")
    marks = marks_of(scorer, dataset, questions=questions, slots=slots, depth=depth, seed=seed, sample=sample)
    if not len(marks.outcomes.log_p):
        return None
    made = calibration_of(marks.outcomes, seed)
    is_missing = np.arange(len(marks.weights)) < marks.outcomes.leads.sum()
    slots_of_graph = fit(count(graph), marks.slots, is_missing, marks.weights, seen=marks.seen)
    return replace(made, slots=slots_of_graph, most=most_answers(slot_sizes(graph), graph.num_roles))


def marks_of(
    scorer: Scorer,
    dataset: Dataset,
    *,
    questions: int = QUESTIONS,
    slots: int = SLOTS,
    depth: int = DEPTH,
    seed: int = 0,
    sample: Int[np.ndarray, "n 2"] | None = None,
) -> Marks:
    """Ask the questions of the validation facts, all or a sample or those given, and some that they do not ask."""
    asked = asked_by_validation(dataset)
    if sample is None:
        sample = asked if len(asked) <= questions else asked[np.sort(_draw(len(asked), questions, seed))]
    outcomes = outcomes_of(scorer, dataset, sample, depth)
    graph = dataset.inference_graph("train")
    counted = count(graph)
    heldout = None if dataset.heldout is None or not np.isin(asked[:, 0], dataset.heldout).all() else dataset.heldout
    others, weights = _others(counted, graph, asked, heldout, slots)
    found = outcomes_of(scorer, dataset, others, 1)
    lacking, first = outcomes.question[outcomes.leads], outcomes.log_p[outcomes.leads]
    pairs = np.concatenate([sample[lacking], others[found.question]])
    described = describe(counted, graph, pairs[:, 0], pairs[:, 1], np.concatenate([first, found.log_p]))
    known = len(dataset.valid)
    each = np.full(len(lacking), len(asked) / len(sample))
    seen = known / (known + len(dataset.test))
    return Marks(outcomes, described, np.concatenate([each, weights[found.question]]), seen)


def asked_by_validation(dataset: Dataset) -> Int[np.ndarray, "n 2"]:
    """The entities and roles of the questions that validation facts answer, each once."""
    queries = queries_of(dataset, "valid")
    asked: Int[np.ndarray, "n 2"] = np.unique(np.stack([queries.entities, queries.roles], axis=1), axis=0)
    return asked


def _draw(count: int, sample: int, seed: int) -> Int[np.ndarray, " n"]:
    return np.random.default_rng(seed).permutation(count)[:sample]


def _others(
    counted: Counted,
    stored: Neighborhoods,
    asked: Int[np.ndarray, "n 2"],
    heldout: Int[np.ndarray, " H"] | None,
    most: int,
) -> tuple[Int[np.ndarray, "m 2"], Float[np.ndarray, " m"]]:
    """Some slots of which validation has no answer, and how many each of them stands for.

    Filled ones are drawn evenly. Of the empty ones most make no sense, so that half of them are drawn by how many
    entities of the kind have the role.
    """
    rng = np.random.default_rng(0)
    num_roles = stored.num_roles
    entities = np.flatnonzero(np.diff(stored.offsets) > 0) if heldout is None else heldout
    asked_keys = asked[:, 0] * num_roles + asked[:, 1]
    edges = stored.lookup(entities)
    filled = np.setdiff1d(np.unique(entities[edges.owner] * num_roles + edges.roles), asked_keys)
    drawn = rng.permutation(filled)[:most]
    keys, weights = [drawn], [np.full(len(drawn), len(filled) / max(1, len(drawn)))]
    some = rng.permutation(entities)[: max(1, most // EMPTY_ROLES)]
    roles = np.arange(num_roles)
    for entity in some.tolist():
        slots = describe(counted, stored, np.full(num_roles, entity), roles, np.zeros(num_roles))
        share = 1 / (1 + np.exp(-slots.odds)) * ~slots.is_filled
        share[asked[asked[:, 0] == entity, 1]] = 0
        possible = share > 0
        if possible.any():
            probability = (share / share.sum() + possible / possible.sum()) / 2
            chosen = rng.choice(num_roles, EMPTY_ROLES, p=probability)
            keys.append(entity * num_roles + chosen)
            weights.append(len(entities) / len(some) / (EMPTY_ROLES * probability[chosen]))
    return np.stack(np.divmod(np.concatenate(keys), num_roles), axis=1), np.concatenate(weights)


def calibration_of(outcomes: Outcomes, seed: int = 0) -> Calibration:
    """Fit all candidates, and measure the error by two halves of the questions, each with the fit of the other."""
    asked, question = np.unique(outcomes.question, return_inverse=True)
    is_true, leads = outcomes.is_true, outcomes.leads
    error = top_error = None
    if len(asked) > 1:
        half = (np.random.default_rng(seed).permutation(len(asked)) % 2).astype(bool)[question]
        probability = np.empty(len(is_true))
        for mine in (half, ~half):
            lean, first, others = _fitted(_some(outcomes, ~mine))
            some = _some(outcomes, mine)
            leaning = lean(some.log_p, some.stored)
            probability[mine] = np.where(leads[mine], first(leaning), others(leaning))
        error = expected_calibration_error(probability, is_true)
        top_error = expected_calibration_error(probability[leads], is_true[leads])
    lean, first, others = _fitted(outcomes)
    return Calibration(
        steps=others,
        first_steps=first,
        questions=len(asked),
        candidates=len(is_true),
        base_rate=float(is_true.mean()),
        error=error,
        top_error=top_error,
        lean=lean,
    )


def _some(outcomes: Outcomes, kept: Bool[np.ndarray, " n"]) -> Outcomes:
    log_p, is_true, leads, question, stored = outcomes
    return Outcomes(log_p[kept], is_true[kept], leads[kept], question[kept], None if stored is None else stored[kept])


def _fitted(outcomes: Outcomes) -> tuple[Lean, Steps, Steps]:
    """What is added to log p; the steps of first answers, and of the others: theirs too where there are no others."""
    leads, is_true = outcomes.leads, outcomes.is_true
    lean = lean_of(outcomes)
    leaning = lean(outcomes.log_p, outcomes.stored)
    first = isotonic(leaning[leads], is_true[leads])
    if leads.all():
        return lean, first, first
    return lean, first, isotonic(leaning[~leads], is_true[~leads])


def lean_of(outcomes: Outcomes) -> Lean:
    """How first answers lean, where some are to filled slots and some to empty ones."""
    leads, stored = outcomes.leads, outcomes.stored
    if stored is None:
        return Lean()
    log_p, is_true, stored = outcomes.log_p[leads], outcomes.is_true[leads], stored[leads]
    if len(np.unique(stored > 0)) < 2 or len(np.unique(is_true)) < 2:
        return Lean()
    columns = [np.ones(len(log_p)), np.maximum(log_p, LEAST_LOG_P), stored > 0, np.log1p(stored)]
    beta = regression(np.stack(columns, axis=1), is_true, np.ones(len(log_p)), np.ones(4, dtype=bool))
    if beta[1] <= LEAST_SLOPE:
        return Lean()
    return Lean(*np.round(beta[2:] / beta[1], 4).tolist())
