"""Percentages of a graph that leaves out facts of its own are those of one that lacks a share of them."""

import numpy as np
import pytest

from hmem.evaluation.calibration import Calibration, Shares, calibrate_by, calibration_of
from hmem.evaluation.first_answers import fit
from hmem.evaluation.outcomes import Outcomes
from hmem.evaluation.presumed import LEAST_WEIGHT, expected, presuming, times_as_many
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples

SHARES = Shares(0.05, 0.1)
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


def test_first_answers_are_told_apart_by_what_is_stored() -> None:
    made = calibration_of(first_answers(8000, {True: 0.5, False: 1.0}), SHARES)
    assert said(made, 0) == pytest.approx(np.exp(LOG_P), abs=0.1)
    assert (said(made, 2) < said(made, 0) - 0.02).all()
    kept = Calibration.from_dict(made.to_dict())
    for stored in (0, 2):
        assert said(kept, stored) == pytest.approx(said(made, stored))


def test_of_a_few_questions_the_softmax_is_believed() -> None:
    """That none of six answers was true, although all were called 60 % likely, says little."""
    log_p, none = np.full(6, np.log(0.6)), np.zeros(6, dtype=int)
    made = calibration_of(Outcomes(log_p, none > 0, np.ones(6, dtype=bool), np.arange(6), none), SHARES)
    assert 0.45 < made.probability(log_p[:1], np.ones(1, dtype=bool), stored=none[:1])[0] < 0.6


def test_a_question_that_lacks_an_answer_lacks_more_of_them_the_more_are_stored() -> None:
    """By drawing facts of slots with n + 1 answers at random."""
    rng = np.random.default_rng(0)
    for n in (0, 3, 20):
        for share in SHARES[:2]:
            drawn = rng.binomial(n + 1, share, 200_000)
            assert expected(np.array([n]), share)[0] == pytest.approx(drawn[drawn > 0].mean(), rel=0.02)


def test_as_much_is_left_out_as_is_presumed_by_leaving_out_several_times() -> None:
    assert (1 - SHARES.left_out) ** times_as_many(*SHARES[:2]) == pytest.approx(1 - SHARES.presumed)


def test_a_candidate_that_may_be_missing_anyway_counts_less_as_false() -> None:
    stored, is_true, share = np.array([0, 2, 50, 2, 50]), np.array([False] * 3 + [True] * 2), np.full(5, 0.3)
    weights = presuming(is_true, share, stored, *SHARES[:2])
    assert weights[0] == 1 > weights[1] > weights[2] >= LEAST_WEIGHT
    assert 1 < weights[3] < weights[4] < 2


def test_the_percentages_are_those_of_what_was_hidden() -> None:
    """Of questions with 1 to 60 answers a tenth is hidden, and then of the others a twentieth left out."""
    rng = np.random.default_rng(0)
    answers = np.round(np.exp(rng.uniform(0, np.log(60), 60_000))).astype(np.int64)

    def first_is_one_of(some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Whether the first answer is; it is any of those that are not stored, or as likely one that is false."""
        found: np.ndarray = rng.random(len(some)) < some / (some + others + 1)
        return found

    hidden = rng.binomial(answers, SHARES.presumed)
    left_out = rng.binomial(answers - hidden, SHARES.left_out)
    log_p = np.full(len(answers), np.log(0.3))
    own, later = left_out > 0, hidden > 0
    is_left_out, is_hidden = first_is_one_of(left_out, hidden)[own], first_is_one_of(hidden, 0 * hidden)[later]
    found, _ = fit(log_p[own], is_left_out, (answers - hidden - left_out)[own], *SHARES[:2])
    stored = (answers - hidden)[later]
    said = found(log_p[later], stored)
    assert is_left_out.mean() < is_hidden.mean() - 0.1
    for some in (stored == 0, (stored > 0) & (stored < 8), stored >= 8):
        assert said[some].mean() == pytest.approx(is_hidden[some].mean(), abs=0.06)


def test_without_candidates_there_is_no_calibration() -> None:
    assert calibrate_by([], Neighborhoods.build(as_triples([]), 2, 1), Shares(0.1)) is None
