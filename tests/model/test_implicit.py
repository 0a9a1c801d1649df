import pytest
import torch
from jaxtyping import Int
from torch import Tensor

from hmem.memory.links import Links
from hmem.memory.superpose import Edges
from hmem.model.implicit import ImplicitMemory
from hmem.model.query import Query
from hmem.model.vectors import Vectors
from tests.model.problems import ENTITIES, RELATIONS, ask, index_of, looped_scores, random_facts, random_model, small

every_implicit = pytest.mark.parametrize("name", ["tpr-im", "cconv-im"])


class NoGraph:
    device = torch.device("cpu")

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges:
        raise AssertionError("an implicit memory looked facts up")

    def follow(self, entities: Tensor, roles: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        raise AssertionError("an implicit memory followed a path")

    def confidence(self, owners: Tensor, roles: Tensor, fillers: Tensor) -> None:
        raise AssertionError("an implicit memory asked how sure facts are")

    def links(self) -> Links:
        raise AssertionError("an implicit memory passed messages")


def assembled(memory: ImplicitMemory, query: Query) -> Tensor:
    vectors = Vectors(torch.zeros(ENTITIES, 6), torch.zeros(2 * RELATIONS, 4))
    weighted = memory.attend(query, NoGraph(), vectors.entities[query.entity], vectors)
    assert not len(weighted.weights)
    assert weighted.load.tolist() == [0] * len(query)
    return memory.assemble(query, weighted, vectors).state


@every_implicit
def test_a_memory_is_the_row_of_its_entity(name: str) -> None:
    memory = ImplicitMemory(small(name).memory, ENTITIES)
    assert torch.equal(assembled(memory, ask((3, 0), (0, 1), (3, 2))), memory.state[[3, 0, 3]])
    assert memory.state.shape == (ENTITIES, 24 if name == "tpr-im" else 6)


@every_implicit
def test_facts_change_nothing(name: str) -> None:
    model = random_model(small(name).memory, 0)
    query = ask((3, 0), (0, 5), (8, 2))
    scores = model(query, NoGraph())
    assert torch.equal(scores, model(query, index_of(random_facts(0))))
    for row, (entity, role) in enumerate([(3, 0), (0, 5), (8, 2)]):
        torch.testing.assert_close(scores[row], looped_scores(model, [], entity, role), rtol=0, atol=1e-9)


def test_only_the_asked_memories_learn() -> None:
    memory = ImplicitMemory(small("tpr-im").memory, ENTITIES)
    assembled(memory, ask((3, 0), (0, 1))).sum().backward()  # type: ignore[no-untyped-call]
    assert memory.state.grad is not None
    assert memory.state.grad.abs().sum(1).nonzero().squeeze(1).tolist() == [0, 3]


def test_memories_start_with_norm_near_one() -> None:
    memory = ImplicitMemory(small("tpr-im", memory={"entity_dim": 40, "relation_dim": 20}).memory, 50)
    assert 0.9 < memory.state.norm(dim=1).mean() < 1.1
