"""Probabilities that mean what they say: the steps are the best monotone ones, and the error is measured honestly."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import CheckpointError, DataError
from hmem.evaluation import evaluate, role_counts, slots
from hmem.evaluation.calibration import LACKING, Calibration, Shares, calibrate, calibration_of, shares_of
from hmem.evaluation.isotonic import BINS, expected_calibration_error, isotonic
from hmem.evaluation.outcomes import Outcomes, log_probabilities, outcomes_of
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import most_answers, slot_sizes
from hmem.graph.triples import as_triples
from hmem.model.build import ModelScorer
from hmem.model.index import FrozenIndex
from tests.model.problems import ENTITIES, RELATIONS, random_facts, random_model, small
from tests.oracles_graph import SetGraph, TableScorer

SAME = Shares(0.1, 0.1)  # as much is left out as is presumed to be missing
# Few different values, so that there are ties; 0 to 1 in steps that add up exactly
MARKS = st.lists(st.tuples(st.integers(-12, 0), st.booleans()), min_size=1, max_size=40)


def columns(marks: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    log_p, is_true = zip(*marks, strict=True)
    return np.array(log_p, dtype=np.float64), np.array(is_true)


def outcomes(log_p: np.ndarray, is_true: np.ndarray, leads: np.ndarray, question: np.ndarray) -> Outcomes:
    """Of questions without a stored answer."""
    return Outcomes(log_p, is_true, leads, question, np.zeros(len(log_p), dtype=np.int64))


# The steps


@given(MARKS)
def test_the_steps_are_the_monotone_function_nearest_to_the_marks(marks: list[tuple[int, bool]]) -> None:
    """By the max-min formula: the best value at x is the largest over a ≤ x of the smallest mean over [a, b], b ≥ x."""
    log_p, is_true = columns(marks)
    points = np.unique(log_p)

    def mean(low: float, high: float) -> float:
        return float(is_true[(log_p >= low) & (log_p <= high)].mean())

    found = isotonic(log_p, is_true)(points)
    assert isotonic(log_p, is_true, np.full(len(log_p), 0.5))(points).tolist() == found.tolist()
    for x, value in zip(points, found, strict=True):
        best = max(min(mean(low, high) for high in points[points >= x]) for low in points[points <= x])
        if 0 < best < 1:
            assert value == pytest.approx(best, abs=1e-12)


@given(MARKS, st.lists(st.floats(-30, 5), min_size=1, max_size=20))
def test_a_likelier_candidate_is_never_less_probable_and_nothing_is_certain(
    marks: list[tuple[int, bool]], others: list[float]
) -> None:
    found = isotonic(*columns(marks))(np.sort(np.array(others)))
    assert (np.diff(found) >= 0).all()
    assert ((found > 0) & (found < 1)).all()


def test_the_ends_stay_away_from_certainty_by_what_they_were_counted_from() -> None:
    log_p = np.array([-9.0] * 8 + [-5.0] * 4 + [-1.0] * 18)
    is_true = np.array([False] * 8 + [True, False] * 2 + [True] * 18)
    steps = isotonic(log_p, is_true)
    assert steps.values.tolist() == [1 / 10, 1 / 2, 19 / 20]
    assert steps.starts.tolist() == [-9, -7, -3]  # half-way between the marks
    assert steps(np.array([-np.inf, -7.1, -7.0, 0.0])).tolist() == [1 / 10, 1 / 10, 1 / 2, 19 / 20]
    assert np.isnan(steps(np.array([np.nan]))).all()


def test_an_end_counted_from_little_does_not_overtake_its_neighbor() -> None:
    log_p = np.array([-9.0] + [-5.0] * 10 + [-1.0])
    is_true = np.array([False] + [True] + [False] * 9 + [True])
    assert isotonic(log_p, is_true).values == pytest.approx([1 / 10, 1 / 10, 2 / 3])
    everything = isotonic(np.array([-1.0]), np.array([True]))
    assert everything.values == pytest.approx([2 / 3])


@given(MARKS, st.lists(st.integers(1, 4), min_size=40, max_size=40))
def test_a_weight_is_so_many_marks(marks: list[tuple[int, bool]], weights: list[int]) -> None:
    log_p, is_true = columns(marks)
    times = np.array(weights[: len(marks)])
    weighted, repeated = (
        isotonic(log_p, is_true, times.astype(np.float64)),
        isotonic(np.repeat(log_p, times), np.repeat(is_true, times)),
    )
    assert weighted.starts.tolist() == repeated.starts.tolist()
    inside = (repeated.values > 0) & (repeated.values < 1)
    inside[[0, -1]] = False  # the ends stay away from certainty by the number of marks, not by their weight
    assert weighted.values[inside] == pytest.approx(repeated.values[inside], abs=1e-12)


def test_neighboring_floats_stay_apart() -> None:
    low = -1.0
    high = float(np.nextafter(low, 0))
    steps = isotonic(np.array([low] * 4 + [high] * 4), np.array([False] * 4 + [True] * 4))
    assert steps(np.array([low, high])) == pytest.approx([1 / 6, 5 / 6])


# The error


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]), st.booleans()), min_size=1, max_size=60))
def test_the_error_is_that_of_a_loop_over_bins(pairs: list[tuple[float, bool]]) -> None:
    probability, is_true = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    gaps = dict.fromkeys(range(BINS), 0.0)
    for value, truth in pairs:
        below, level = sum(other < value for other, _ in pairs), sum(other == value for other, _ in pairs)
        gaps[min(int((below + level / 2) * BINS / len(pairs)), BINS - 1)] += value - truth
    assert expected_calibration_error(probability, is_true) == pytest.approx(
        sum(map(abs, gaps.values())) / len(pairs), abs=1e-12
    )


def test_being_right_on_average_is_not_enough() -> None:
    is_true = np.array([True, False] * 500)
    assert expected_calibration_error(np.full(1000, 0.5), is_true) == 0
    assert expected_calibration_error(np.full(1000, 0.9), is_true) == pytest.approx(0.4)
    wrong_way_round = np.where(is_true, 0.1, 0.9)
    assert expected_calibration_error(wrong_way_round, is_true) == pytest.approx(0.9)


def test_overconfidence_is_found_and_mended() -> None:
    """A model that is twice as sure as it should be: its own probabilities are wrong, the calibrated ones are not."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(-6, 0, 20_000)
    is_true = rng.random(20_000) < np.exp(truth)
    log_p = 2 * truth
    made = calibration_of(outcomes(log_p, is_true, np.arange(20_000) % 50 == 0, np.arange(20_000) // 50), SAME)
    assert expected_calibration_error(np.exp(log_p), is_true) > 0.05
    assert made.error is not None
    assert made.error < 0.03
    at = np.array([-6.0, -2.0, -0.4])
    assert made.probability(at, at > 0) == pytest.approx(np.exp(at / 2), abs=0.04)
    assert made.probability(at, at < 0) == pytest.approx(np.exp(at / 2), abs=0.2)  # 400 answers come first
    assert (made.questions, made.candidates, made.base_rate) == (400, 20_000, is_true.mean())


def test_each_half_of_the_questions_is_judged_by_the_other() -> None:
    rng = np.random.default_rng(1)
    question = np.repeat(np.arange(100, 121), 5)  # any numbers will do
    log_p = rng.normal(size=len(question)).round(1)
    is_true = rng.random(len(question)) < 0.4
    leads = np.arange(len(question)) % 5 == 2
    marks = outcomes(log_p, is_true, leads, question)
    made = calibration_of(marks, SAME, seed=3)
    first = set((100 + np.flatnonzero(np.random.default_rng(3).permutation(21) % 2)).tolist())
    in_first = np.array([each in first for each in question.tolist()])
    probability = np.empty(len(question))
    for mine in (in_first, ~in_first):
        of_others = calibration_of(Outcomes(*(part[~mine] for part in marks)), SAME)
        probability[mine] = of_others.probability(log_p[mine], leads[mine], stored=marks.stored[mine])
    assert made.error == expected_calibration_error(probability, is_true)
    assert made.top_error == expected_calibration_error(probability[leads], is_true[leads])


def test_first_answers_have_steps_of_their_own() -> None:
    """Of ten candidates with reasons as good, the first is true in nine cases of ten, and none of the others."""
    rng = np.random.default_rng(2)
    log_p, leads = np.full(1000, -0.1), np.arange(1000) % 10 == 0
    made = calibration_of(outcomes(log_p, leads & (rng.random(1000) < 0.9), leads, np.arange(1000) // 10), SAME)
    first, other = made.probability(np.array([-0.1, -0.1]), np.array([True, False]))
    assert first == pytest.approx(0.9, abs=0.06)
    assert other < 0.01
    assert made.top_error is not None
    assert made.top_error < 0.1
    older = replace(made, first=None)  # as the oldest models have it
    assert older.probability(np.array([-0.1]), np.array([True])) == pytest.approx(other)


def test_where_all_answers_are_first_others_are_no_likelier() -> None:
    log_p = np.linspace(-4, 0, 40)
    made = calibration_of(outcomes(log_p, log_p > -1, np.ones(40, dtype=bool), np.arange(40)), SAME)
    assert (made.probability(log_p, log_p > 0) <= made.probability(log_p, log_p < 1)).all()


def test_one_question_gives_steps_but_no_error() -> None:
    leads = np.array([False, False, True])
    log_p = np.array([-2.0, -1.0, -0.5])
    made = calibration_of(outcomes(log_p, np.array([False, True, True]), leads, np.array([7, 7, 7])), SAME)
    assert (made.questions, made.error, made.top_error) == (1, None, None)
    found = made.probability(log_p, leads)
    assert found[0] == pytest.approx(1 / 3)
    assert 1 / 3 < found[1] <= made.probability(log_p, ~leads | leads)[1]
    assert found[2] == pytest.approx(np.exp(-0.5), abs=0.1)  # what one question says hardly changes what is usual


def test_models_of_before_are_read() -> None:
    """Their first answers had steps over log p, of which something was taken where answers are stored."""
    saved = some_calibration().to_dict()
    first = saved.pop("first")
    old = saved | {"first_steps": {"log_p": [-3.0, -1.0], "probability": [0.2, 0.9]}, "lean": [-1.0, 0.0]}
    assert first is not None
    read = Calibration.from_dict(json.loads(json.dumps(old)))
    at, leads = np.full(2, -0.5), np.ones(2, dtype=bool)
    assert read.probability(at, leads, stored=np.array([0, 3])).tolist() == [0.9, 0.2]
    again = Calibration.from_dict(json.loads(json.dumps(read.to_dict())))
    assert again.probability(at, leads, stored=np.array([0, 3])).tolist() == [0.9, 0.2]


def test_a_tenth_is_presumed_to_be_missing_once_the_test_facts_are_stored() -> None:
    train, valid = split(0)
    without = dataset_of(train, valid)
    stored, kept = len(without.train), len(without.valid)
    assert shares_of(without) == Shares(kept / (stored + kept), LACKING)
    tested = replace(without, test=without.valid[:3])
    assert shares_of(tested) == Shares(kept / (stored + kept), LACKING, held_back=3 / kept)
    vocab = Vocabulary(map(str, range(ENTITIES + 1)), without.vocab.relations)
    heldout = replace(without, vocab=vocab, valid=as_triples([(ENTITIES, 0, 0)]), heldout=np.array([ENTITIES]))
    assert shares_of(heldout) == Shares(1 / (stored + 1), LACKING)  # which have no facts


# The folder


def some_calibration() -> Calibration:
    rng = np.random.default_rng(0)
    log_p = np.log(rng.random(300)).astype(np.float32).astype(np.float64)
    is_true = rng.random(300) < np.exp(log_p)
    made = calibration_of(outcomes(log_p, is_true, np.arange(300) % 10 == 0, np.arange(300) // 10), SAME)
    graph = Neighborhoods.build(as_triples(random_facts(0)), ENTITIES, RELATIONS)
    counted = role_counts.count(graph)
    pairs = np.argwhere(np.ones((ENTITIES, 2 * RELATIONS), dtype=bool))
    described = slots.describe(counted, graph, pairs[:, 0], pairs[:, 1], rng.uniform(-5, 0, len(pairs)))
    fitted = slots.fit(counted, described, rng.random(len(pairs)) < 0.3, np.ones(len(pairs)), times=1.0)
    return replace(made, slots=fitted)


def some_slots(**change: Any) -> dict[str, Any]:
    return {**some_calibration().to_dict()["slots"], **change}


def test_json_gives_back_the_same_probabilities() -> None:
    made = some_calibration()
    read = Calibration.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False)))
    at = np.linspace(-8, 0, 1000)
    for leads in (at > 0, at < 1):
        assert read.probability(at, leads).tolist() == made.probability(at, leads).tolist()
        assert made.probability(at, leads, np.full(1000, 0.25)) == pytest.approx(made.probability(at, leads) / 4)
    assert read.to_dict() == made.to_dict()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), max_size=60))
