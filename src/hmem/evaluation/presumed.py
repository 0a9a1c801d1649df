"""A calibration by facts of a graph itself that are left out, for a graph that lacks a share of its facts already.

How many facts a graph lacks, nobody knows: a share h is presumed. A share w is left out at a time, so little that the
others are nearly as many as there are, and what would be if it were h is computed. Let n answers to a question be
stored.

- A slot lacks none of a share h if it lacks none of t = log(1 − h)/log(1 − w) shares w. So P(missing) = 1 − (1 − y)ᵗ,
  where y is the share of such slots from which something was left out. One certain answer is missing anyway in t·z of
  such slots, if in z it was left out, and the others are complete: t·z / (1 − z). `Estimate` joins the two.
- Where one answer is left out of n + 1, others may be. Of a question that lacks any, a graph without a share h of its
  facts lacks (h/w)·(1 − (1 − w)ⁿ⁺¹) / (1 − (1 − h)ⁿ⁺¹) times as many, and its best answer is true as much more often.
- Of the candidates that count as false some are true and missing anyway. For each candidate that is left out there are
  h/w of these, provided that one of the n others is left out too: y·(h/w)·(1 − (1 − w)ⁿ).

Questions are few, so that steps are drawn to what is expected without them: those of first answers to the share that
each has in the softmax, those of first answers where some, or where none, are stored to the steps of both.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from hmem.evaluation.calibration import Calibration, Marks
from hmem.evaluation.isotonic import isotonic
from hmem.evaluation.outcomes import Outcomes
from hmem.evaluation.slots import Slot, count, drawn
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import most_answers, slot_sizes

EXPECTED = 50.0  # first answers that the softmax is worth
EXPECTED_OF_BOTH = 100.0  # those that the steps of filled and empty slots together are worth
LEAST_WEIGHT = 0.1  # of a candidate that counts as false


def calibrate_by(parts: Sequence[Marks], graph: Neighborhoods, left_out: float, presumed: float) -> Calibration | None:
    """A calibration for a graph by marks of parts of it, in which a share of its facts is left out each time.

    Another share is presumed to be missing from the graph itself.
    """
    parts = [each for each in parts if len(each.outcomes.log_p)]
    if not parts:
        return None
    before = np.cumsum([0] + [int(each.outcomes.question.max()) + 1 for each in parts])
    numbered = [
        each.outcomes._replace(question=each.outcomes.question + start)
        for each, start in zip(parts, before[:-1].tolist(), strict=True)
    ]
    outcomes = Outcomes(*(np.concatenate(columns) for columns in zip(*numbered, strict=True)))
    slots = Slot(*(np.concatenate(columns) for columns in zip(*(each.slots for each in parts), strict=True)))
    is_missing = np.concatenate([np.arange(len(each.weights)) < each.outcomes.leads.sum() for each in parts])
    weights = np.concatenate([each.weights for each in parts])
    power = float(np.log(1 - presumed) / np.log(1 - left_out))
    made = calibration_of(outcomes, left_out, presumed)
    most = most_answers(slot_sizes(graph), graph.num_roles)
    return replace(made, slots=drawn(count(graph), slots, is_missing, weights, power), most=most)


def calibration_of(outcomes: Outcomes, left_out: float, presumed: float) -> Calibration:
    """Steps of first answers where some are stored, of those where none is, and of all other answers."""
    log_p, is_true, leads, question, stored = outcomes
    assert stored is not None
    weights = presuming(outcomes, left_out, presumed)
    odds = np.exp(log_p) * lacking(stored, left_out, presumed)
    expected = odds / (odds + 1 - np.exp(np.minimum(log_p, 0.0)))
    both = isotonic(log_p[leads], is_true[leads], weights[leads], expected[leads], EXPECTED)
    kinds = []
    for kind in (leads & (stored > 0), leads & (stored == 0)):
        of_both = both(log_p[kind])
        own = isotonic(log_p[kind], is_true[kind], weights[kind], of_both, EXPECTED_OF_BOTH) if kind.any() else both
        kinds.append(own)
    others = isotonic(log_p[~leads], is_true[~leads], weights[~leads]) if not leads.all() else both
    return Calibration(
        steps=others,
        first_steps=kinds[0],
        empty_steps=kinds[1],
        questions=len(np.unique(question)),
        candidates=len(is_true),
        base_rate=float(is_true.mean()),
        error=None,
        top_error=None,
    )


def lacking(stored: Int[np.ndarray, " n"], left_out: float, presumed: float) -> Float[np.ndarray, " n"]:
    """How many times as many answers a question lacks that lacks any, with so many stored."""
    times: Float[np.ndarray, " n"] = presumed / left_out * (1 - (1 - left_out) ** (stored + 1))
    return times / (1 - (1 - presumed) ** (stored + 1))


def presuming(outcomes: Outcomes, left_out: float, presumed: float) -> Float[np.ndarray, " n"]:
    """What each candidate counts for: more if it is true, and less if it is one that may be missing anyway."""
    log_p, is_true, leads, _, stored = outcomes
    assert stored is not None
    share = np.empty(len(log_p))
    for kind in (leads, ~leads):
        if kind.any():
            share[kind] = isotonic(log_p[kind], is_true[kind])(log_p[kind])
    unseen = share * presumed / left_out * (1 - (1 - left_out) ** stored)
    weights: Float[np.ndarray, " n"] = np.where(
        is_true, lacking(stored, left_out, presumed), np.clip(1 - unseen / (1 - share), LEAST_WEIGHT, 1.0)
    )
    return weights
