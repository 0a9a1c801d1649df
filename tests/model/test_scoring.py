"""What a score is made of; `test_hmem` compares whole models with a loop."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from torch import Tensor

from hmem.model.query import Query
from hmem.model.scoring import leave_out_, log_softmax
from tests.model.problems import (
    ENTITIES,
    EXPLICIT,
    LAW,
    RELATIONS,
    SEEDS,
    ask,
    both_ways,
    every_question,
    index_of,
    random_facts,
    random_model,
    small,
)

every_explicit = pytest.mark.parametrize("name", EXPLICIT)


def close(left: Tensor, right: Tensor, atol: float = 1e-9) -> None:
    torch.testing.assert_close(left, right, rtol=1e-9, atol=atol)


@every_explicit
@given(seed=SEEDS)
@LAW
def test_one_candidate_alone_scores_as_in_the_crowd(name: str, seed: int) -> None:
    model = random_model(small(name, memory={"own_bias": True}).memory, seed)
    query, vectors = every_question(), model.embeddings()
    retrieved = model.answer(query, index_of(random_facts(seed)), vectors).retrieved
    scores = model.dense.scores(query, retrieved, vectors)
    for entity in range(ENTITIES):
        alone = model.dense.scores_of_drawn(query, retrieved, vectors, torch.tensor([entity]))
        close(alone, scores[:, entity : entity + 1], atol=1e-12)
        as_target = Query(query.entity, query.role, torch.full_like(query.entity, entity))
        close(model.dense.scores_of_targets(as_target, retrieved, vectors), scores[:, entity], atol=1e-12)


def test_the_self_bias_is_added_to_the_asked_entity_alone() -> None:
    model = random_model(small("tpr-inf", memory={"own_bias": True}).memory, 0)
    query, vectors, graph = every_question(), model.embeddings(), index_of(random_facts(0))
    assert model.own is not None
    with_bias = model(query, graph)
    model.own.data.add_(2.0)
    moved = (model(query, graph) - with_bias).detach()
    close(moved, 2.0 * torch.nn.functional.one_hot(query.entity, ENTITIES).double(), atol=1e-12)
    beyond = model.dense.scores(ask((ENTITIES + 3, 0)), torch.zeros(1, 6).double(), vectors)  # no candidate itself
    close(beyond, -model.dense.temperature * vectors.entities.square().sum(1)[None])


@torch.no_grad()
def test_an_entity_without_a_vector_is_no_candidate() -> None:
    model = random_model(small("tpr-inf").memory, 0)
    vectors, query, graph = model.embeddings(), every_question(), index_of(random_facts(0))
    placed = torch.arange(ENTITIES) != 4
    scores = model(query, graph, replace(vectors, placed=placed))
    assert (scores[:, 4] == -torch.inf).all()
    assert torch.equal(scores[:, placed], model(query, graph, vectors)[:, placed])


@torch.no_grad()
def test_the_softmax_is_over_what_is_not_stored() -> None:
    facts = random_facts(3)
    model, graph, query = random_model(small("tpr-inf").memory, 3), index_of(facts), ask(*both_ways(facts))
    scores, edges = model(query, graph), graph.lookup(query.entity)
    probability = log_softmax(scores, query, edges).exp()
    assert query.target is not None
    for row in range(len(query)):
        answers = edges.fillers[(edges.query == row) & (edges.roles == query.role[row])]
        rivals = [x for x in range(ENTITIES) if x not in answers.tolist() or x == query.target[row]]
        close(probability[row], scores[row].exp() / scores[row][rivals].exp().sum(), atol=1e-12)


def test_what_is_left_out_is_minus_infinity_and_nothing_else_changes() -> None:
    scores = torch.arange(6.0).view(2, 3)
    leave_out_(scores, torch.tensor([0, 1, 1]), torch.tensor([2, 0, 1]))
    assert scores.tolist() == [[0.0, 1.0, -torch.inf], [-torch.inf, -torch.inf, 5.0]]


def test_scores_are_finite_where_every_entity_is_a_stored_answer() -> None:
    model = random_model(small("recall").memory, 0)
    facts = [(0, 0, entity) for entity in range(ENTITIES)]
    query, graph = ask((0, RELATIONS), (1, 0)), index_of(facts)
    assert model(query, graph).isfinite().all()
    dense = torch.linspace(-2.0, 1.0, 2 * ENTITIES).double().view(2, ENTITIES)
    found = log_softmax(dense, query, graph.lookup(query.entity))
    close(found[0], dense[0].log_softmax(0))  # then all are rivals


@torch.no_grad()
def test_lengths_at_hand_change_nothing() -> None:
    model = random_model(small("recall").memory, 0)
    vectors, query, graph = model.embeddings(), every_question(), index_of(random_facts(0))
    measured = replace(vectors, lengths=vectors.entities.square().sum(1))
    close(model(query, graph, measured), model(query, graph, vectors))


@pytest.mark.parametrize("paths", [None, {"per_role": 8}])
@torch.no_grad()
def test_alone_is_the_share_or_what_its_own_slots_say(paths: dict[str, int] | None) -> None:
    model = random_model(small("recall", memory={"exact": {"paths": paths}}).memory, 0)
    graph, query, vectors = index_of(random_facts(0)), every_question(), model.embeddings()
    scores, alone = model.scores_and_log_alone(query, graph, vectors)
    assert torch.equal(scores, model(query, graph, vectors))
    answer = model.answer(query, graph, vectors)
    assert answer.copied is not None
    for row in range(0, len(query), 7):
        null = answer.copied.log_null[row].exp()
        for x in range(ENTITIES):
            expected = [scores[row, x].exp()]
            for channel, left in ((answer.copied, torch.ones(())), (answer.reached, null)):
                if channel is not None:
                    mass = channel.log_edge[(channel.query == row) & (channel.fillers == x)].exp().sum()
                    expected.append(left * mass / (mass + channel.log_null[row].exp()))
            close(alone[row, x].exp(), torch.stack(expected).max())


@torch.no_grad()
def test_without_the_exact_channel_alone_is_the_score() -> None:
    model = random_model(small("tpr").memory, 0)
    scores, alone = model.scores_and_log_alone(every_question(), index_of(random_facts(0)), model.embeddings())
    assert torch.equal(scores, alone)
