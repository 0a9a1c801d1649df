"""A vector for an unseen entity, read off its own facts.

Training gives a vector to every entity it meets. An unseen entity, which came later, has facts but no vector: it could
be asked about but would never be an answer. Its memory says where the vector should be: for the trained entities the
best linear map from memory to vector is found once, when training ends,

    A = argmin Σ_i ‖(M_i ⊕ 1) A − e_i‖² + κ s ‖A‖²      M_i = the mean of bind(r_c, e_c) over the edges of i
                                                        s = Σ_i ‖M_i‖²/D

and an unseen entity x is placed at (M_x ⊕ 1) A. Unseen entities usually have a few facts only, so most M_i of the fit
are made of a few edges of their entity, drawn at random.

An entity all of whose neighbors are unseen has no memory to be placed by. The roles it plays still tell its kind: a
second map, found in the same way, takes how often it plays each role, n_xr, to its vector,

    e_x = Σ_r log(1 + n_xr) k_r         K = argmin Σ_i ‖Σ_r log(1 + n_ir) k_r − e_i‖² + κ s ‖K‖²
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.memory.superpose import Edges, superpose
from hmem.model.hmem import HMem
from hmem.model.index import Index
from hmem.model.query import seed_for
from hmem.model.vectors import Vectors

MOST_ENTITIES = 20_000  # that the fit looks at; more change the map little
BATCH = 1_000
FEW = (1, 2, 4, 1 << 30)  # how many edges of an entity are taken, each as often as the others
RIDGE = 0.1  # κ
MOST_ROLES = 8_192  # for which the second map is sought: it takes a matrix of roles by roles


def place(model: HMem, edges: Edges, vectors: Vectors) -> Float[Tensor, "B de"]:
    """The vectors of entities with these edges, whose fillers must all be trained. Without edges it is the mean."""
    return _memories(model, edges, vectors) @ model.placing


def place_by_roles(model: HMem, edges: Edges) -> Float[Tensor, "B de"]:
    """The vectors of entities with these edges, by their roles alone; zero for an entity without edges."""
    bags = edges.bags
    counts = torch.bincount(bags.of_edge, edges.confidence, minlength=len(bags.roles))  # (P,) n_xr
    terms = counts.to(model.kinds.dtype).log1p()[:, None] * model.kinds.index_select(0, bags.roles)  # (P, de)
    return terms.new_zeros(edges.num_queries, terms.shape[1]).index_add(0, bags.query, terms)


def can_place_by_roles(model: HMem) -> bool:
    """Whether the model has the second map; not with a great many roles, or if an older version made it."""
    return bool(model.kinds.any())


@torch.inference_mode()
def place_all(model: HMem, graph: Index) -> Vectors:
    """A vector for every entity of a graph: the trained one, or for an unseen entity the one that its facts give.

    An entity without facts has none, and is no candidate of the dense channel; the exact channels need no vectors.
    """
    vectors = model.embeddings()
    rows, placed = vectors.entities.clone(), model.is_trained.clone()
    for some, found, is_placed in unseen_vectors(model, graph, model.is_trained, vectors):
        rows[some], placed[some] = found, is_placed
    rows[~placed] = 0
    return Vectors(rows, vectors.roles, placed, rows.square().sum(1))


def unseen_vectors(
    model: HMem, graph: Index, is_trained: Bool[Tensor, " E"], vectors: Vectors
) -> Iterator[tuple[Int[Tensor, " B"], Float[Tensor, "B de"], Bool[Tensor, " B"]]]:
    """The entities that are not trained, some at a time, with their vectors and whether their facts give them one."""
    for some in torch.split((~is_trained).nonzero().squeeze(1), BATCH):
        edges = graph.lookup(some)
        near = edges.select(is_trained.index_select(0, edges.fillers))
        has_near = near.degree > 0
        rows = torch.where(has_near[:, None], place(model, near, vectors), place_by_roles(model, edges))
        yield some, rows, (edges.degree > 0) if can_place_by_roles(model) else has_near


@torch.inference_mode()
def fit_placing(model: HMem, graph: Index, seed: int = 0) -> None:
    """Find the maps A and K for a trained model and the graph it was trained on."""
    vectors = model.embeddings()
    trained = model.is_trained.nonzero().squeeze(1)
    generator = torch.Generator().manual_seed(seed_for("placing", seed))
    sample = trained[torch.randperm(len(trained), generator=generator)[:MOST_ENTITIES].to(trained.device)]
    by_memory = Squares(model.placing)
    by_roles = Squares(model.kinds) if len(model.kinds) <= MOST_ROLES else None
    for entities in torch.split(sample, BATCH):
        edges, rows = graph.lookup(entities), vectors.entities.index_select(0, entities)
        by_memory.add(_memories(model, _some_edges(edges, generator), vectors), rows)
        if by_roles is not None:
            by_roles.add(_parts_played(edges, model.kinds), rows)
    model.placing.copy_(by_memory.solution(free=1))  # the mean is not shrunk
    if by_roles is not None:
        model.kinds.copy_(by_roles.solution())


class Squares:
    """Least squares with a ridge, gathered batch by batch."""

    def __init__(self, like: Float[Tensor, "F de"]) -> None:
        self.squares, self.products = like.new_zeros(len(like), len(like)), torch.zeros_like(like)

    def add(self, features: Float[Tensor, "B F"], wanted: Float[Tensor, "B de"]) -> None:
        self.squares += features.mT @ features
        self.products += features.mT @ wanted

    def solution(self, free: int = 0) -> Float[Tensor, "F de"]:
        """The map from features to what is wanted; the last `free` features are not shrunk."""
        shrunk = len(self.squares) - free
        penalty = torch.full_like(self.squares.diagonal(), 1e-6)
        if shrunk:
            penalty[:shrunk] += RIDGE * self.squares.diagonal()[:shrunk].mean()
        solved: Tensor = torch.linalg.solve(self.squares + penalty.diag(), self.products)
        return solved


def _memories(model: HMem, edges: Edges, vectors: Vectors) -> Float[Tensor, "B D1"]:
    """M ⊕ 1, with M the mean of the bindings."""
    weights = edges.mean_weights(vectors.entities.dtype)  # (N,)
    memories = superpose(model.binding, edges, weights, vectors.roles, vectors.entities)  # (B, D)
    return torch.cat([memories, torch.ones_like(memories[:, :1])], dim=1)


def _parts_played(edges: Edges, kinds: Float[Tensor, "roles de"]) -> Float[Tensor, "B roles"]:
    """log(1 + n_ir), how often each entity plays each role."""
    cells = edges.query * len(kinds) + edges.roles
    counts = torch.bincount(cells, minlength=edges.num_queries * len(kinds))
    return counts.view(edges.num_queries, len(kinds)).to(kinds.dtype).log1p()


def _some_edges(edges: Edges, generator: torch.Generator) -> Edges:
    """At most 1, 2, 4 or all edges of each query, drawn at random."""
    limits = torch.tensor(FEW)[torch.randint(len(FEW), (edges.num_queries,), generator=generator)]
    shuffled = torch.rand(len(edges.query), generator=generator).to(edges.query.device)
    place = _rank_within(edges, shuffled)
    return edges.select(place < limits.to(place.device).index_select(0, edges.query))


def _rank_within(edges: Edges, values: Float[Tensor, " N"]) -> Int[Tensor, " N"]:
    """The place, from 0, of each edge among those of its query when sorted by `values` in [0, 1)."""
    order = torch.argsort(edges.query.double() + values.double())  # queries stay apart: values are below 1
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    return place - edges.starts.index_select(0, edges.query)
