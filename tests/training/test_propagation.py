"""What a network that passes messages must not see in training, and what it is asked."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hmem.config import PropagationConfig, TrainingConfig
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from hmem.memory.links import Links
from hmem.model import propagation
from hmem.model.propagation import Propagation
from hmem.model.query import Noise, Query
from hmem.training.batches import Batches
from hmem.training.hooks import Hooks
from hmem.training.propagation import Concealed, gradient_in_groups, propagation_loss, share_to_hide
from hmem.training.start import new_model
from hmem.training.state import State
from tests.model.problems import ENTITIES, RELATIONS, index_of, random_facts, small
from tests.oracles_graph import Fact
from tests.training.test_loop import Scripted, fit, same, weights

NOTHING: dict[str, Any] = {"link_withholding": 0.0, "neighbor_dropout": 0.0}
CPU = torch.device("cpu")


def settings(**more: Any) -> TrainingConfig:
    return TrainingConfig(**{**NOTHING, **more})


def batch_of(facts: list[Fact], size: int, seed: int = 0) -> Query:
    return Batches(torch.from_numpy(as_triples(facts).astype(np.int64)), RELATIONS, size, seed).at(0)


def visible(links: Links) -> set[tuple[int, int, int]]:
    """The edges that a batch sees."""
    edges = zip(links.source.tolist(), links.role.tolist(), links.target.tolist(), strict=True)
    return {(source, role, target) for source, role, target in edges if role < links.num_roles}


def edges_of(facts: list[Fact]) -> set[tuple[int, int, int]]:
    there = {(head, relation + RELATIONS, tail) for head, relation, tail in facts}
    return there | {(tail, relation, head) for head, relation, tail in facts}


def asked_facts(query: Query) -> list[Fact]:
    assert query.target is not None
    asked = zip(query.entity.tolist(), query.role.tolist(), query.target.tolist(), strict=True)
    return [(u, q - RELATIONS, v) if q >= RELATIONS else (v, q, u) for u, q, v in asked]


@pytest.mark.parametrize("seed", range(3))
def test_the_asked_facts_are_hidden_in_both_directions(seed: int) -> None:
    """And no others; self loops and several facts about one pair are among them."""
    facts = random_facts(seed)
    query = batch_of(facts, 4, seed)
    links = Concealed(index_of(facts)).from_questions(query, settings(), Noise(seed, 0, CPU))
    asked = set(asked_facts(query))
    assert len(asked) == 4
    assert visible(links) == edges_of([fact for fact in facts if fact not in asked])


@pytest.mark.parametrize("seed", range(3))
def test_at_rate_one_every_link_of_an_asked_pair_is_hidden(seed: int) -> None:
    facts = random_facts(seed)
    facts = sorted({*facts, (facts[0][2], 1, facts[0][0]), (facts[0][0], (facts[0][1] + 1) % RELATIONS, facts[0][2])})
    query = batch_of(facts, 5, seed)
    links = Concealed(index_of(facts)).from_questions(query, settings(link_withholding=1.0), Noise(seed, 0, CPU))
    pairs = {frozenset((head, tail)) for head, _, tail in asked_facts(query)}
    assert visible(links) == edges_of([fact for fact in facts if frozenset((fact[0], fact[2])) not in pairs])


def test_links_are_hidden_at_their_rate() -> None:
    """Of pairs with two facts each, the other one goes in as many questions as asked for."""
    facts = [(pair, relation, pair + 400) for pair in range(400) for relation in (0, 1)]
    concealed = Concealed(index_of(facts, 800))
    first = as_triples([fact for fact in facts if fact[1] == 0]).astype(np.int64)
    query = Batches(torch.from_numpy(first), RELATIONS, 400, 0).at(0)
    left = visible(concealed.from_questions(query, settings(link_withholding=0.3), Noise(0, 0, CPU)))
    # Each fact is asked from both ends, and one of them suffices.
    assert 1 - len(left) / 800 == pytest.approx(1 - 0.7**2, abs=0.06)


def test_whole_facts_are_dropped() -> None:
    facts = [(head, head % RELATIONS, tail) for head in range(30) for tail in range(30)]
    query = batch_of(facts, 1)
    found = Concealed(index_of(facts, 30)).from_questions(query, settings(neighbor_dropout=0.25), Noise(3, 0, CPU))
    left = visible(found)
    kept = [fact for fact in facts if (fact[0], fact[1] + RELATIONS, fact[2]) in left]
    assert left == edges_of(kept)  # never one direction alone
    assert 1 - len(kept) / len(facts) == pytest.approx(0.25, abs=0.05)


def test_hidden_edges_are_out_of_the_degrees() -> None:
    facts = random_facts(0)
    query = batch_of(facts, 4)
    found = Concealed(index_of(facts)).from_questions(query, settings(neighbor_dropout=0.2), Noise(0, 0, CPU))
    degree = torch.zeros(ENTITIES)
    for _, _, target in visible(found):
        degree[target] += 1
    assert torch.equal(found.degree, degree)
    assert not torch.equal(found.degree, index_of(facts).links().degree)


def test_other_true_answers_are_no_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    """−log p(target) among all entities but the other stored answers to the same question, whether hidden or not."""
    facts = [(0, 0, tail) for tail in (1, 2, 3)] + [(4, 1, 0), (5, 0, 2)]
    scores = torch.randn(2, ENTITIES, generator=torch.Generator().manual_seed(0), requires_grad=True)
    model = Propagation(small("propagate").propagation, ENTITIES, RELATIONS)  # type: ignore[arg-type]
    monkeypatch.setattr(model, "scores", lambda *_: scores)
    query = Query(torch.tensor([0, 2]), torch.tensor([RELATIONS, 0]), torch.tensor([1, 0]))
    loss = propagation_loss(model, query, Concealed(index_of(facts)), settings(), Noise(0, 0, CPU))
    expected = []
    for row, target, others in ((scores[0], 1, [2, 3]), (scores[1], 0, [5])):
        rivals = [entity for entity in range(ENTITIES) if entity not in others]
        expected.append(row[rivals].logsumexp(0) - row[target])
    torch.testing.assert_close(loss, torch.stack(expected).mean())
    loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    assert not scores.grad[0, [2, 3]].any()
    assert scores.grad[0, [0, 4]].all()


def dataset_of(train: list[Fact], valid: list[Fact]) -> Dataset:
    vocab = Vocabulary([f"e{n}" for n in range(40)], ["a", "b"])
    return Dataset(name="toy", vocab=vocab, train=as_triples(train), valid=as_triples(valid), test=as_triples(valid))


def test_links_are_hidden_as_often_as_those_of_validation_facts_are_missing() -> None:
    linked = [(n, relation, n + 20) for n in range(8) for relation in (0, 1)]
    single = [(n, 0, n + 20) for n in range(8, 16)]
    train = linked + single  # 16 of 24 train facts have a link beside themselves
    beside = [(n, 1, n + 20) for n in (8, 9, 10)]  # validation facts between entities that train links
    apart = [(n, 1, n + 21) for n in (11, 12, 13)]
    assert share_to_hide(dataset_of(train, beside)) == 0.0
    assert share_to_hide(dataset_of(train, apart)) == 1.0
    assert share_to_hide(dataset_of(train, beside + apart)) == pytest.approx(1 - 0.5 / (16 / 24))
    assert share_to_hide(dataset_of(train, [])) == 0.0
    assert share_to_hide(dataset_of(single, apart)) == 0.0  # in training none is linked either
    loops = [(head, 0, head) for head, _, _ in single]
    assert share_to_hide(dataset_of(single + loops, apart)) == 0.0  # of a loop both edges are its own


def test_the_loss_learns() -> None:
    """On one batch, by plain gradient descent."""
    facts = random_facts(1)
    torch.manual_seed(0)
    config = replace(small("propagate")).propagation
    assert config is not None
    model = Propagation(config, ENTITIES, RELATIONS)
    query, concealed, losses = batch_of(facts, 8), Concealed(index_of(facts)), list[float]()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(15):
        loss: Tensor = propagation_loss(model, query, concealed, settings(), Noise(0, 0, CPU))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_given_weights_are_judged_once_and_kept_unless_training_betters_them(
    toy: Dataset, is_interrupted: bool
) -> None:
    config = small("any-graph", training={**NOTHING, "epochs": 3, "batch_size": 16})
    given = new_model(replace(config, training=replace(config.training, seed=9)), toy.num_entities, toy.num_relations)
    start = State(weights={name: value.clone() for name, value in given.state_dict().items()})
    metrics = Scripted(0.9, 0.1, 0.2, 0.3)
    if is_interrupted:  # before the first step
        kept: list[State] = []
        broken = fit(config, toy, Hooks(validate=metrics, checkpoint=kept.append, stop=lambda: True), start)
        assert (broken.stopped, broken.epochs) == ("interrupted", 0)
        start = State.from_tensors(*kept[-1].to_tensors())
    outcome = fit(config, toy, Hooks(validate=metrics), start)
    assert (outcome.best, len(metrics.seen)) == (0.9, 4)
    assert same(weights(outcome.model), weights(given))


@pytest.mark.parametrize("dropped", [0.0, 0.3])
def test_question_by_question_is_the_gradient_of_a_batch_of_one(dropped: float) -> None:
    """Where a batch has one question there is nothing that others hide from it, and both ways are the same."""
    graph = index_of(random_facts(0))
    training = TrainingConfig(neighbor_dropout=dropped, link_withholding=0.5)
    config = PropagationConfig(dim=6, steps=3)
    for step, (head, relation, tail) in enumerate(random_facts(0)[:6]):
        found = []
        query = Query(*(torch.tensor([each]) for each in (head, relation + RELATIONS, tail)))
        for one_by_one in (False, True):
            torch.manual_seed(0)
            network, concealed = Propagation(config, ENTITIES, RELATIONS).double(), Concealed(graph)
            noise = Noise(0, step, torch.device("cpu"))
            if one_by_one:
                loss = gradient_in_groups(network, query, concealed, training, noise)
            else:
                loss = propagation_loss(network, query, concealed, training, noise)
                loss.backward()  # type: ignore[no-untyped-call]
            found.append([loss.detach(), *(each.grad for each in network.parameters())])
        for expected, other in zip(*found, strict=True):
            torch.testing.assert_close(other, expected, rtol=1e-4, atol=1e-6, check_dtype=False)


@pytest.mark.parametrize("dropped", [0.0, 0.3])
def test_questions_together_have_the_gradient_of_each_alone(dropped: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = index_of(random_facts(0))
    training = TrainingConfig(neighbor_dropout=dropped, link_withholding=0.5)
    config = PropagationConfig(dim=6, steps=3, roles="both")
    head, relation, tail = torch.tensor(random_facts(0)[:6]).unbind(1)
    query, found = Query(head, relation + RELATIONS, tail), []
    for most_together in (1, 4):
        monkeypatch.setattr(propagation, "MOST_TOGETHER", most_together)
        torch.manual_seed(0)
        network, concealed = Propagation(config, ENTITIES, RELATIONS).double(), Concealed(graph)
        loss = gradient_in_groups(network, query, concealed, training, Noise(0, 0, torch.device("cpu")))
        found.append([loss, *(each.grad for each in network.parameters())])
    for expected, other in zip(*found, strict=True):
        torch.testing.assert_close(other, expected, rtol=1e-4, atol=1e-6, check_dtype=False)
