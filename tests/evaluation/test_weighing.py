"""What the network and counting are worth is found from questions, and few questions change little."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hmem.evaluation.baselines import SMOOTHING
from hmem.evaluation.counted import best_of, counts_of_ends
from hmem.evaluation.joined import BELOW, FLOOR, LEAST, USUAL, Joined, Weights, add_counts
from hmem.evaluation.weighing import Asked, asked, weigh
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from hmem.model.build import ModelScorer
from tests.laws import examples

CANDIDATES = 30


def questions(count: int, weights: Weights, seed: int = 0) -> list[Asked]:
    """Questions whose true answer is drawn from the softmax that these weights make."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        parts = rng.normal(size=(CANDIDATES, 5))
        share = np.exp(parts @ np.array(weights))
        true = rng.choice(CANDIDATES, p=share / share.sum())
        others = np.arange(CANDIDATES) != true
        found.append(Asked(parts[[true]], parts[others], np.zeros(CANDIDATES - 1)))
    return found


def test_many_questions_give_the_weights_that_they_were_made_from() -> None:
    made_from = Weights(0.3, 2.0, -0.5, 1.0, 0.4)
    assert np.array(weigh(questions(1500, made_from))) == pytest.approx(np.array(made_from), abs=0.2)


def test_few_questions_leave_the_usual_weights_and_none_change_nothing() -> None:
    assert weigh([]) == USUAL
    few = weigh(questions(3, Weights(-2.0, 4.0, 1.0, 1.0, 2.0)))
    assert np.array(few) == pytest.approx(np.array(USUAL), abs=0.6)


def test_one_question_more_hardly_changes_them() -> None:
    some = questions(201, Weights(0.5, 1.5, 0.0, 1.0, -0.5))
    assert np.array(weigh(some)) == pytest.approx(np.array(weigh(some[:-1])), abs=0.05)


def test_rivals_that_stand_for_others_are_those_others() -> None:
    one = Asked(np.ones((1, 5)), np.zeros((1, 5)), np.log([4.0]))
    four = Asked(np.ones((1, 5)), np.zeros((4, 5)), np.zeros(4))
    assert np.array(weigh([one] * 5)) == pytest.approx(np.array(weigh([four] * 5)), abs=1e-3)


class Fixed(ModelScorer):
    """A network that says the same of every question."""

    def __init__(self, scores: torch.Tensor) -> None:
        self.scores = scores

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def score(self, entities: torch.Tensor, roles: torch.Tensor) -> torch.Tensor:
        return self.scores.repeat(len(entities), 1)


FACTS = [(0, 0, 4), (1, 0, 4), (2, 0, 4), (0, 1, 5), (1, 1, 5), (3, 1, 6), (3, 0, 7), (2, 1, 7)]


def test_the_evidence_is_what_the_equations_say() -> None:
    graph = Neighborhoods.build(as_triples(FACTS), 9, 2)
    scores = torch.tensor([-1.0, -2.0, 0.0, -3.0, 1.0, 0.5, -20.0, 2.0, -torch.inf])
    scorer = Joined(Fixed(scores), graph, itself=False)
    entity, role = 2, 1 + 2  # what does 2 have in relation 1, besides 7?
    found = asked(scorer, entity, role, np.array([5]))
    assert found is not None
    assert len(found.rivals) == 5  # neither 7, which is stored, nor 2 itself, nor 8, which is out of reach
    log_p = 0.5 - np.log(np.exp([-1.0, -2.0, -3.0, 1.0, 0.5, -20.0]).sum())
    own = 2 / (3 + SMOOTHING)  # two of the three with 4 in relation 0 have 5
    other = counts_of_ends(graph, entity, role, 9)[1][5]
    best = best_of(np.array([own]), np.array([other]))[0]
    expected = [
        np.logaddexp(log_p, FLOOR) + BELOW * log_p,
        np.log(best + LEAST),
        np.log1p(own / LEAST),
        np.log1p(other / LEAST),
    ]
    assert found.true[0] == pytest.approx([*expected, np.log(2.5)], abs=1e-5)  # two facts of relation 1 have the tail 5
    row = scorer.by_network(entity, role).clone()
    add_counts(row, graph, entity, role, Weights(1.0, 2.0, 3.0, 4.0, 5.0))
    assert float(row[5]) == pytest.approx(float(found.true[0] @ np.arange(1, 6)), abs=1e-4)
    assert row[[2, 8]].tolist() == [-torch.inf, -torch.inf]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=30))
@examples(30)
def test_times_are_those_of_a_loop_whatever_has_changed(facts: list[tuple[int, int, int]]) -> None:
    graph = Neighborhoods.build(as_triples(facts[::2]), 6, 2)
    for role in range(4):
        graph.times(role, 6)  # what is kept must not go stale
    for fact in facts[1::2]:
        graph.add(*fact)
    graph.remove(*facts[0])
    for role in range(4):
        expected = [sum(filler in graph.answers(entity, role) for entity in range(6)) for filler in range(6)]
        assert graph.times(role, 8).tolist() == [*expected, 0, 0]
