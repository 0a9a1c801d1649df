"""Recall in several steps."""

import math

import pytest
import torch
from hypothesis import given

from hmem.graph.paths import MOST_AT_A_STEP, MOST_WAYS
from hmem.model.explain import explain
from hmem.model.hmem import HMem
from hmem.model.index import LiveIndex
from tests.laws import examples
from tests.model.problems import (
    ENTITIES,
    LAW,
    RELATIONS,
    SEEDS,
    ask,
    both_ways,
    every_question,
    index_of,
    looped_edges,
    looped_paths,
    looped_scores,
    neighborhoods_of,
    random_facts,
    random_model,
    small,
)


def model_of(seed: int, steps: int = 2, per_role: int = 8) -> HMem:
    memory = {"exact": {"paths": {"per_role": per_role, "steps": steps}}}
    return random_model(small("recall", memory=memory).memory, seed)


every_length = pytest.mark.parametrize("steps", [2, 3, 4])


@every_length
@given(seed=SEEDS)
@examples(2)
@torch.no_grad()
def test_scores_are_those_of_a_loop(steps: int, seed: int) -> None:
    """For every question, and for facts that are withheld: neither they nor their mirror images are walked along."""
    facts, model = random_facts(seed), model_of(seed, steps)
    query = every_question()
    scores = model(query, index_of(facts))
    for row, (entity, role) in enumerate(zip(query.entity.tolist(), query.role.tolist(), strict=True)):
        torch.testing.assert_close(scores[row], looped_scores(model, facts, entity, role), rtol=1e-9, atol=1e-9)
    questions = both_ways(facts)
    scores = model(ask(*questions), index_of(facts))
    for row, question in enumerate(questions):
        torch.testing.assert_close(scores[row], looped_scores(model, facts, *question), rtol=1e-9, atol=1e-9)


@every_length
@given(seed=SEEDS)
@LAW
@torch.no_grad()
def test_a_changing_graph_gives_the_same_as_one_built_afresh(steps: int, seed: int) -> None:
    facts, model = random_facts(seed), model_of(seed, steps)
    live = LiveIndex(neighborhoods_of(facts[::2]), ENTITIES)
    for fact in facts[1::2]:
        live.graph.add(*fact)
    fresh = LiveIndex(neighborhoods_of(facts), ENTITIES)
    query = every_question()
    assert torch.equal(model(query, live), model(query, fresh))
    torch.testing.assert_close(model(query, live), model(query, index_of(facts)), rtol=1e-12, atol=1e-12)


@every_length
@given(seed=SEEDS)
@LAW
@torch.no_grad()
def test_probabilities_sum_to_one_over_what_is_not_stored(steps: int, seed: int) -> None:
    facts, model = random_facts(seed), model_of(seed, steps)
    query = every_question()
    chances = model(query, index_of(facts)).exp()
    edges = index_of(facts).lookup(query.entity)
    stored = edges.roles == query.role[edges.query]
    chances[edges.query[stored], edges.fillers[stored]] = 0
    torch.testing.assert_close(chances.sum(1), torch.ones(len(query), dtype=torch.float64))


@every_length
@given(seed=SEEDS)
@LAW
@torch.no_grad()
def test_reasons_sum_to_the_score_and_name_the_paths(steps: int, seed: int) -> None:
    facts, model = random_facts(seed), model_of(seed, steps)
    index = index_of(facts)
    for entity, role, answer in ((0, 0, 3), (1, RELATIONS, 2), (3, 2, 0)):
        parts = explain(model, index, entity, role, answer)
        score = float(model(ask((entity, role)), index)[0, answer])
        total = float(parts.copied.sum()) + float(parts.reached.sum()) + parts.dense_share
        assert total == pytest.approx(math.exp(score), rel=1e-9)
        assert parts.score == pytest.approx(score, rel=1e-9)
        assert model.paths is not None
        walks = zip(parts.path_roles.tolist(), parts.path_nodes.tolist(), strict=True)
        walked = [(roles, [node for node in nodes if node >= 0]) for roles, nodes in walks]
        stored = {filler for other, filler in looped_edges(model, facts, entity, role) if other == role}
        ends = looped_paths(model, facts, looped_edges(model, facts, entity, role), entity, role)
        expected = [
            (model.paths.steps[role, column].tolist(), nodes)
            for column, nodes in ends
            if nodes[-1] == answer and answer not in stored
        ]
        assert sorted(walked) == sorted(expected)


