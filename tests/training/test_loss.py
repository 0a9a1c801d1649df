import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hmem.config import TrainingConfig
from hmem.memory.exact import Recalled
from hmem.memory.superpose import Edges
from hmem.model.hmem import HMem
from hmem.model.query import Noise, Query
from hmem.model.scoring import Answer
from hmem.model.vectors import Vectors
from hmem.training.loss import against_all, against_sample, answer_loss, smoothed_log_probability
from tests.laws import examples
from tests.memory.problems import generator, normal
from tests.model.problems import (
    ENTITIES,
    LAW,
    RELATIONS,
    SEEDS,
    ask,
    both_ways,
    index_of,
    looped_scores,
    random_facts,
    random_model,
    small,
)
from tests.oracles_graph import SetGraph

SOME = examples(4)
CPU = torch.device("cpu")


class Problem:
    """A model that was asked for every fact of a graph."""

    def __init__(self, seed: int, preset: str = "tpr-inf", **memory: Any) -> None:
        self.facts = random_facts(seed)
        self.questions = both_ways(self.facts)
        self.query: Query = ask(*self.questions)
        self.model: HMem = random_model(small(preset, memory=memory).memory, seed)
        self.vectors: Vectors = self.model.embeddings()
        self.stored: Edges = index_of(self.facts).lookup(self.query.entity)
        self.answer: Answer = self.model.answer(self.query, index_of(self.facts), self.vectors)
        self.scores: Tensor = self.model.dense.scores(self.query, self.answer.retrieved, self.vectors).detach()
        graph = SetGraph(self.facts, RELATIONS)
        self.others = [set(graph.answers(entity, role)) - {target} for entity, role, target in self.questions]

    def loss(self, negatives: int | None = None, smoothing: float = 0.0) -> Tensor:
        training = TrainingConfig(negatives=negatives, label_smoothing=smoothing)
        return answer_loss(self.model, self.answer, self.vectors, self.query, self.stored, training, Noise(0, 0, CPU))

    def sample(self, count: int, step: int = 0) -> tuple[Tensor, Tensor]:
        noise = Noise(0, step, CPU)
        return against_sample(self.model, self.answer, self.vectors, self.query, self.stored, count, noise)


def looped_log_p(scores: Tensor, target: int, among: list[int], smoothing: float = 0.0) -> float:
    """(1 − ε)·log p(target) + ε·mean log p, one candidate after the other."""
    most = max(float(scores[x]) for x in among)
    log_total = most + math.log(sum(math.exp(float(scores[x]) - most) for x in among))
    log_p = {x: float(scores[x]) - log_total for x in among}
    return (1 - smoothing) * log_p[target] + smoothing * sum(log_p.values()) / len(log_p)


@given(seed=SEEDS, smoothing=st.sampled_from([0.0, 0.1, 0.5]))
@LAW
def test_the_loss_against_all_is_a_loop(seed: int, smoothing: float) -> None:
    problem = Problem(seed)
    expected = [
        looped_log_p(
            problem.scores[row],
            target,
            [x for x in range(ENTITIES) if x not in problem.others[row]],
            smoothing,
        )
        for row, (_, _, target) in enumerate(problem.questions)
    ]
    assert any(problem.others)
    loss = problem.loss(smoothing=smoothing).item()
    assert loss == pytest.approx(-sum(expected) / len(expected), rel=1e-10)


@given(seed=SEEDS)
@LAW
def test_masking_takes_out_other_true_answers_and_nothing_else(seed: int) -> None:
    problem = Problem(seed)
    scores, place = against_all(problem.model, problem.answer, problem.vectors, problem.query, problem.stored)
    assert torch.equal(place, torch.tensor([target for _, _, target in problem.questions]))
    for row, others in enumerate(problem.others):
        gone = (scores[row] == -math.inf).nonzero().squeeze(1).tolist()
        assert gone == sorted(others)
        kept = scores[row] > -math.inf
        assert torch.equal(scores[row][kept], problem.scores[row][kept])


@pytest.mark.parametrize("preset", ["tpr-inf", "tpr", "cconv"])
@given(seed=SEEDS, own=st.booleans())
@SOME
def test_the_loss_is_minus_the_log_probability_that_the_model_gives(preset: str, seed: int, own: bool) -> None:
    """Among the answers that are not stored; what training lowers is what evaluation ranks by."""
    problem = Problem(seed, preset, own_bias=own)
    with torch.no_grad():
        loss = problem.loss().item()
        log_p = []
        for row, question in enumerate(problem.questions):
            scores = looped_scores(problem.model, problem.facts, *question)
            among = [x for x in range(ENTITIES) if x not in problem.others[row]]
            log_p.append(looped_log_p(scores, question[2], among))
    assert loss == pytest.approx(-sum(log_p) / len(log_p), rel=1e-9)


