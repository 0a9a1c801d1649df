"""Graphs to pre-train on: the same for a seed, different for another, and every asked fact can be asked."""

from collections.abc import Callable

import numpy as np
import pytest

from hmem.graph.dataset import Dataset
from hmem.graph.excerpts import excerpt, resplit
from hmem.graph.generated import _joined, generated
from hmem.graph.triples import triple_keys

SEEDS = range(6)


@pytest.fixture(scope="module")
def whole() -> Dataset:
    return max((generated(seed) for seed in range(4)), key=lambda dataset: len(dataset.train))


def splits_of(dataset: Dataset) -> list[np.ndarray]:
    return [dataset.train, dataset.valid, dataset.test]


def check(dataset: Dataset) -> None:
    """The splits are apart, and all that is asked about has a train fact."""
    everything = np.concatenate(splits_of(dataset))
    assert len(np.unique(triple_keys(everything))) == len(everything)
    assert set(dataset.train[:, [0, 2]].ravel().tolist()) == set(range(dataset.num_entities))
    assert set(dataset.train[:, 1].tolist()) == set(range(dataset.num_relations))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_asked_has_train_facts(seed: int, whole: Dataset) -> None:
    check(generated(seed))
    check(excerpt(whole, seed, most_entities=200))


@pytest.mark.parametrize("make", [lambda whole, seed: generated(seed), excerpt, resplit])
def test_a_seed_decides_the_graph(make: Callable[[Dataset, int], Dataset], whole: Dataset) -> None:
    first, again, other = (make(whole, seed) for seed in (1, 1, 2))
    for one, two in zip(splits_of(first), splits_of(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert first.vocab.entities == again.vocab.entities
    assert not np.array_equal(first.train, other.train)


def test_a_rule_of_two_steps_joins_where_they_meet() -> None:
    left, right = np.array([[0, 1], [0, 2], [5, 2], [6, 7]]), np.array([[2, 8], [1, 8], [2, 9]])
    joined = _joined(np.random.default_rng(0), left, right)
    assert {tuple(pair) for pair in joined.tolist()} == {(0, 8), (0, 9), (5, 8), (5, 9)}
