"""A vector for an entity that came after training, read off its own facts.

Training gives a vector to every entity it meets. A later one has facts but no vector, so it could be asked about but
would never be an answer. Its memory says where the vector should be: for the entities that do have one, the best
linear map from memory to vector is found once, when training ends,

    A = argmin Σ_i ‖(M_i ⊕ 1) A − e_i‖² + κ s ‖A‖²      M_i = the mean of bind(r_c, e_c) over the edges of i
                                                        s = Σ_i ‖M_i‖²/D

and a newcomer x stands at (M_x ⊕ 1) A. Newcomers usually have a few facts only, so most M_i of the fit are made of a
few edges of their entity, drawn at random.
"""

import torch
from jaxtyping import Float, Int
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


def place(model: HMem, edges: Edges, vectors: Vectors) -> Float[Tensor, "B de"]:
    """Where entities with these edges would stand; all fillers must have a vector. Without edges it is the mean."""
    return _memories(model, edges, vectors) @ model.placing


@torch.inference_mode()
def everybody(model: HMem, graph: Index) -> Vectors:
    """A vector for everybody in a graph: as trained where the model knows them, elsewhere where their facts put them.

    Who has no fact with anybody the model knows has none, and is no candidate of the dense channel; the exact channels
    need no vectors.
    """
    vectors = model.embeddings()
    rows, placed = vectors.entities.clone(), model.is_known.clone()
    for some in torch.split((~model.is_known).nonzero().squeeze(1), BATCH):
        edges = graph.lookup(some)
        edges = edges.select(model.is_known.index_select(0, edges.fillers))
        rows[some], placed[some] = place(model, edges, vectors), edges.degree > 0
    rows[~placed] = 0
    return Vectors(rows, vectors.roles, placed, rows.square().sum(1))


@torch.inference_mode()
def fit_placing(model: HMem, graph: Index, seed: int = 0) -> None:
    """Find the map A for a trained model and the graph it was trained on."""
    vectors = model.embeddings()
    known = model.is_known.nonzero().squeeze(1)
    generator = torch.Generator().manual_seed(seed_for("placing", seed))
    sample = known[torch.randperm(len(known), generator=generator)[:MOST_ENTITIES].to(known.device)]
    width = len(model.placing)
    squares, products = vectors.entities.new_zeros(width, width), torch.zeros_like(model.placing)
    for entities in torch.split(sample, BATCH):
        memories = _memories(model, _some_edges(graph.lookup(entities), generator), vectors)  # (B, D + 1)
        squares += memories.mT @ memories
        products += memories.mT @ vectors.entities.index_select(0, entities)
    ridge = RIDGE * squares.diagonal()[:-1].mean() if width > 1 else squares.new_zeros(())
    penalty = torch.full_like(squares.diagonal(), float(ridge) + 1e-6)
    penalty[-1] = 1e-6  # the mean is not shrunk
    model.placing.copy_(torch.linalg.solve(squares + penalty.diag(), products))


def _memories(model: HMem, edges: Edges, vectors: Vectors) -> Float[Tensor, "B D1"]:
    """M ⊕ 1, with M the mean of the bindings."""
    weights = 1 / edges.degree.clamp_min(1).to(vectors.entities.dtype).index_select(0, edges.query)  # (N,)
    memories = superpose(model.binding, edges, weights, vectors.roles, vectors.entities)  # (B, D)
    return torch.cat([memories, torch.ones_like(memories[:, :1])], dim=1)


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