def test_the_largest_of_each_role_are_those_of_a_loop(facts: list[tuple[int, int, int]]) -> None:
    graph = Neighborhoods.build(as_triples(facts), 6, 3)
    expected = [max(len(graph.answers(entity, role)) for entity in range(6)) for role in range(6)]
    assert most_answers(slot_sizes(graph), graph.num_roles).tolist() == expected


def test_it_speaks_of_entities_about_as_large_as_those_of_training() -> None:
    made = replace(some_calibration(), most=np.array([100, 1, 0]))
    assert made.covers(np.repeat([0, 1, 2], [200, 20, 20]))
    assert made.covers(np.empty(0, dtype=np.int64))
    assert not made.covers(np.repeat([0, 1], [201, 1]))
    assert not made.covers(np.full(21, 2))
    assert some_calibration().covers(np.full(10_000, 2))  # an older one does not know
    read = Calibration.from_dict(json.loads(json.dumps(made.to_dict())))
    assert read.most is not None
    assert read.most.tolist() == [100, 1, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"method": "platt"},
        {"steps": {"log_p": [], "probability": [0.1]}},
        {"steps": {"log_p": [], "probability": []}},
        {"steps": {"log_p": [-1.0, -2.0], "probability": [0.1, 0.2]}},
        {"steps": {"log_p": [-2.0, -1.0], "probability": [0.2, 0.1]}},
        {"steps": {"log_p": [-2.0], "probability": [1.5]}},
        {"steps": {"log_p": [-2.0], "probability": ["much"]}},
        {"steps": None},
        {"slots": {"counted": {}}},
        {"slots": some_slots(filled={"coefficients": [1.0], "steps": {"log_p": [0.0], "probability": [0.5]}})},
        {"slots": some_slots(counted={"filled": [[0.0]], "others": [[0]], "share": [[0.5]], "base": [0.5]})},
        {"slots": some_slots(counted=5)},
        {"slots": 5},
        {"slots": some_slots(empty=[1])},
        {"first_steps": [1]},
        {"first": [1]},
        {"first": {"coefficients": [1.0], "presumed": 0.1, "steps": {"log_p": [0.0], "probability": [0.5]}}},
        {"first": {"coefficients": [1.0] * 4, "presumed": 2.0, "steps": {"log_p": [0.0], "probability": [0.5]}}},
        {"first": {"lean": [math.nan, 0.0], "steps": {"log_p": [0.0], "probability": [0.5]}}},
        {"slots": some_slots(filled={"coefficients": [math.nan] * 4, "steps": {"log_p": [0.0], "probability": [0.5]}})},
        {"steps": {"log_p": [-2.0, -1.0, 0.0], "probability": [0.1, math.nan, 0.2]}},
        {"steps": {"log_p": [math.nan], "probability": [0.1]}},
        {"steps": {"log_p": [10**400], "probability": [0.1]}},
        {"error": ...},
        {"error": [0.1]},
        {"questions": "many"},
        {"top_error": math.inf},
        {"most": ["many"]},
        {"most": 5},
    ],
)
def test_what_is_not_a_calibration_is_refused(change: dict[str, Any]) -> None:
    saved = {name: value for name, value in (some_calibration().to_dict() | change).items() if value is not ...}
    with pytest.raises(CheckpointError, match=r"calibration in metrics\.json cannot be used"):
        Calibration.from_dict(saved)


