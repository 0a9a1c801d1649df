"""A vector for every entity that has facts, whether it was trained or not.

The rows of a model come first, then those of the unseen entities. An unseen entity's row is read off its own facts (see
`hmem.model.placing`) and is the same to the last bit however many others there are and whatever was added and removed
in between. The same is done for entities that a model lists but that were not trained. An entity whose facts lead to
unseen entities only is placed by the roles of these facts. Rows of entities without facts are zero, and marked as no
candidates.

Many entities are placed at once only as far as each ends up exactly where it would be placed alone. A row of a matrix
product is not the same, to the last bit, whatever other rows there are: libraries choose how to add by the shapes they
are given. So only looking up, weighting and superposing are done together, grouped so that no row is padded for the
sake of others. The last step, (M ⊕ 1) A, is done row by row as `hmem.model.placing.place` does it for one.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.knowledge.live_graph import BLOCK, LiveGraph
from hmem.memory.binding import CircularConvolution
from hmem.memory.superpose import Edges, superpose
from hmem.model.hmem import HMem
from hmem.model.index import LiveIndex
from hmem.model.placing import can_place_by_roles, place, place_by_roles
from hmem.model.vectors import Vectors

AT_ONCE = 512  # unseen entities that are placed together
MOST_BAGS = 8  # roles of an unseen entity; longer sums may be added in another order when there are many of them
ALIGNMENT = 16  # floats: every row starts where a tensor of its own would, since that too can change how sums are made


class LiveVectors:
    """A model's vectors, extended to the current facts of a live graph."""

    _rows: Float[Tensor, "capacity de"]
    _lengths: Float[Tensor, " capacity"]
    _placed: Bool[Tensor, " capacity"]

    @torch.inference_mode()
    def __init__(self, model: HMem, live: LiveGraph) -> None:
        self.model, self.live = model, live
        self._trained = model.embeddings()
        self._is_trained: Bool[np.ndarray, " E"] = model.is_trained.cpu().numpy()
        self._can_place_by_roles = can_place_by_roles(model)
        self._rows, self._placed = self._trained.entities, model.is_trained
        self._lengths = self._rows.square().sum(1)
        self._current: Vectors | None = None
        if not self._is_trained.all():
            self._make_room(live.num_trained)

    @torch.inference_mode()
    def current(self) -> Vectors:
        """The vectors of this moment; to be used before the graph changes again."""
        if self._current is not None and self.live.touched == set():
            return self._current
        width = self.live.width
        if width > len(self._rows):
            blocks = -(-(width - self.live.num_trained) // BLOCK)
            self._make_room(self.live.num_trained + BLOCK * (1 << (blocks - 1).bit_length()))
        stale = self._stale()
        for start in range(0, len(stale), AT_ONCE):
            self._update(stale[start : start + AT_ONCE])
        placed = None if width == self.live.num_trained and self._is_trained.all() else self._placed[:width]
        self._current = Vectors(self._rows[:width], self._trained.roles, placed, self._lengths[:width])
        return self._current

    def is_trained(self, entity: int) -> bool:
        """Whether training gave this entity its vector."""
        return entity < self.live.num_trained and bool(self._is_trained[entity])

    def is_placed(self, entity: int) -> bool:
        """Whether the entity has a vector at this moment."""
        vectors = self.current()
        if entity >= len(vectors.entities):
            return False
        return vectors.placed is None or bool(vectors.placed[entity])

    def _stale(self) -> list[int]:
        """The entities whose row must be read off their facts again; those that training placed never move."""
        touched, self.live.touched = self.live.touched, set()
        if touched is not None:
            return sorted(entity for entity in touched if entity < len(self._rows) and not self.is_trained(entity))
        self._rows[self.live.num_trained :] = 0
        self._lengths[self.live.num_trained :] = 0
        self._placed[self.live.num_trained :] = False
        return [*np.flatnonzero(~self._is_trained).tolist(), *self.live.unseen().tolist()]

    def _update(self, entities: list[int]) -> None:
        """Read the rows of these entities off their facts."""
        ids = torch.tensor(entities, device=self.model.device)
        edges = LiveIndex(self.live.graph, self.live.width, self.model.device, sure=self.live.confidences).lookup(ids)
        is_listed = edges.fillers < self.live.num_trained
        is_trained = self.model.is_trained.index_select(0, edges.fillers.clamp_max(self.live.num_trained - 1))
        near = edges.select(is_listed & is_trained)  # which lead to entities that training placed
        rows, placed = place_each(self.model, near, self._trained), near.degree > 0
        if self._can_place_by_roles:
            rows = torch.where(placed[:, None], rows, place_by_roles(self.model, edges))
            placed = edges.degree > 0
        self._rows[ids], self._placed[ids] = rows, placed
        self._lengths[ids] = torch.stack([row.sum() for row in rows.square()])

    def _make_room(self, capacity: int) -> None:
        """Rows for more unseen entities, all empty; made seldom, since twice as many blocks are made each time."""
        rows = self._trained.entities.new_zeros(capacity, self._trained.entities.shape[1])
        lengths, placed = rows.new_zeros(capacity), torch.zeros(capacity, dtype=torch.bool, device=rows.device)
        for new, old in ((rows, self._rows), (lengths, self._lengths), (placed, self._placed)):
            new[: len(old)] = old
        self._rows, self._lengths, self._placed = rows, lengths, placed


def place_each(model: HMem, edges: Edges, vectors: Vectors) -> Float[Tensor, "B de"]:
    """`place` of every query by itself, bit for bit, but quicker; zero for those without edges."""
    rows = vectors.entities.new_zeros(edges.num_queries, vectors.entities.shape[1])
    bags = torch.bincount(edges.bags.query, minlength=edges.num_queries)  # (B,)
    alone = isinstance(model.binding, CircularConvolution)  # Fourier transforms differ with their number
    together = torch.zeros_like(bags, dtype=torch.bool) if alone else bags <= MOST_BAGS
    for count in torch.unique(bags[together & (bags > 0)]).tolist():
        chosen = bags == count
        rows[chosen] = _place_alike(model, _of(edges, chosen), vectors)
    for query in (~together & (bags > 0)).nonzero().squeeze(1).tolist():
        begin, end = int(edges.starts[query]), int(edges.starts[query] + edges.degree[query])
        roles, fillers = edges.roles[begin:end].clone(), edges.fillers[begin:end].clone()
        confidence = None if edges.confidence is None else edges.confidence[begin:end].clone()
        rows[query] = place(model, Edges(roles, fillers, torch.zeros_like(roles), 1, confidence), vectors)[0]
    return rows


def _place_alike(model: HMem, edges: Edges, vectors: Vectors) -> Float[Tensor, "B de"]:
    """The same for queries that all have as many bags."""
    weights = edges.mean_weights(vectors.entities.dtype)  # (N,)
    memories = superpose(model.binding, edges, weights, vectors.roles, vectors.entities)  # (B, D)
    width = len(model.placing)  # D + 1
    aligned = memories.new_ones(len(memories), -(-width // ALIGNMENT) * ALIGNMENT)
    aligned[:, : width - 1] = memories
    placing = model.placing
    return torch.cat([row @ placing for row in torch.split(aligned[:, :width], 1)])


def _of(edges: Edges, chosen: Bool[Tensor, " B"]) -> Edges:
    """The edges of some of the queries, which are numbered anew."""
    number: Int[Tensor, " B"] = chosen.cumsum(0) - 1
    kept = chosen.index_select(0, edges.query)
    query = number.index_select(0, edges.query[kept])
    confidence = None if edges.confidence is None else edges.confidence[kept]
    return Edges(edges.roles[kept], edges.fillers[kept], query, int(chosen.sum()), confidence)
