"""The paper's simulation of a random memory."""

import numpy as np
import pytest
import torch

from hmem.config import MemoryConfig
from hmem.errors import ConfigError
from hmem.figures.capacity import (
    CONFIGS,
    NUM_ENTITIES,
    NUM_RELATIONS,
    NUM_ROLES,
    SAME_ENTITIES,
    SAME_MEMORY,
    capacity,
    retrieve,
    shape_label,
    store,
)
from hmem.model.untrained import random_vectors
from tests import oracles

SMALL = (
    MemoryConfig(binding="tpr", entity_dim=8, relation_dim=3),
    MemoryConfig(binding="cconv", entity_dim=12, relation_dim=12),
    MemoryConfig(binding="hadamard", entity_dim=12, relation_dim=12),
)


@pytest.mark.parametrize("config", CONFIGS, ids=shape_label)
def test_one_binding_always_comes_back(config: MemoryConfig) -> None:
    result = capacity([config], [1], seeds=3, memories=20)
    assert (result.curves[0].among_all == 1).all()
    assert (result.curves[0].filtered == 1).all()
    assert result.ceiling.tolist() == [1.0]


@pytest.mark.parametrize("config", SMALL, ids=lambda config: config.binding)
def test_the_shares_are_those_of_a_loop(config: MemoryConfig) -> None:
    count, seed = 25, 4
    edges = store(count, 1, seed)
    pairs = list(zip(edges.roles.tolist(), edges.fillers.tolist(), strict=True))
    vectors = random_vectors(config, NUM_ENTITIES, NUM_RELATIONS, seed, torch.device("cpu"))
    roles, entities = vectors.roles.double(), vectors.entities.double()
    memory = sum(
        (oracles.bind(config.binding, roles[role], entities[filler]) for role, filler in pairs),
        start=torch.zeros(1, dtype=torch.float64),
    )
    among_all = filtered = 0
    for role, filler in pairs:
        out = oracles.unbind(config.binding, roles[role], memory)
        distance = (out - entities).square().sum(1)
        nearer = {x for x in range(NUM_ENTITIES) if distance[x] < distance[filler]}
        among_all += not nearer
        filtered += not {x for x in nearer if (role, x) not in pairs}
    assert 0 < among_all <= filtered < count  # else this says little
    assert retrieve(config, edges, seed) == pytest.approx((among_all / count, filtered / count))


def test_what_is_stored() -> None:
    edges = store(300, 4, seed=1)
    assert edges.num_queries == 4
    for memory in range(4):
        mine = edges.query == memory
        pairs = list(zip(edges.roles[mine].tolist(), edges.fillers[mine].tolist(), strict=True))
        assert len(set(pairs)) == 300
        assert pairs == sorted(pairs)
    assert int(edges.roles.min()) >= 0
    assert int(edges.roles.max()) < NUM_ROLES
    assert int(edges.fillers.max()) < NUM_ENTITIES
    assert not torch.equal(edges.fillers[:300], edges.fillers[300:600])
    assert torch.equal(store(300, 4, seed=1).fillers, edges.fillers)


def test_two_fillers_of_one_role_share_the_first_place() -> None:
    edges = store(2, 400, seed=0)
    shared = edges.roles[0::2] == edges.roles[1::2]  # of both bindings of a memory
    assert 0 < int(shared.sum()) < 100
    expected = 1 - float(shared.double().mean()) / 2
    assert retrieve(SAME_MEMORY[2], edges, seed=0) == pytest.approx((expected, 1.0))


def test_a_role_gives_one_answer_at_most() -> None:
    result = capacity(SAME_ENTITIES, [2, 60, 2000], seeds=3, memories=4)
    for curve in result.curves:
        assert (curve.among_all.mean(axis=0) <= result.ceiling + 1e-12).all()
        assert (curve.among_all <= curve.filtered).all()
    assert result.ceiling[-1] == pytest.approx(NUM_ROLES / 2000)
    assert (result.curves[0].filtered[:, -1] == 1).all()  # everything is stored, so no rival is left


def test_memories_fill_up_and_larger_ones_later() -> None:
    result = capacity([SAME_MEMORY[0], SAME_MEMORY[1], SAME_ENTITIES[0]], [5, 200], seeds=3, memories=5)
    tpr, large, small = (curve.filtered.mean(axis=0) for curve in result.curves)
    for few, many in (tpr, large, small):
        assert few > many
    assert large[1] > small[1] + 0.2
    assert np.ptp(result.curves[0].filtered[:, 1]) > 0  # seeds differ


@pytest.mark.parametrize("count", [0, NUM_ROLES * NUM_ENTITIES + 1])
def test_there_are_only_so_many_bindings(count: int) -> None:
    with pytest.raises(ConfigError, match=f"{count} bindings: there are 20 roles and 100 entities"):
        capacity(counts=[count], seeds=1)


def test_the_table_has_every_figure() -> None:
    result = capacity(SMALL, [1, 9], seeds=2, memories=3)
    rows = result.tables()["capacity"]
    assert len(rows) == 3 * 2 * 2
    last = rows[-1]
    assert (last["memory"], last["memory_size"], last["bindings"], last["seed"]) == ("Hadamard 12", 12, 9, 1)
    assert last["retrieved_filtered"] == result.curves[2].filtered[1, 1]
    assert last["retrieved_among_all"] == result.curves[2].among_all[1, 1]