def only_rule(model: HMem, role: int, *steps: int) -> None:
    assert model.paths is not None
    model.paths.steps.fill_(-1)
    model.paths.steps[role, 0] = torch.tensor(steps)


@torch.no_grad()
def test_a_crowded_step_is_not_taken() -> None:
    """One that leads to more than it may: neither as the first step nor as the second."""
    many = MOST_AT_A_STEP + 1
    model = random_model(
        small("recall", memory={"exact": {"paths": {"per_role": 2}}}).memory, 0, entities=many + 3, relations=1
    )
    only_rule(model, 0, 1, 1)
    hub, origin, end = many, many + 1, many + 2
    for fan_out, expected in ((many, 0), (many - 1, many - 1)):
        facts = [(origin, 0, hub)] + [(hub, 0, n) for n in range(fan_out)]
        answer = model.answer(ask((origin, 0)), index_of(facts, many + 3, 1), model.embeddings())
        assert answer.reached is not None
        assert int((answer.reached.log_edge > -math.inf).sum()) == expected
        facts = [(origin, 0, n) for n in range(fan_out)] + [(n, 0, end) for n in range(fan_out)]
        answer = model.answer(ask((origin, 0)), index_of(facts, many + 3, 1), model.embeddings())
        assert answer.reached is not None
        assert int((answer.reached.log_edge > -math.inf).sum()) == expected


@torch.no_grad()
@pytest.mark.parametrize("fan_outs", [(3, 4, 5, 2), (1, 60, 1, 1), (5, 1, 1, 12)])
def test_no_more_walks_than_ways_are_allowed(fan_outs: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a tree every walk has the same ways. With one way less allowed the last of its steps is not taken."""
    layers, facts = [[0]], []
    for fan_out in fan_outs:
        first = layers[-1][-1] + 1
        layers.append(list(range(first, first + fan_out * len(layers[-1]))))
        facts += [(layers[-2][n // fan_out], 0, node) for n, node in enumerate(layers[-1])]
    entities = layers[-1][-1] + 1
    model = random_model(
        small("recall", memory={"exact": {"paths": {"per_role": 2, "steps": 4}}}).memory, 0, entities, 1
    )
    only_rule(model, 0, 1, 1, 1, 1)
    for allowed, expected in (
        (MOST_WAYS, len(layers[-1])),
        (len(layers[-1]), len(layers[-1])),
        (len(layers[-1]) - 1, 0),
    ):
        monkeypatch.setattr("hmem.model.paths.MOST_WAYS", allowed)
        answer = model.answer(ask((0, 0)), index_of(facts, entities, 1), model.embeddings())
        assert answer.reached is not None
        assert len(answer.reached.fillers) == expected


@torch.no_grad()
def test_a_step_is_not_undone() -> None:
    """Going back along the edge that was just walked would make every entity its own answer."""
    model = model_of(0)
    only_rule(model, 0, RELATIONS, 0)
    facts = [(0, 0, 1), (2, 0, 1)]
    answer = model.answer(ask((0, 0)), index_of(facts), model.embeddings())
    assert answer.reached is not None
    kept = answer.reached.log_edge > -math.inf
    assert answer.reached.fillers[kept].tolist() == [2]


def test_coefficients_start_as_the_odds_that_counting_found() -> None:
    model = model_of(0, per_role=2)
    assert model.paths is not None
    steps = torch.full((2 * RELATIONS, 2, 2), -1)
    steps[1] = torch.tensor([[0, 3], [3, 1]])
    model.paths.start_from(steps, torch.where(steps[:, :, 0] < 0, 0.0, 0.8))
    assert torch.equal(model.paths.steps, steps)
    assert model.paths.affinity[1].tolist() == pytest.approx([math.log(4)] * 2)
    assert model.paths.affinity[0].tolist() == [-5.0, -5.0]
