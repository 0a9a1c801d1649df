"""What the stored facts say of a role is what a loop counts, and the estimate finds what it was made from."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.isotonic import Steps
from hmem.evaluation.role_counts import BUCKETS, KIND_PRIOR, PRIOR, WITHHELD, count, shares_of_kind
from hmem.evaluation.slots import EMPTY, FILLED, MOST_SURE, Estimate, Slot, Slots, describe, fit
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from tests.laws import examples
from tests.oracles_graph import Fact, SetGraph

ENTITIES, RELATIONS = 8, 3
ROLES = 2 * RELATIONS
ENDS = st.integers(0, ENTITIES - 1)
FACTS = st.lists(st.tuples(ENDS, st.integers(0, RELATIONS - 1), ENDS), min_size=1, max_size=60)


def bucket(stored: int) -> int:
    return min(stored.bit_length(), BUCKETS - 1)


@given(FACTS)
@examples(25)
def test_the_counts_are_those_of_a_loop(facts: list[Fact]) -> None:
    graph = SetGraph(facts, RELATIONS)
    counted = count(Neighborhoods.build(as_triples(facts), ENTITIES, RELATIONS))
    answers = np.array([[len(graph.answers(entity, role)) for role in range(ROLES)] for entity in range(ENTITIES)])
    complete, lacking = np.zeros((2, ROLES, BUCKETS))
    for entity, role in np.argwhere(answers).tolist():
        stored = int(answers[entity, role])
        complete[role, bucket(stored)] += 1
        if stored > 1:  # each of them may be the one that is withheld
            lacking[role, bucket(stored - 1)] += WITHHELD * stored
    average = (lacking.sum(0) + 0.5) / (lacking.sum(0) + complete.sum(0) + 1)
    share = (lacking + PRIOR * average) / (lacking + complete + PRIOR)
    assert counted.filled == pytest.approx(np.log(share / (1 - share)), abs=1e-3)
    has = answers[answers.sum(1) > 0] > 0
    assert counted.base == pytest.approx(has.mean(0), abs=1e-5)
    for role in range(ROLES):
        for other, value in zip(counted.others[role].tolist(), counted.share[role].tolist(), strict=True):
            with_other = has[has[:, other]]
            expected = (with_other[:, role].sum() + KIND_PRIOR * has[:, role].mean()) / (len(with_other) + KIND_PRIOR)
            assert value == pytest.approx(0.0 if other == role else expected, abs=1e-3)
        assert (np.diff(counted.share[role]) <= 0).all()  # the best first


def test_a_role_that_never_has_two_answers_lacks_none_where_it_has_one() -> None:
    """Relation 0 gives each of 300 heads one tail, relation 1 two."""
    facts = [(head, 0, 300) for head in range(300)] + [(head, 1, 301 + side) for head in range(300) for side in (0, 1)]
    counted = count(Neighborhoods.build(as_triples(facts), 303, 2))
    one = counted.filled[:, 1]
    assert 1 / (1 + np.exp(-one[2])) < 0.01
    assert 1 / (1 + np.exp(-one[3])) > 0.5  # where one of two is stored, one was withheld
    assert counted.filled[3, 2] < one[3]


def test_slots_are_described_by_what_is_stored_there() -> None:
    facts = [(0, 0, 5), (1, 0, 5), (1, 1, 6), (2, 1, 6), (2, 1, 7), (3, 2, 4)]
    graph = Neighborhoods.build(as_triples(facts), ENTITIES, RELATIONS)
    counted = count(graph)
    asked = np.array([[0, 3], [0, 4], [2, 4], [2, 4], [1, 3]])
    lead = np.array([-1.0, -2.0, -3.0, -np.inf, np.nan])
    slots = describe(counted, graph, asked[:, 0], asked[:, 1], lead, np.array([False, False, False, True, True]))
    assert slots.is_filled.tolist() == [True, False, True, True, False]
    assert slots.degree.tolist() == [1, 1, 2, 1, 1]
    expected = [counted.filled[3, 1], counted.filled[4, 2], counted.filled[4, 1]]
    assert slots.odds[[0, 2, 3]].tolist() == pytest.approx(expected)
    share = shares_of_kind(counted, graph, 0, np.array([4]))[
        0
    ]  # of those with a tail in relation 0, half have one in relation 1
    assert share == pytest.approx((1 + KIND_PRIOR * counted.base[4]) / (2 + KIND_PRIOR), abs=1e-3)
    assert slots.odds[1] == pytest.approx(np.log(share / (1 - share)))
    p = np.exp(lead[:3])
    assert slots.matrix()[:, 2].tolist() == pytest.approx([*np.log(p / (1 - p)), -12, -12], abs=1e-4)
    certain = Slot(np.array([True]), np.zeros(1), np.zeros(1), np.ones(1, dtype=np.int64))
    assert certain.matrix()[0, 2] == pytest.approx(8, abs=0.01)


def test_a_few_slots_are_drawn_to_what_is_usual_and_many_are_not() -> None:
    rng = np.random.default_rng(0)
    slots = Slot(rng.random(8000) < 0.5, rng.normal(size=8000), rng.uniform(-6, 0, 8000), rng.integers(1, 9, 8000))
    usual = np.where(slots.is_filled[:, None], FILLED, EMPTY)
    left_out = 1 / (1 + np.exp(-(slots.matrix() * (usual + np.array([1.5, -0.5, 0.3, 0.2]))).sum(1)))
    best = left_out * np.where(slots.is_filled, np.exp(slots.lead_log_p), 1.0)
    best = np.minimum(best, 0.5)
    truth = np.minimum(1 - (1 - best / (1 - best)) * (1 - np.maximum(left_out, best)) / (1 - best), MOST_SURE)
    is_missing = rng.random(8000) < left_out
    counted = count(Neighborhoods.build(as_triples([(0, 0, 1)]), ENTITIES, RELATIONS))
    few = fit(counted, Slot(*(part[:20] for part in slots)), is_missing[:20], np.ones(20), times=1.0)
    many = fit(counted, slots, is_missing, np.ones(8000), times=1.0)
    for each, values in ((few.filled, FILLED), (few.empty, EMPTY)):
        assert np.abs(each.coefficients[1:] - values[1:]).max() < 0.25
    assert np.abs(many.missing(slots) - truth).mean() < 0.02
    # Twice as much is missing: what lacks nothing must lack nothing in both of two halves.
    twice = fit(counted, slots, is_missing, np.ones(8000), times=2.0)
    twice = replace(twice, filled=twice.filled._replace(left_out=None), empty=twice.empty._replace(left_out=None))
    once = 1 / (1 + np.exp(-np.where(slots.is_filled, slots.matrix() @ many.filled.coefficients, -9)))
    several = np.minimum(1 - (1 - once) ** 2, MOST_SURE)
    unsure = slots.is_filled & (slots.lead_log_p < -5)  # it is not the best answer alone that may have been left out
    assert twice.missing(slots)[unsure] == pytest.approx(several[unsure], abs=0.02)
    assert (twice.missing(slots) >= several - 1e-9)[slots.is_filled].all()
    assert Slots.from_dict(twice.to_dict()).missing(slots) == pytest.approx(twice.missing(slots))


def test_an_empty_slot_lacks_a_single_answer_that_is_left_out_or_missing_anyway() -> None:
    """Of 1,000 slots 300 have an answer; 200 of these are missing, and 50 are left out."""
    left_out = np.array([50 / 950])  # of the slots that are empty then
    odds = np.log(left_out / (1 - left_out))
    estimate = Estimate(np.array([0.0, 1.0, 0.0, 0.0]), None, times=4.0, is_single=True)
    found = estimate(Slot(np.zeros(1, dtype=np.int64), odds, np.zeros(1), np.ones(1, dtype=np.int64)).matrix())
    assert found == pytest.approx(200 / 900)  # as many were empty before


def test_slots_whose_answer_was_held_back_are_filled_where_the_estimate_is_used() -> None:
    """Of 1,000 slots 400 have an answer: 200 of these are missing, 50 are left out and 100 are held back."""
    left_out = np.array([50 / 950])
    odds = np.log(left_out / (1 - left_out))
    estimate = Estimate(np.array([0.0, 1.0, 0.0, 0.0]), None, times=4.0, is_single=True, held_back=2.0)
    empty = Slot(np.zeros(1, dtype=np.int64), odds, np.zeros(1), np.ones(1, dtype=np.int64)).matrix()
    assert estimate(empty) == pytest.approx(200 / 800)
    assert Estimate.from_dict(estimate.to_dict())(empty) == estimate(empty)


def test_no_slots_have_no_descriptions() -> None:
    graph, none = Neighborhoods.build(as_triples([(0, 0, 1)]), 2, 1), np.empty(0, dtype=np.int64)
    assert [len(part) for part in describe(count(graph), graph, none, none, np.empty(0))] == [0] * len(Slot._fields)


def test_estimates_of_models_of_before_are_read() -> None:
    steps = Steps(starts=np.array([-1.0, 1.0]), values=np.array([0.1, 0.7]))
    old = Estimate(np.array([0.0, 1.0, 0.0, 0.0]), steps)
    slots = Slot(np.ones(2, dtype=np.int64), np.array([-2.0, 2.0]), np.zeros(2), np.ones(2, dtype=np.int64))
    assert Estimate.from_dict(old.to_dict())(slots.matrix()).tolist() == [0.1, 0.7]
