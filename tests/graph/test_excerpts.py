"""Parts of a graph say what the graph says, and echoes say it again."""

import numpy as np
import pytest

from hmem.graph.dataset import Dataset
from hmem.graph.excerpts import _echoed, excerpt, resplit
from hmem.graph.generated import generated
from hmem.graph.triples import is_among

SEEDS = range(6)


@pytest.fixture(scope="module")
def whole() -> Dataset:
    return max((generated(seed) for seed in range(4)), key=lambda dataset: len(dataset.train))


def everything(dataset: Dataset) -> np.ndarray:
    return np.concatenate([dataset.train, dataset.valid, dataset.test])


@pytest.mark.parametrize("seed", SEEDS)
def test_an_excerpt_without_echoes_has_facts_of_its_graph(seed: int, whole: Dataset) -> None:
    part = excerpt(whole, seed, most_entities=200, echoes=0.0)
    numbers = np.array([int(name[1:]) for name in part.vocab.entities])
    assert part.num_entities <= whole.num_entities
    assert part.num_relations <= whole.num_relations
    pairs = {(int(head), int(tail)) for head, _, tail in whole.train}
    assert {(int(numbers[head]), int(numbers[tail])) for head, _, tail in everything(part)} <= pairs


def test_echoes_are_new_relations_between_linked_entities(whole: Dataset) -> None:
    echoed = _echoed(whole.train, np.random.default_rng(0))
    np.testing.assert_array_equal(echoed[: len(whole.train)], whole.train)
    new = echoed[len(whole.train) :]
    assert len(new) > 0
    assert new[:, 1].min() >= whole.num_relations
    pairs = {frozenset((int(head), int(tail))) for head, _, tail in whole.train}
    assert {frozenset((int(head), int(tail))) for head, _, tail in new} <= pairs


def test_a_graph_is_split_again_without_loss(whole: Dataset) -> None:
    again = resplit(whole, 3)
    assert len(everything(again)) == len(whole.train)
    assert is_among(everything(again), whole.train).all()
    assert len(again.valid) == len(again.test) == len(whole.train) // 10