# What is asked


def test_distances_become_log_probabilities_and_log_probabilities_stay() -> None:
    facts = random_facts(0)
    index = FrozenIndex(dataset_of(facts).inference_graph("train"))
    stored = SetGraph(facts, RELATIONS)
    entities, roles = torch.arange(ENTITIES), torch.arange(ENTITIES) % (2 * RELATIONS)
    excluded = torch.zeros(ENTITIES, ENTITIES, dtype=torch.bool)
    for row, role in enumerate(roles.tolist()):
        excluded[row, stored.answers(row, role)] = True
    for name in ("tpr-inf", "recall"):
        scores = ModelScorer(random_model(small(name).memory, 0), index).score(entities, roles)
        log_p = log_probabilities(scores, excluded)
        assert log_p.exp().sum(1).tolist() == pytest.approx([1.0] * ENTITIES)
        assert (log_p[excluded] == -torch.inf).all()
        if name == "recall":
            assert torch.allclose(log_p[~excluded], scores[~excluded])
    all_entities = torch.ones(1, 3, dtype=torch.bool)
    assert log_probabilities(torch.zeros(1, 3), all_entities).tolist() == [[-np.inf] * 3]


def dataset_of(train: list[tuple[int, int, int]], valid: list[tuple[int, int, int]] | None = None) -> Dataset:
    vocab = Vocabulary(map(str, range(ENTITIES)), map(str, range(RELATIONS)))
    nothing = as_triples([])
    return Dataset(name="random", vocab=vocab, train=as_triples(train), valid=as_triples(valid or []), test=nothing)


