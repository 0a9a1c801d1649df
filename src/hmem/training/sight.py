"""The entities that matter to some questions, as a small graph of their own: a model for them needs no other vectors.

They are numbered anew, in the same order, so that nothing else about the questions, their edges and walks changes.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.memory.links import Links
from hmem.memory.superpose import Edges
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex, Index
from hmem.model.query import Drop, Query, unavailable


class Noted:
    """A graph that notes which entities were seen in it."""

    def __init__(self, graph: Index) -> None:
        self.graph, self.device = graph, graph.device
        self.seen: list[Tensor] = []

    def links(self) -> Links:
        return self.graph.links()

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges:
        edges = self.graph.lookup(entities)
        self.seen += [entities, edges.fillers]
        return edges

    def follow(
        self, entities: Int[Tensor, " n"], roles: Int[Tensor, " n"], most: Int[Tensor, " n"]
    ) -> tuple[Int[Tensor, " P"], Int[Tensor, " P"]]:
        source, reached = self.graph.follow(entities, roles, most)
        self.seen.append(reached)
        return source, reached

    def confidence(
        self, owners: Int[Tensor, " n"], roles: Int[Tensor, " n"], fillers: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"] | None:
        return self.graph.confidence(owners, roles, fillers)


@dataclass(frozen=True, eq=False)
class Sight:
    """The graph in which only `entities` are there, which are sorted; where each stands among them is its number."""

    graph: Index
    entities: Int[Tensor, " n"]

    @property
    def device(self) -> torch.device:
        return self.graph.device

    def numbers(self, entities: Int[Tensor, "*m"]) -> Int[Tensor, "*m"]:
        return torch.searchsorted(self.entities, entities.contiguous())  # questions are shared out one by one

    def query(self, query: Query) -> Query:
        """The same questions; all they are about is in sight."""
        target = None if query.target is None else self.numbers(query.target)
        return Query(self.numbers(query.entity), query.role, target)

    def links(self) -> Links:
        raise NotImplementedError("only propagation goes through all edges")

    def lookup(self, entities: Int[Tensor, " B"]) -> Edges:
        edges = self.graph.lookup(self.entities.index_select(0, entities))
        return replace(edges, fillers=self.numbers(edges.fillers))

    def follow(
        self, entities: Int[Tensor, " n"], roles: Int[Tensor, " n"], most: Int[Tensor, " n"]
    ) -> tuple[Int[Tensor, " P"], Int[Tensor, " P"]]:
        source, reached = self.graph.follow(self.entities.index_select(0, entities), roles, most)
        return source, self.numbers(reached)

    def confidence(
        self, owners: Int[Tensor, " n"], roles: Int[Tensor, " n"], fillers: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"] | None:
        owners, fillers = (self.entities.index_select(0, each) for each in (owners, fillers))
        return self.graph.confidence(owners, roles, fillers)


def sight_of(model: HMem, query: Query, graph: FrozenIndex, drop: Drop, others: Int[Tensor, " m"]) -> Sight:
    """What a model looks at to answer some questions, and `others`."""
    noted = Noted(graph)
    edges = noted.lookup(query.entity)
    if model.paths is not None:
        model.paths.follow(query, edges, unavailable(query, edges, model.num_relations, drop), noted)
    return Sight(graph, torch.unique(torch.cat([*noted.seen, others])))
