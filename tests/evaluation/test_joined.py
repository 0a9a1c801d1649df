"""The scores of a network that counting is joined to, and whether it is."""

import numpy as np
import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.config import TrainingConfig, from_dict, to_dict
from hmem.errors import ConfigError
from hmem.evaluation.baselines import CPU, RandomScores
from hmem.evaluation.counted import best_of, counts_of_ends
from hmem.evaluation.evaluate import Scorer, rank_queries
from hmem.evaluation.joined import ALONE, LEAST, Joined, Weights, weights_of
from hmem.evaluation.metrics import MRR, metrics
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import Queries, queries_of
from hmem.evaluation.weighing import COUNTING, choose
from hmem.graph.dataset import Dataset
from hmem.graph.names import Names, Vocabulary
from hmem.graph.triples import as_triples

WORKERS, FIRMS = 60, 6


@pytest.fixture(scope="module")
def staff() -> Dataset:
    """Who works at the same firm lives in the same town, and likes whom nothing tells."""
    rng = np.random.default_rng(0)
    firm = rng.integers(FIRMS, size=WORKERS)
    works = [(each, 0, WORKERS + firm[each]) for each in range(WORKERS)]
    lives = [(each, 1, WORKERS + FIRMS + firm[each]) for each in range(WORKERS)]
    names = [f"e{each}" for each in range(WORKERS + 2 * FIRMS)]
    vocab = Vocabulary(Names("entity", names), Names("relation", ["works at", "lives in"]))
    train, valid = as_triples(works + lives[:30]), as_triples(lives[30:])
    return Dataset(name="staff", vocab=vocab, train=train, valid=valid, test=valid[:0])


class Truth:
    """A model that knows every answer."""

    device = CPU

    def __init__(self, dataset: Dataset) -> None:
        self.graph = dataset.filter_graph()

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        rows = torch.zeros(len(entities), self.graph.num_entities)
        for row, entity, role in zip(rows, entities.tolist(), roles.tolist(), strict=True):
            row[torch.from_numpy(self.graph.answers(entity, role).astype(np.int64))] = 100.0
        return rows


def mrr(scorer: Scorer, dataset: Dataset, queries: Queries) -> float:
    ranks = rank_queries(scorer, queries, dataset.filter_graph(), [Candidates("all", dataset)])
    return metrics(ranks["all"], queries.sides)[MRR]


def test_the_scores_are_those_of_two_experts(staff: Dataset) -> None:
    model, graph = RandomScores(staff.num_entities), staff.inference_graph("train")
    for entity, role in ((0, 3), (35, 3)):
        asked = torch.tensor([entity]), torch.tensor([role])
        alone, joined = model.score(*asked)[0], Joined(model, graph, Weights(best=2.0)).score(*asked)[0]
        counted = best_of(*counts_of_ends(graph, entity, role, len(alone)))
        added = joined - alone - 2 * torch.from_numpy(np.log(counted + LEAST))
        assert added.std() < 0.01  # the same of all candidates: its log p is among those that are not stored
        assert torch.equal(Joined(model, graph, ALONE).score(*asked)[0], alone)


def test_what_is_far_below_the_floor_keeps_its_order(staff: Dataset) -> None:
    class Spread(RandomScores):
        def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
            return -torch.arange(float(self.num_entities)).repeat(len(entities), 1)

    scores = Joined(Spread(staff.num_entities), staff.inference_graph("train"), Weights(best=1e-9))
    row = scores.score(torch.tensor([70]), torch.tensor([2]))[0]
    assert (row.diff() < 0).all()


def test_counting_is_joined_where_it_knows_more(staff: Dataset) -> None:
    model, queries = RandomScores(staff.num_entities), queries_of(staff, "valid")
    choice = choose(model, staff, queries)
    graph = staff.inference_graph("train")
    assert choice.joins
    assert choice.model == pytest.approx(mrr(model, staff, queries))
    assert choice.counts == pytest.approx(mrr(Joined(model, graph, COUNTING), staff, queries))
    assert choice.joined == pytest.approx(mrr(Joined(model, graph, choice.weights), staff, queries), abs=0.1)
    assert min(choice.joined, choice.counts) > choice.model + 0.1


def test_counting_is_left_out_where_it_adds_nothing(staff: Dataset) -> None:
    queries = queries_of(staff, "valid")
    assert not choose(Truth(staff), staff, queries).joins
    few = queries.sample(20)  # by which nothing can be told
    assert not choose(RandomScores(staff.num_entities), staff, few).joins


def test_settings_keep_the_weights(staff: Dataset) -> None:
    assert weights_of(None) == weights_of(0.0) == ALONE
    assert weights_of(4.0) == Weights(1.0, 4.0)  # as earlier models have it
    found = from_dict(TrainingConfig, {"counting": [0.5, 1, 0.0, 2.5, -1.0]})
    assert weights_of(found.counting) == Weights(0.5, 1.0, 0.0, 2.5, -1.0)
    assert from_dict(TrainingConfig, to_dict(found)) == found
    for wrong in (-1.0, [1.0], [1.0, float("nan"), 0.0, 0.0, 0.0], ["x"] * 5, "much"):
        with pytest.raises(ConfigError, match="counting"):
            from_dict(TrainingConfig, {"counting": wrong})