def split(seed: int) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    facts = random_facts(seed, facts=60)
    order = np.random.default_rng(seed).permutation(len(facts)).tolist()
    return [facts[row] for row in order[10:]], [facts[row] for row in order[:10]]


def table_scorer(seed: int) -> TableScorer:
    rng = torch.Generator().manual_seed(seed)
    return TableScorer(torch.randn(ENTITIES, 2 * RELATIONS, ENTITIES, generator=rng, dtype=torch.float64))


@pytest.mark.parametrize("budget", [None, 1])
def test_the_marks_are_those_of_a_loop(budget: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if budget is not None:
        monkeypatch.setattr(evaluate, "BUDGET", budget)
    for seed in range(4):
        train, valid = split(seed)
        scorer, stored, asked = table_scorer(seed), SetGraph(train, RELATIONS), SetGraph(valid, RELATIONS)
        questions = sorted({(e, r) for e in range(ENTITIES) for r in range(2 * RELATIONS) if asked.answers(e, r)})
        expected = []
        for number, (entity, role) in enumerate(questions):
            rivals = [x for x in range(ENTITIES) if x not in stored.answers(entity, role)]
            scores = scorer.table[entity, role, rivals]
            log_p = (scores - scores.logsumexp(0)).tolist()
            best = sorted(zip(log_p, rivals, strict=True), reverse=True)[:4]
            marks = [(value, x in asked.answers(entity, role), number) for value, x in best]
            expected += [(*mark, place == 0) for place, mark in enumerate(marks)]
        found = outcomes_of(scorer, dataset_of(train, valid), np.array(questions), 4)
        assert found[0].tolist() == pytest.approx([mark[0] for mark in expected], abs=1e-12)
        assert found[1].tolist() == [mark[1] for mark in expected]
        assert found[2].tolist() == [mark[3] for mark in expected]
        assert found[3].tolist() == [mark[2] for mark in expected]
        assert scorer.largest_batch == (1 if budget else len(questions))
        made = calibrate(scorer, dataset_of(train, valid), depth=4)
        assert made is not None
        assert (
            replace(made, slots=None, most=None).to_dict()
            == calibration_of(found, shares_of(dataset_of(train, valid))).to_dict()
        )


class AloneScorer(TableScorer):
    """Scores from one table, and log p of each answer by its own evidence from another."""

    def __init__(self, table: torch.Tensor, alone: torch.Tensor | None) -> None:
        super().__init__(table)
        self.alone = alone

    def log_alone(self, entities: torch.Tensor, roles: torch.Tensor) -> torch.Tensor | None:
        return None if self.alone is None else self.alone[entities, roles]


def test_an_answer_counts_by_its_own_evidence_where_a_scorer_can_tell() -> None:
    train, valid = split(2)
    dataset, table = dataset_of(train, valid), table_scorer(2).table
    pairs = np.array([(entity, role) for entity in range(ENTITIES) for role in range(2 * RELATIONS)])
    plain = outcomes_of(TableScorer(table), dataset, pairs, 4)
    cannot = outcomes_of(AloneScorer(table, None), dataset, pairs, 4)
    alone = outcomes_of(AloneScorer(table, torch.full_like(table, -2.5)), dataset, pairs, 4)
    assert cannot.log_p.tolist() == plain.log_p.tolist()
    assert set(alone.log_p.tolist()) == {-2.5}  # of stored answers too, were they not left out
    for part in ("is_true", "leads", "question"):  # the same candidates, ranked by their scores
        assert getattr(alone, part).tolist() == getattr(plain, part).tolist()


def test_a_filled_functional_slot_lacks_nothing_and_an_empty_one_may() -> None:
    """Each of 200 people was born in one town, and has friends; a tenth of all that is withheld."""
    rng = np.random.default_rng(0)
    people, towns = np.arange(200), 200 + np.arange(5)
    born = np.stack([people, np.zeros(200, dtype=int), rng.choice(towns, 200)], axis=1)
    friends = np.stack([rng.choice(people, 900), np.ones(900, dtype=int), rng.choice(people, 900)], axis=1)
    facts = rng.permutation(np.concatenate([born, np.unique(friends, axis=0)]))
    withheld = rng.random(len(facts)) < 0.1
    vocab = Vocabulary(map(str, range(205)), ["born in", "friend of"])
    train, valid = as_triples(facts[~withheld].tolist()), as_triples(facts[withheld].tolist())
    dataset = Dataset(name="people", vocab=vocab, train=train, valid=valid, test=as_triples([]))
    table = torch.randn(205, 4, 205, generator=torch.Generator().manual_seed(0))
    made = calibrate(TableScorer(table), dataset)
    assert made is not None
    graph = dataset.inference_graph("train")
    has_town = np.array([len(graph.answers(person, 2)) > 0 for person in people.tolist()])

    def missing(entities: np.ndarray, role: int) -> np.ndarray:
        return made.missing(graph, entities, np.full(len(entities), role), np.full(len(entities), -3.0))

    assert missing(people[has_town], 2).max() < 0.02
    assert missing(people[~has_town], 2).min() > 0.7
    lacking = [bool(len(dataset.graph_of(valid).answers(person, 3))) for person in people.tolist()]
    assert missing(people, 3).mean() == pytest.approx(np.mean(lacking), abs=0.1)
    assert missing(towns, 2).max() < 0.02  # a town is born nowhere
    one = np.flatnonzero(has_town)[:1]
    roles, lead = np.array([2]), np.array([-3.0])
    withheld_there = made.missing(graph, one, roles, lead, np.array([True]))
    assert withheld_there[0] > 0.7  # as if its town were not stored
    read = Calibration.from_dict(json.loads(json.dumps(made.to_dict())))
    assert read.missing(graph, one, roles, lead).tolist() == made.missing(graph, one, roles, lead).tolist()
    assert replace(made, slots=None).missing(graph, one, roles, lead).tolist() == [1.0]  # an older one does not know


def test_a_sample_of_questions_is_the_same_each_time() -> None:
    dataset, scorer = dataset_of(*split(0)), table_scorer(0)
    first, again = (calibrate(scorer, dataset, questions=5) for _ in range(2))
    assert first is not None
    assert again is not None
    assert first.questions == 5
    assert first.to_dict() == again.to_dict()
    assert scorer.asked[: len(scorer.asked) // 2] == scorer.asked[len(scorer.asked) // 2 :]


def test_of_held_out_entities_only_their_side_is_asked_and_only_others_answer(toy: Dataset) -> None:
    fox, dog = toy.vocab.entities.id_of("fox.n.01"), toy.vocab.entities.id_of("dog.n.01")
    train = toy.train[(toy.train != fox).all(1)]
    heldout = Dataset(
        name="toy",
        vocab=toy.vocab,
        train=train,
        valid=toy.valid,
        test=toy.test,
        observed=toy.train[(toy.train == fox).any(1)],
        heldout=np.array([fox]),
    )
    table = torch.zeros(toy.num_entities, toy.num_roles, toy.num_entities)
    table[:, :, fox] = 9.0  # which is no candidate
    table[:, :, dog] = 5.0
    scorer = TableScorer(table)
    made = calibrate(scorer, heldout)
    assert made is not None
    assert {entity for entity, _ in scorer.asked} == {fox}
    assert made.questions == 2
    assert made.probability(np.zeros(1), np.ones(1, dtype=bool))[0] < 0.9  # the dog is the answer to one of two
    log_p, is_true, *_ = outcomes_of(scorer, heldout, np.unique(np.array(scorer.asked), axis=0), 50)
    assert len(log_p) <= toy.num_roles * (toy.num_entities - 1)
    assert is_true.sum() == 2


def test_there_may_be_no_slot_that_validation_does_not_ask_for() -> None:
    loop = as_triples([(0, 0, 0)])
    dataset = Dataset(name="loop", vocab=Vocabulary("a", "r"), train=loop, valid=loop, test=loop)
    assert calibrate(TableScorer(torch.zeros(1, 2, 1)), dataset) is None


def test_without_validation_facts_there_is_nothing_to_calibrate_with() -> None:
    with pytest.raises(DataError, match="no valid facts"):
        calibrate(table_scorer(0), dataset_of(random_facts(0)))


def test_where_everything_is_stored_already_there_is_no_candidate() -> None:
    pairs = [(head, 0, tail) for head in range(ENTITIES) for tail in range(ENTITIES)]
    assert calibrate(table_scorer(0), dataset_of(pairs, [(0, 0, 0)])) is None
