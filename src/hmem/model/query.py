"""A batch of questions, and what must not be looked up while answering them."""

import hashlib
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.memory.superpose import Edges
from hmem.model.index import Index

NO_TARGET = -1  # as a target: nothing is withheld


@dataclass(frozen=True, eq=False, slots=True)
class Query:
    """Which fillers stand in `role` of `entity`? With a `target`, the fact that gives this answer is withheld."""

    entity: Int[Tensor, " B"]
    role: Int[Tensor, " B"]
    target: Int[Tensor, " B"] | None = None

    def __len__(self) -> int:
        return len(self.entity)

    def part(self, rows: slice) -> "Query":
        """Some of the questions."""
        return Query(self.entity[rows], self.role[rows], None if self.target is None else self.target[rows])


def seed_for(purpose: str, *numbers: int) -> int:
    """A seed of its own for every purpose and place. A CPU's generator reads only the lowest 32 bits of a seed, so each
    of them depends on everything."""
    return int.from_bytes(hashlib.sha256(repr((purpose, *numbers)).encode()).digest()[:8], "big")


class Noise:
    """The random choices of one training step; the same seed and step give the same choices after a restart.

    A batch may be answered in parts, here or by several processes: with `batch` and the `rows` of it that are asked,
    each question has the choices that it would have if all were asked at once.
    """

    graph: Index | None = None  # in which the batch has its numbers, if it is not the one that is asked

    def __init__(
        self, seed: int, step: int, device: torch.device, batch: Query | None = None, rows: slice = slice(None)
    ) -> None:
        self.generator = torch.Generator(device).manual_seed(seed_for("noise", seed, step))
        self.device = device
        self.batch, self.rows = batch, rows
        self._links_seed = seed_for("links", seed, step)

    def chosen(self, count: int, share: float) -> Bool[Tensor, " n"]:
        """True for each of `count` things with probability `share`, whichever questions are asked."""
        return torch.rand(count, generator=self.generator, device=self.device) < share

    def chosen_questions(self, count: int, share: float) -> Bool[Tensor, " B"]:
        """True for each of the `count` questions with probability `share`."""
        return self.chosen(self._questions(count), share)[self.rows]

    def chosen_edges(self, query: Query, edges: Edges, graph: Index, share: float) -> Bool[Tensor, " N"]:
        """True for each edge of the asked entities with probability `share`."""
        if self.batch is None or len(self.batch) == len(query):
            return self.chosen(len(edges.query), share)
        is_asked = torch.zeros(len(self.batch), dtype=torch.bool, device=self.device)
        is_asked[self.rows] = True
        of = (self.graph or graph).lookup(self.batch.entity).query
        return self.chosen(len(of), share)[is_asked[of]]

    def unlinked(self, count: int, share: float) -> Bool[Tensor, " B"]:
        """The questions whose links are withheld; the same whenever it is asked."""
        return self.unlinked_of_batch(self._questions(count), share)[self.rows]

    def unlinked_of_batch(self, count: int, share: float) -> Bool[Tensor, " all"]:
        """The same of a whole batch of `count` questions."""
        generator = torch.Generator(self.device).manual_seed(self._links_seed)
        return torch.rand(count, generator=generator, device=self.device) < share

    def dropout(self, values: Float[Tensor, "*shape"], share: float) -> Float[Tensor, "*shape"]:
        """Values with a share of them zeroed and the rest scaled up to keep the mean."""
        if share == 0:
            return values
        shape = (self._questions(len(values)), *values.shape[1:])
        kept = torch.rand(shape, generator=self.generator, device=self.device)[self.rows] >= share
        return values * kept / (1 - share)

    def _questions(self, count: int) -> int:
        return count if self.batch is None else len(self.batch)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """What one training step leaves out at random, so that the model does not lean on it."""

    noise: Noise
    memory: float = 0.0  # coordinates of the completed memory
    retrieved: float = 0.0  # coordinates of the retrieved vector
    neighbor: float = 0.0  # whole edges
    identity: float = 0.0  # the vector of the asked entity
    link: float = 0.0  # every edge between the two entities, not only the asked fact


KEEP_ALL = Drop(noise=Noise(0, 0, torch.device("cpu")))


def other_answers(query: Query, edges: Edges) -> tuple[Int[Tensor, " K"], Int[Tensor, " K"]]:
    """The answers besides the target that the facts give to each query, as (row, filler), sorted by both."""
    given = edges.roles == query.role.index_select(0, edges.query)
    if query.target is not None:
        given = given & (edges.fillers != query.target.index_select(0, edges.query))
    place = given.nonzero().squeeze(1)
    return edges.query.index_select(0, place), edges.fillers.index_select(0, place)


def is_stored_answer(
    query: Query, edges: Edges, row: Int[Tensor, " n"], filler: Int[Tensor, " n"]
) -> Bool[Tensor, " n"]:
    """Whether each filler is an answer to its query that is stored, and not the target."""
    stored_row, stored_filler = other_answers(query, edges)
    if len(stored_row) == 0:
        return torch.zeros_like(row, dtype=torch.bool)
    width = 1 << 32  # more than there are entities
    stored, cell = stored_row * width + stored_filler, row * width + filler  # `stored` is sorted, as the edges are
    place = torch.searchsorted(stored, cell).clamp_max(len(stored) - 1)
    return stored.index_select(0, place) == cell


def withheld(query: Query, edges: Edges, num_relations: int) -> Bool[Tensor, " N"]:
    """The edges that state the asked fact. The mirrored edge lies in the other entity's memory, except for a fact about
    an entity and itself, whose two edges both lie here."""
    assert query.target is not None
    role = query.role.index_select(0, edges.query)
    target = query.target.index_select(0, edges.query)
    entity = query.entity.index_select(0, edges.query)
    states_it = (edges.roles == role) | ((edges.roles == mirrored(role, num_relations)) & (target == entity))
    return states_it & (edges.fillers == target)


def mirrored(roles: Int[Tensor, " n"], num_relations: int) -> Int[Tensor, " n"]:
    """The roles that the same facts have for their other entity."""
    return torch.where(roles < num_relations, roles + num_relations, roles - num_relations)


def unavailable(query: Query, edges: Edges, num_relations: int, drop: Drop) -> Bool[Tensor, " N"]:
    """The edges that this question must be answered without."""
    if query.target is None:
        return torch.zeros_like(edges.query, dtype=torch.bool)
    absent = withheld(query, edges, num_relations)
    if drop.link > 0:
        unlinked = drop.noise.unlinked(len(query), drop.link).index_select(0, edges.query)  # (N,)
        absent = absent | (unlinked & (edges.fillers == query.target.index_select(0, edges.query)))
    return absent
