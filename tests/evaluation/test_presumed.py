"""Percentages of a graph that leaves out facts of its own are those of one that lacks a share of them."""

import numpy as np
import pytest

from hmem.evaluation.calibration import Calibration
from hmem.evaluation.outcomes import Outcomes
from hmem.evaluation.presumed import calibrate_by, calibration_of, lacking, presuming
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples

LEFT_OUT, PRESUMED = 0.05, 0.1
LOG_P = np.log(np.array([0.1, 0.3, 0.6, 0.9]))


def first_answers(count: int, true: dict[bool, float]) -> Outcomes:
    """First answers to questions of which none or two are stored; in each case another share of log p comes true."""
    rng = np.random.default_rng(0)
    log_p, filled = rng.choice(LOG_P, count), rng.random(count) < 0.5
    share = np.exp(log_p) * np.where(filled, true[True], true[False])
    return Outcomes(
        log_p, rng.random(count) < share, np.ones(count, dtype=bool), np.arange(count), np.where(filled, 2, 0)
    )


def said(calibration: Calibration, stored: int) -> np.ndarray:
    return calibration.probability(LOG_P, np.ones(4, dtype=bool), stored=np.full(4, stored))


def test_first_answers_where_none_is_stored_have_steps_of_their_own() -> None:
    made = calibration_of(first_answers(8000, {True: 0.5, False: 1.0}), LEFT_OUT, PRESUMED)
    assert said(made, 0) == pytest.approx(np.exp(LOG_P), abs=0.04)
    assert (said(made, 2) < said(made, 0) - 0.02).all()
    kept = Calibration.from_dict(made.to_dict())
    for stored in (0, 2):
        assert said(kept, stored) == pytest.approx(said(made, stored))


def test_of_a_few_questions_the_softmax_is_believed() -> None:
    """That none of six answers was true, although all were called 60 % likely, says little."""
    log_p, none = np.full(6, np.log(0.6)), np.zeros(6, dtype=int)
    made = calibration_of(Outcomes(log_p, none > 0, np.ones(6, dtype=bool), np.arange(6), none), LEFT_OUT, PRESUMED)
    assert 0.5 < made.probability(log_p[:1], np.ones(1, dtype=bool), stored=none[:1])[0] < 0.6


def test_a_question_that_lacks_an_answer_lacks_more_of_them_the_more_are_stored() -> None:
    """By drawing facts of slots with n + 1 answers at random."""
    rng = np.random.default_rng(0)
    for n in (0, 3, 20):
        counted = []
        for share in (LEFT_OUT, PRESUMED):
            drawn = rng.binomial(n + 1, share, 200_000)
            counted.append(drawn[drawn > 0].mean())
        assert lacking(np.array([n]), LEFT_OUT, PRESUMED)[0] == pytest.approx(counted[1] / counted[0], rel=0.02)


def test_a_candidate_that_may_be_missing_anyway_counts_less_as_false() -> None:
    outcomes = first_answers(4000, {True: 0.8, False: 0.8})
    weights = presuming(outcomes, LEFT_OUT, PRESUMED)
    assert outcomes.stored is not None
    filled = outcomes.stored > 0
    assert (weights[~outcomes.is_true & ~filled] == 1).all()
    assert (weights[~outcomes.is_true & filled] < 1).all()
    assert (weights[outcomes.is_true] >= 1).all()


def test_without_candidates_there_is_no_calibration() -> None:
    assert calibrate_by([], Neighborhoods.build(as_triples([]), 2, 1), left_out=0.1, presumed=0.1) is None