@pytest.mark.parametrize("paths", [None, {"per_role": 8}])
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.5, 1.0]))
@SOME
def test_each_channel_learns_its_own_part(paths: dict[str, int] | None, seed: int, share: float) -> None:
    """The edges, what stands among them or that nothing does, but not from links that were hidden; the others, what is
    not linked, the dense channel by itself and the walks as a mixture with it."""
    problem = Problem(seed, "recall", exact={"paths": paths})
    answer, hidden = problem.answer, Noise(3, seed, CPU).unlinked(len(problem.questions), share)
    assert answer.copied is not None
    assert problem.query.target is not None
    scores, place = against_all(problem.model, answer, problem.vectors, problem.query, problem.stored)
    dense = smoothed_log_probability(scores, place, 0.0)
    expected = []
    for row, target in enumerate(problem.query.target.tolist()):

        def own_part(channel: Recalled, row: int = row, target: int = target) -> tuple[Tensor, bool]:
            slots = (channel.query == row) & (channel.fillers == target) & (channel.log_edge > -math.inf)
            found = bool(slots.any())
            return channel.log_edge[slots].exp().sum().log() if found else channel.log_null[row], found

        first, is_linked = own_part(answer.copied)
        log_p = torch.zeros(()) if hidden[row] else first
        if not is_linked:
            log_p = log_p + dense[row]
            if answer.reached is not None:
                slots = (answer.reached.query == row) & (answer.reached.fillers == target)
                mass = answer.reached.log_edge[slots].exp().sum()
                log_p = log_p + (mass + answer.reached.log_null[row].exp() * dense[row].exp()).log()
        expected.append(log_p)
    training, noise = TrainingConfig(link_withholding=share), Noise(3, seed, CPU)
    loss = answer_loss(problem.model, answer, problem.vectors, problem.query, problem.stored, training, noise)
    torch.testing.assert_close(loss, -torch.stack(expected).mean())


def drawn_columns(problem: Problem, scores: Tensor) -> list[dict[int, float]]:
    """For each query, which entities stand in the columns besides the first, found by their scores."""
    found = []
    for row in range(len(scores)):
        columns = {}
        for value in scores[row, 1:].tolist():
            if value > -math.inf:
                near = (problem.scores[row] - value).abs()
                assert near.min() < 1e-12
                assert int(near.argmin()) not in columns, "drawn twice"
                columns[int(near.argmin())] = value
        found.append(columns)
    return found


@given(seed=SEEDS, count=st.integers(1, ENTITIES - 1), step=st.integers(0, 50))
@LAW
def test_a_sample_has_distinct_rivals_and_the_truth_apart(seed: int, count: int, step: int) -> None:
    problem = Problem(seed)
    scores, place = problem.sample(count, step=step)
    scores = scores.detach()
    assert scores.shape == (len(problem.questions), count + 1)
    assert not place.any()
    targets = torch.tensor([target for _, _, target in problem.questions])
    own = problem.scores.gather(1, targets[:, None]).squeeze(1)
    torch.testing.assert_close(scores[:, 0], own, rtol=0, atol=1e-12)
    columns = drawn_columns(problem, scores)
    drawn = set().union(*columns)
    assert len(drawn) <= count
    for row, (_, _, target) in enumerate(problem.questions):
        assert target not in columns[row]
        assert not problem.others[row] & set(columns[row])
        # one draw for all: what is missing here is the truth, or true as well
        assert drawn - set(columns[row]) <= {target} | problem.others[row]
        assert len(columns[row]) >= count - 1 - len(problem.others[row])


def test_another_step_draws_others() -> None:
    problem = Problem(0)
    draws = [frozenset().union(*drawn_columns(problem, problem.sample(3, step=step)[0].detach())) for step in range(8)]
    assert len(set(draws)) > 3
    again = frozenset().union(*drawn_columns(problem, problem.sample(3, step=0)[0].detach()))
    assert again == draws[0]


@pytest.mark.parametrize("preset", ["tpr-inf", "recall"])
@given(seed=SEEDS, smoothing=st.sampled_from([0.0, 0.2]), more=st.integers(0, 3))
@SOME
def test_sampling_every_entity_is_the_full_loss(preset: str, seed: int, smoothing: float, more: int) -> None:
    problem = Problem(seed, preset, own_bias=True)
    sampled = problem.loss(ENTITIES + more, smoothing)
    torch.testing.assert_close(sampled, problem.loss(None, smoothing), rtol=1e-10, atol=1e-10)


@given(seed=SEEDS, smoothing=st.floats(0, 0.9))
@LAW
def test_smoothing_is_the_naive_mixture(seed: int, smoothing: float) -> None:
    rng = generator(seed)
    scores = normal(rng, 5, 6)
    scores[torch.rand(5, 6, generator=rng) < 0.3] = -torch.inf
    target = torch.randint(6, (5,), generator=rng)
    scores[torch.arange(5), target] = normal(rng, 5)
    result = smoothed_log_probability(scores, target, smoothing)
    for row in range(5):
        among = [x for x in range(6) if scores[row, x] > -math.inf]
        expected = looped_log_p(scores[row], int(target[row]), among, smoothing)
        assert float(result[row]) == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("preset", ["recall", "tpr", "tpr-im", "cconv-inf", "eravg"])
@pytest.mark.parametrize("negatives", [None, 4])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_finite_and_reach_what_the_loss_depends_on(
    preset: str, negatives: int | None, smoothing: float
) -> None:
    problem = Problem(0, preset)
    problem.loss(negatives=negatives, smoothing=smoothing).backward()  # type: ignore[no-untyped-call]
    for name, parameter in problem.model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_the_gradient_points_downhill() -> None:
    problem = Problem(2, "tpr")  # the exact channels read vectors that they do not move: theirs is no gradient in full
    parameters = list(problem.model.parameters())
    before = problem.loss()
    gradients = torch.autograd.grad(before, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(1e-5 * gradient)
    problem.vectors = problem.model.embeddings()
    problem.answer = problem.model.answer(problem.query, index_of(problem.facts), problem.vectors)
    fallen = (before - problem.loss()).item()
    assert fallen == pytest.approx(1e-5 * sum(float(each.square().sum()) for each in gradients), rel=1e-2)
