"""A graph read back from untrained memories."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hmem.config import MemoryConfig
from hmem.figures.capacity import SAME_MEMORY, shape_label
from hmem.figures.traversal import Recall, traversal
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.model.index import FrozenIndex
from hmem.model.untrained import UntrainedMemory

SMALL = MemoryConfig(binding="hadamard", entity_dim=16, relation_dim=16)


@pytest.mark.parametrize("config", SAME_MEMORY, ids=shape_label)
def test_a_small_graph_comes_back_whole(toy: Dataset, config: MemoryConfig) -> None:
    result = traversal(toy, [config])
    assert result.num_facts == len(toy.everything())
    assert result.num_links == 2 * result.num_facts == result.links.sum()
    assert result.curves[0].overall > 0.97
    assert result.curves[0].first[0] == 1.0  # nothing disturbs a memory of one link


def test_recall_is_that_of_a_loop(toy: Dataset) -> None:
    result = traversal(toy, [SMALL], seed=3)
    facts = [(int(h), int(r), int(t)) for h, r, t in toy.everything().tolist()]
    graph = Neighborhoods.build(toy.everything(), toy.num_entities, toy.num_relations)
    memory = UntrainedMemory(SMALL, toy.num_entities, toy.num_relations, FrozenIndex(graph), seed=3)
    links = [(h, r + toy.num_relations, t) for h, r, t in facts] + [(t, r, h) for h, r, t in facts]
    by_degree: dict[int, list[bool]] = {}
    for entity, role, neighbor in links:
        scores = memory.score(torch.tensor([entity]), torch.tensor([role]))[0].tolist()
        others = set(graph.answers(entity, role).tolist())
        degree = len(graph.edges_of(entity)[0])
        beaten = any(score > scores[neighbor] for x, score in enumerate(scores) if x not in others)
        by_degree.setdefault(degree.bit_length() - 1, []).append(not beaten)
    assert result.low.tolist() == [2**power for power in sorted(by_degree)]
    assert result.high.tolist() == [2 ** (power + 1) - 1 for power in sorted(by_degree)]
    assert result.links.tolist() == [len(by_degree[power]) for power in sorted(by_degree)]
    assert result.curves[0].first == pytest.approx([np.mean(by_degree[power]) for power in sorted(by_degree)])
    assert 0.3 < result.curves[0].overall < 1  # else this says little
    assert result.curves[0].overall == pytest.approx((result.curves[0].first * result.links).sum() / len(links))
    assert (result.curves[0].first_ten >= result.curves[0].first).all()
    assert ((result.low <= result.degree) & (result.degree <= result.high)).all()


def test_new_entities_are_stored_and_found_like_any_other(toy_gen: Dataset) -> None:
    whole = replace(toy_gen, train=toy_gen.everything(), observed=None, heldout=None)
    result, expected = traversal(toy_gen, [SMALL]), traversal(whole, [SMALL])
    assert result.num_facts == len(toy_gen.everything())
    assert np.array_equal(result.curves[0].first, expected.curves[0].first)
    assert result.curves[0].overall == expected.curves[0].overall < 1


def test_a_sample_and_its_progress(toy: Dataset) -> None:
    seen: list[Recall] = []
    result = traversal(toy, [SMALL, SAME_MEMORY[0]], sample=10, progress=seen.append)
    assert result.num_links == result.links.sum() == 10
    assert tuple(seen) == result.curves


def test_the_table_has_every_figure(toy: Dataset) -> None:
    result = traversal(toy, [SMALL])
    rows = result.tables()["traversal"]
    assert [row["links"] for row in rows] == result.links.tolist()
    assert rows[0]["memory"] == "Hadamard 16"
    assert [row["recall_first"] for row in rows] == result.curves[0].first.tolist()
