"""The same model or rules on one graph after another."""

import pytest
import torch

from hmem.evaluation.baselines import Rules, make_baseline
from hmem.figures.compared_models import compared_model, compared_rules
from hmem.graph.dataset import Dataset, GraphName
from hmem.model.build import ModelScorer
from tests.figures.problems import random_model

ENTITIES, ROLES = torch.tensor([0, 3, 5]), torch.tensor([1, 6, 2])
GRAPHS: list[GraphName] = ["train", "train+valid"]


@pytest.mark.parametrize("graph", GRAPHS)
def test_rules_are_the_baseline(toy: Dataset, graph: GraphName) -> None:
    model = compared_rules(toy)
    assert (model.name, model.kind) == ("rules", "baseline")
    first = model.on(toy.inference_graph("train"))
    there = model.on(toy.inference_graph(graph))
    expected = make_baseline("rules", toy, graph)
    assert isinstance(first, Rules)
    assert isinstance(there, Rules)
    assert first is not there
    assert first.graph is not there.graph
    for entity in range(toy.num_entities):
        every = torch.arange(toy.num_roles)
        asked = torch.full_like(every, entity)
        assert torch.equal(there.score(asked, every), expected.score(asked, every))


def test_a_model_sees_the_graph_it_is_put_on(toy: Dataset) -> None:
    model = random_model(toy)
    compared = compared_model("mine", model)
    assert (compared.name, compared.kind) == ("mine", "explicit")
    scorers = [compared.on(toy.inference_graph(graph)) for graph in GRAPHS]
    assert all(isinstance(scorer, ModelScorer) and scorer.model is model for scorer in scorers)
    asked = torch.arange(toy.num_entities)
    roles = torch.full_like(asked, 5)
    plain, plus = (scorer.score(asked, roles) for scorer in scorers)
    assert not torch.equal(plain, plus)


def test_an_implicit_model_does_not(toy: Dataset) -> None:
    model = compared_model("im", random_model(toy, kind="implicit"))
    assert model.kind == "implicit"
    plain, plus = (model.on(toy.inference_graph(graph)).score(ENTITIES, ROLES) for graph in GRAPHS)
    assert torch.equal(plain, plus)
