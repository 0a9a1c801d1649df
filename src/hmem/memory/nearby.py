"""A part of a large graph that is worth looking at for one question: the entities that walks from the asked one visit.

A walk starts at the asked entity, goes on along a random edge of each entity it comes to, and after each step ends with
probability `END`. Where it ends is the personalized PageRank of the asked entity. It is computed by pushing: an entity
keeps a part of the probability that has come to it and hands on the rest, but only while that is enough for all of its
edges. So the work does not grow with the graph: at most `most_edges` edges are looked at.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.memory.links import Links

END = 0.15  # as PageRank is usually computed


@dataclass(frozen=True, eq=False, slots=True)
class Nearby:
    """Some entities of a graph and all edges between them; degrees are those of the whole graph."""

    nodes: Int[Tensor, " n"]  # in order
    links: Links  # numbered by the places of their ends among `nodes`

    @classmethod
    def whole(cls, links: Links) -> "Nearby":
        """All of a graph."""
        return cls(torch.arange(links.num_entities, device=links.source.device), links)

    @classmethod
    def of(cls, links: Links, nodes: Int[Tensor, " n"]) -> "Nearby":
        """The part of a graph that the given entities are, in order."""
        return cls(nodes, links.part(nodes))

    def places(self, entities: Int[Tensor, " m"]) -> Int[Tensor, " m"]:
        """Where the entities are among the nodes; −1 for those that are not."""
        place = torch.searchsorted(self.nodes, entities.contiguous()).clamp_max(len(self.nodes) - 1)
        return torch.where(self.nodes[place] == entities, place, -1)


def most_visited(
    links: Links, entity: Int[Tensor, ""], steps: int, most_entities: int, most_edges: int
) -> Int[Tensor, " n"]:
    """The entities where walks from the given one end most often, in order of their numbers; it is among them.

    Together they have at most `most_edges` edges.
    """
    nodes, visits = visits_from(links, entity, steps, most_edges)
    order = visits.argsort(descending=True, stable=True)[:most_entities]
    best = nodes[order[visits[order] > 0]]
    fits = links.degree.view(len(links.degree), -1)[best, 0].cumsum(0) <= most_edges
    near: Tensor = torch.unique(torch.cat([best[fits], entity[None]]))
    return near


def visits_from(
    links: Links, entity: Int[Tensor, ""], steps: int, most_edges: int
) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"]]:
    """Entities in order, and the probability that a walk of so many steps at most ends at each, if none has many more
    edges; at all others that is zero."""
    degree = links.degree.view(len(links.degree), -1)[:, 0]
    least = 1 / (END * max(1, most_edges))  # for each edge: an entity with d edges hands on d times as much, or nothing
    ended, here = torch.zeros_like(degree), torch.zeros_like(degree)  # of which few pages are ever written to
    here[entity] = 1.0
    handing_on, reached = entity[None], [entity[None]]
    for _ in range(steps):
        handing_on = handing_on[degree[handing_on] > 0]
        if not len(handing_on):
            break
        edges, mass = links.edges_into(handing_on), here[handing_on]
        ended[handing_on] += END * mass
        here[handing_on] = 0.0
        handed = ((1 - END) * mass / degree[handing_on])[edges.row]
        here.index_add_(0, edges.source, handed if edges.weight is None else handed * edges.weight)
        reached.append(torch.unique(edges.source))
        near = reached[-1]
        handing_on = near[here[near] > least * degree[near]]
    nodes = torch.unique(torch.cat(reached))
    return nodes, ended[nodes] + here[nodes]
