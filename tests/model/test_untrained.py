"""Graphs stored over random vectors and read back."""

import numpy as np
import pytest
import torch

from hmem.config import MemoryConfig
from hmem.graph.neighborhoods import Neighborhoods
from hmem.model.index import FrozenIndex
from hmem.model.untrained import UntrainedMemory, random_vectors

ENTITIES, RELATIONS = 200, 5
CPU = torch.device("cpu")


def configuration(binding: str, dim: int = 128) -> MemoryConfig:
    return MemoryConfig(binding=binding, entity_dim=dim, relation_dim=16 if binding == "tpr" else dim)  # type: ignore[arg-type]


def exact_share(binding: str, degree: int) -> float:
    """How many of an entity's links come back first, when it has `degree` of them."""
    generator = np.random.default_rng(0)
    fillers = generator.permutation(np.arange(1, ENTITIES))[:degree]
    relations = generator.integers(0, RELATIONS, degree)
    triples = np.stack([np.zeros(degree, dtype=np.int32), relations, fillers], axis=1).astype(np.int32)
    graph = Neighborhoods.build(triples, ENTITIES, RELATIONS)
    memory = UntrainedMemory(configuration(binding), ENTITIES, RELATIONS, FrozenIndex(graph))
    found = 0
    for relation, filler in zip(relations.tolist(), fillers.tolist(), strict=True):
        role = relation + RELATIONS
        scores = memory.score(torch.tensor([0]), torch.tensor([role]))[0]
        others = [x for x in graph.answers(0, role).tolist() if x != filler]
        scores[others] = -torch.inf
        found += int(scores.argmax()) == filler
    return found / degree


@pytest.mark.parametrize("binding", ["tpr", "cconv", "hadamard"])
def test_few_links_come_back_exactly(binding: str) -> None:
    assert exact_share(binding, 3) == 1.0


@pytest.mark.parametrize("binding", ["tpr", "cconv", "hadamard"])
def test_many_links_drown_each_other(binding: str) -> None:
    assert exact_share(binding, 150) < 0.9


def test_a_single_link_of_tensor_products_is_undone_exactly() -> None:
    graph = Neighborhoods.build(np.array([[0, 2, 7]], dtype=np.int32), ENTITIES, RELATIONS)
    memory = UntrainedMemory(configuration("tpr"), ENTITIES, RELATIONS, FrozenIndex(graph))
    scores = memory.score(torch.tensor([0]), torch.tensor([2 + RELATIONS]))[0]
    assert float(scores[7]) == pytest.approx(1.0, abs=1e-5)
    assert scores.argmax() == 7


def test_the_seed_decides_the_vectors() -> None:
    first, again, other = (random_vectors(configuration("cconv"), ENTITIES, RELATIONS, seed, CPU) for seed in (0, 0, 1))
    assert torch.equal(first.entities, again.entities)
    assert torch.equal(first.roles, again.roles)
    assert not torch.equal(first.roles, other.roles)


def test_hadamard_roles_are_signs_that_undo_themselves() -> None:
    roles = random_vectors(configuration("hadamard"), ENTITIES, RELATIONS, 0, CPU).roles
    assert torch.equal(roles.abs(), torch.ones_like(roles))
