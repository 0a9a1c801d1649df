"""How much counting is worth, and the scores of a model that it is joined to."""

import numpy as np
import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.evaluation.baselines import CPU, RandomScores, make_baseline
from hmem.evaluation.evaluate import Scorer, rank_queries
from hmem.evaluation.joined import LEAST, WEIGHTS, Joined, chosen_weight
from hmem.evaluation.metrics import MRR, metrics
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import Queries, queries_of
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
    model, counts = RandomScores(staff.num_entities), make_baseline("counts", staff, "train")
    asked = torch.tensor([0, 35]), torch.tensor([3, 3])
    expected = model.score(*asked) + 2 * (counts.score(*asked) + LEAST).log()
    assert torch.equal(Joined(model, counts, 2.0).score(*asked), expected)
    assert torch.equal(Joined(model, counts, 0.0).score(*asked), model.score(*asked))


def test_counting_is_joined_where_it_knows_more(staff: Dataset) -> None:
    model, counts, queries = (
        RandomScores(staff.num_entities),
        make_baseline("counts", staff, "train"),
        queries_of(staff, "valid"),
    )
    choice = chosen_weight(model, counts, staff, queries)
    assert choice.weight in WEIGHTS
    assert choice.model == pytest.approx(mrr(model, staff, queries))
    assert choice.counts == pytest.approx(mrr(counts, staff, queries))
    assert choice.joined == pytest.approx(mrr(Joined(model, counts, choice.weight), staff, queries))
    assert choice.joined >= choice.counts > choice.model + 0.1


def test_counting_is_left_out_where_it_adds_nothing(staff: Dataset) -> None:
    counts, queries = make_baseline("counts", staff, "train"), queries_of(staff, "valid")
    assert chosen_weight(Truth(staff), counts, staff, queries).weight == 0
    few = queries.sample(20)  # by which nothing can be told
    assert chosen_weight(RandomScores(staff.num_entities), counts, staff, few).weight == 0
