"""A vector for everybody who has facts, whether training met them or not.

The rows of a model come first, then those of the newcomers. A newcomer's row is read off its own facts (see
`hmem.model.placing`) and is the same to the last bit however many others there are and whatever was added and removed
in between; many are placed at once only as far as that holds (see `hmem.knowledge.batch_placing`). The same is done for
entities that a model lists but never met in training. Who has facts with none but newcomers is placed by the roles of
these facts. Rows of entities without facts are zero, and marked as no candidates.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.knowledge.batch_placing import place_each
from hmem.knowledge.live_graph import BLOCK, LiveGraph
from hmem.memory.superpose import Edges
from hmem.model.hmem import HMem
from hmem.model.index import LiveIndex
from hmem.model.placing import can_place_by_roles, place, place_by_roles
from hmem.model.vectors import Vectors

MANY = 16  # newcomers from which on it pays to place them together
AT_ONCE = 512


class LiveVectors:
    """A model's vectors, extended to the current facts of a live graph."""

    _rows: Float[Tensor, "capacity de"]
    _lengths: Float[Tensor, " capacity"]
    _placed: Bool[Tensor, " capacity"]

    @torch.inference_mode()
    def __init__(self, model: HMem, live: LiveGraph) -> None:
        self.model, self.live = model, live
        self._trained = model.embeddings()
        self._is_known: Bool[np.ndarray, " E"] = model.is_trained.cpu().numpy()
        self._can_place_by_roles = can_place_by_roles(model)
        self._rows, self._placed = self._trained.entities, model.is_trained
        self._lengths = self._rows.square().sum(1)
        if not self._is_known.all():
            self._make_room(live.num_trained)

    @torch.inference_mode()
    def current(self) -> Vectors:
        """The vectors of this moment; to be used before the graph changes again."""
        width = self.live.width
        if width > len(self._rows):
            blocks = -(-(width - self.live.num_trained) // BLOCK)
            self._make_room(self.live.num_trained + BLOCK * (1 << (blocks - 1).bit_length()))
        stale = self._stale()
        if len(stale) < MANY:
            for entity in stale:
                self._update(entity)
        else:
            for start in range(0, len(stale), AT_ONCE):
                self._update_many(stale[start : start + AT_ONCE])
        placed = None if width == self.live.num_trained and self._is_known.all() else self._placed[:width]
        return Vectors(self._rows[:width], self._trained.roles, placed, self._lengths[:width])

    def has_trained(self, entity: int) -> bool:
        """Whether training gave this entity its vector."""
        return entity < self.live.num_trained and bool(self._is_known[entity])

    def is_placed(self, entity: int) -> bool:
        """Whether the entity has a vector at this moment."""
        vectors = self.current()
        if entity >= len(vectors.entities):
            return False
        return vectors.placed is None or bool(vectors.placed[entity])

    def _stale(self) -> list[int]:
        """The entities whose row must be read off their facts again; those that training placed never move."""
        touched = self.live.take_touched()
        if touched is not None:
            return sorted(entity for entity in touched if entity < len(self._rows) and not self.has_trained(entity))
        self._rows[self.live.num_trained :] = 0
        self._lengths[self.live.num_trained :] = 0
        self._placed[self.live.num_trained :] = False
        return [*np.flatnonzero(~self._is_known).tolist(), *self.live.newcomers().tolist()]

    def _update(self, entity: int) -> None:
        vector = self._place(entity) if self.live.has_facts(entity) else None
        self._placed[entity] = vector is not None
        if vector is None:
            self._rows[entity].zero_()
        else:
            self._rows[entity] = vector
        self._lengths[entity] = self._rows[entity].square().sum()

    def _update_many(self, entities: list[int]) -> None:
        """The same for many, some ten times quicker for each."""
        ids = torch.tensor(entities, device=self.model.device)
        edges = self._edges(ids)
        near = self._near(edges)
        rows, placed = place_each(self.model, near, self._trained), near.degree > 0
        if self._can_place_by_roles:
            rows = torch.where(placed[:, None], rows, place_by_roles(self.model, edges))
            placed = edges.degree > 0
        self._rows[ids], self._placed[ids] = rows, placed
        self._lengths[ids] = torch.stack([row.sum() for row in rows.square()])

    def _place(self, entity: int) -> Float[Tensor, " de"] | None:
        """Where the entity's facts put it; None if they cannot."""
        edges = self._edges(torch.tensor([entity], device=self.model.device))
        near = self._near(edges)
        if len(near.query):
            return place(self.model, near, self._trained)[0]
        return place_by_roles(self.model, edges)[0] if self._can_place_by_roles and len(edges.query) else None

    def _edges(self, entities: Int[Tensor, " B"]) -> Edges:
        return LiveIndex(self.live.graph, self.live.width, self.model.device).lookup(entities)

    def _near(self, edges: Edges) -> Edges:
        """The edges that lead to somebody whom training placed."""
        is_trained = edges.fillers < self.live.num_trained
        known = self.model.is_trained.index_select(0, edges.fillers.clamp_max(self.live.num_trained - 1))
        return edges.select(is_trained & known)

    def _make_room(self, capacity: int) -> None:
        """Rows for more newcomers, all empty; made seldom, since twice as many blocks are made each time."""
        rows = self._trained.entities.new_zeros(capacity, self._trained.entities.shape[1])
        lengths, placed = rows.new_zeros(capacity), torch.zeros(capacity, dtype=torch.bool, device=rows.device)
        for new, old in ((rows, self._rows), (lengths, self._lengths), (placed, self._placed)):
            new[: len(old)] = old
        self._rows, self._lengths, self._placed = rows, lengths, placed
