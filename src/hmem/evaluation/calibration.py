"""From a score to a probability.

A model ranks; how often an answer with a given score is true has to be counted. Some facts are asked for that the model
has not seen: those of validation, or in a base without a model of its own some that are left out. Of each question the
best candidates that are not stored are taken, with log p, the model's log probability among the answers that are not
stored, and whether their fact is one of these. What becomes of the first answers has a shape of its own
(`hmem.evaluation.first_answers`), because in dense graphs many candidates score nearly as high as the first and few of
them are true; of all others isotonic regression makes P(true | log p), a non-decreasing step function. Answers with
equally good evidence share p among them and are no less true for that; where a scorer can give the log probability of
an answer by its own evidence (`log_alone`), that is used in place of log p.

How to read such a probability:

- It is that of a graph which lacks a tenth of its facts, any as likely as any other. What follows from that is computed
  (`hmem.evaluation.presumed`).
- Each question was asked because at least one answer to it is missing, so it holds for questions of which that is true.
  How likely that is has a number of its own (`hmem.evaluation.slots`), and what is shown is the product of the two.
- It was counted on entities with about as many facts as those of training, and is not given for entities that have far
  more (`Calibration.covers`).

The calibration error is measured by two halves of the questions: each is predicted by what is fitted to the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.errors import CheckpointError
from hmem.evaluation import first_answers, slots
from hmem.evaluation.evaluate import Scorer
from hmem.evaluation.first_answers import FirstAnswers, LeaningSteps
from hmem.evaluation.isotonic import Steps, expected_calibration_error, isotonic
from hmem.evaluation.marks import QUESTIONS, SLOTS, Marks, asked_by_validation, asks_heldout, marks_of
from hmem.evaluation.outcomes import DEPTH, Outcomes
from hmem.evaluation.presumed import presuming, times_as_many
from hmem.evaluation.role_counts import count
from hmem.evaluation.slots import Slot, Slots, describe
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import most_answers, slot_sizes

LACKING = 0.1  # of all facts, those that a graph is presumed to lack
ROOM = 2  # an entity may have so many times as many facts in a role as any had in training
FEW = 20  # so many facts in a role are never too many
NO_LIMIT = 2**40  # where training says nothing of how many are

NUMBERS = ("questions", "candidates", "base_rate", "error", "top_error")


class Shares(NamedTuple):
    """How much was left out of a graph, and how much it is presumed to lack without that."""

    left_out: float
    presumed: float = LACKING
    held_back: float = 0.0  # so many times as many as were left out, and stored where the calibration is used


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """P(true | log p), and how far it can be trusted."""

    steps: Steps  # for answers that are not the first to their question
    questions: int  # asked of the model
    candidates: int  # counted, all questions together
    base_rate: float  # the share of them that was true
    error: float | None  # expected calibration error of all candidates, cross-fitted; None if there are too few
    top_error: float | None  # the same of the first answers alone, which are read most
    first: FirstAnswers | LeaningSteps | None = None  # None in the oldest models, where `steps` are of all
    slots: Slots | None = None  # whether there is an answer that is not stored; None in older models
    most: Int[np.ndarray, " R2"] | None = None  # the most facts that an entity of the training graph has in each role

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
        others = self.steps(log_p)
        if self.first is None:
            return missing * others
        first = self.first(log_p, np.zeros(len(log_p), dtype=np.int64) if stored is None else stored)
        return missing * np.where(leads, first, np.minimum(first, others))  # first answers are counted best

    def missing(
        self,
        graph: Neighborhoods,
        entities: Int[np.ndarray, " n"],
        roles: Int[np.ndarray, " n"],
        lead_log_p: Float[np.ndarray, " n"],
        withheld: Bool[np.ndarray, " n"] | None = None,
    ) -> Float[np.ndarray, " n"]:
        """The probability that there is an answer which is not stored, from the facts that are and the best answer."""
        if self.slots is None:
            return np.ones(len(entities))
        return self.slots.missing(describe(self.slots.counted, graph, entities, roles, lead_log_p, withheld))

    def with_roles_of(self, graph: Neighborhoods) -> "Calibration":
        """The same for a graph with relations that training did not know, which are numbered after the others.

        What facts say of roles is counted again. No number of facts is too many in a role that training did not know.
        """
        counts = (None if self.slots is None else self.slots.counted.base, self.most)
        if all(each is None or len(each) == graph.num_roles for each in counts):
            return self
        of_graph = None if self.slots is None else replace(self.slots, counted=count(graph))
        most = None
        if self.most is not None:
            known = min(len(self.most) // 2, graph.num_relations)
            most = np.full((2, graph.num_relations), NO_LIMIT)
            most[:, :known] = self.most[: 2 * (len(self.most) // 2)].reshape(2, -1)[:, :known]
        return replace(self, slots=of_graph, most=None if most is None else most.reshape(-1))

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
            "first": None if self.first is None else self.first.to_dict(),
            "slots": None if self.slots is None else self.slots.to_dict(),
            "most": None if self.most is None else self.most.tolist(),
        }

    @classmethod
    def from_dict(cls, saved: Any) -> "Calibration":
        try:
            if saved["method"] != "isotonic":
                raise ValueError(f"method {saved['method']!r}")
            numbers = {name: saved[name] for name in NUMBERS}
            each = np.array([number or 0 for number in numbers.values()], dtype=np.float64)
            if not np.isfinite(each).all() or not isinstance(saved["questions"], int):
                raise ValueError(f"numbers that are none among {numbers}")
            most = None if saved.get("most") is None else np.array(saved["most"], dtype=np.int64)
            if most is not None and most.ndim != 1:
                raise ValueError("the most facts of each role are no list")
            return cls(
                steps=Steps.from_dict(saved["steps"]),
                first=_first_of(saved),
                slots=None if saved.get("slots") is None else Slots.from_dict(saved["slots"]),
                most=most,
                **numbers,
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            problem = f"the calibration in metrics.json cannot be used ({error!r})"
            raise CheckpointError(problem, hint="remove it, and scores are shown instead") from error


def _first_of(saved: Any) -> FirstAnswers | LeaningSteps | None:
    if saved.get("first_steps") is not None:  # of an earlier model
        return LeaningSteps.from_dict({"steps": saved["first_steps"], "lean": saved.get("lean")})
    first = saved.get("first")
    if first is None:
        return None
    return LeaningSteps.from_dict(first) if "lean" in first else FirstAnswers.from_dict(first)


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
    marks = marks_of(scorer, dataset, questions=questions, slots=slots, depth=depth, seed=seed, sample=sample)
    return calibrate_by([marks], dataset.inference_graph("train"), shares_of(dataset), seed)


def shares_of(dataset: Dataset) -> Shares:
    """What share of the facts validation is: of all entities, or of those held out if these are asked for.

    Test facts are as missing as those of validation, and a knowledge base has them.
    """
    graph, heldout = dataset.inference_graph("train"), asks_heldout(dataset, asked_by_validation(dataset))
    stored = 0 if heldout is None else int(graph.degrees(heldout).sum())
    stored = stored or graph.num_facts  # held-out entities may have no facts at all
    valid, test = len(dataset.valid), len(dataset.test)
    return Shares(valid / (stored + valid), held_back=test / max(1, valid))


def calibrate_by(parts: Sequence[Marks], graph: Neighborhoods, shares: Shares, seed: int = 0) -> Calibration | None:
    """A calibration for a graph by marks of parts of it, in which a share of its facts is left out each time."""
    parts = [each for each in parts if len(each.outcomes.log_p)]
    if not parts:
        return None
    before = np.cumsum([0] + [int(each.outcomes.question.max()) + 1 for each in parts])
    numbered = [
        each.outcomes._replace(question=each.outcomes.question + start)
        for each, start in zip(parts, before[:-1].tolist(), strict=True)
    ]
    outcomes = Outcomes(*(np.concatenate(columns) for columns in zip(*numbered, strict=True)))
    described = Slot(*(np.concatenate(columns) for columns in zip(*(each.slots for each in parts), strict=True)))
    is_missing = np.concatenate([np.arange(len(each.weights)) < each.outcomes.leads.sum() for each in parts])
    weights = np.concatenate([each.weights for each in parts])
    made = calibration_of(outcomes, shares, seed)
    times = times_as_many(shares.left_out, shares.presumed)
    of_graph = slots.fit(count(graph), described, is_missing, weights, times, shares.held_back)
    return replace(made, slots=of_graph, most=most_answers(slot_sizes(graph), graph.num_roles))


def calibration_of(outcomes: Outcomes, shares: Shares, seed: int = 0) -> Calibration:
    """Fit all candidates, and measure the error by two halves of the questions, each with the fit of the other."""
    asked, question = np.unique(outcomes.question, return_inverse=True)
    is_true, leads = outcomes.is_true, outcomes.leads
    made, weights = _fitted(outcomes, shares)
    error = top_error = None
    if len(asked) > 1:
        half = (np.random.default_rng(seed).permutation(len(asked)) % 2).astype(bool)[question]
        probability = np.empty(len(is_true))
        for mine in (half, ~half):
            of_others, _ = _fitted(Outcomes(*(part[~mine] for part in outcomes)), shares)
            some = Outcomes(*(part[mine] for part in outcomes))
            probability[mine] = of_others.probability(some.log_p, some.leads, stored=some.stored)
        error = expected_calibration_error(probability, is_true, weights=weights)
        top_error = expected_calibration_error(probability[leads], is_true[leads], weights=weights[leads])
    return replace(made, error=error, top_error=top_error)


def _fitted(outcomes: Outcomes, shares: Shares) -> tuple[Calibration, Float[np.ndarray, " n"]]:
    """What is found by some candidates, and what each of these counts for."""
    log_p, is_true, leads, question, stored = outcomes
    weights = np.empty(len(log_p))
    first, weights[leads] = first_answers.fit(
        log_p[leads], is_true[leads], stored[leads], shares.left_out, shares.presumed
    )
    others = ~leads
    if others.any():
        share = isotonic(log_p[others], is_true[others])(log_p[others])
        weights[others] = presuming(is_true[others], share, stored[others], shares.left_out, shares.presumed)
    kind = others if others.any() else leads
    made = Calibration(
        steps=isotonic(log_p[kind], is_true[kind], weights[kind]),
        first=first,
        questions=len(np.unique(question)),
        candidates=len(is_true),
        base_rate=float(is_true.mean()),
        error=None,
        top_error=None,
    )
    return made, weights
