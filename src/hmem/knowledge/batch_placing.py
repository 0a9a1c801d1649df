"""Many newcomers placed at once, each exactly where it would be placed alone.

A row of a matrix product is not the same, to the last bit, whatever other rows there are: libraries choose how to add
by the shapes they are given. So what is done together here is only what does not depend on that: looking up, weighting
and superposing, grouped so that nobody is padded for the sake of others. The last step, (M ⊕ 1) A, is done row by row
as `hmem.model.placing.place` does it for one.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.memory.binding import CircularConvolution
from hmem.memory.superpose import Edges, superpose
from hmem.model.hmem import HMem
from hmem.model.placing import place
from hmem.model.vectors import Vectors

MOST_BAGS = 8  # roles of a newcomer; longer sums may be added in another order when there are many of them
ALIGNMENT = 16  # floats: every row starts where a tensor of its own would, since that too can change how sums are made


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
        rows[query] = place(model, Edges(roles, fillers, torch.zeros_like(roles), 1), vectors)[0]
    return rows


def _place_alike(model: HMem, edges: Edges, vectors: Vectors) -> Float[Tensor, "B de"]:
    """The same for queries that all have as many bags."""
    weights = 1 / edges.degree.to(vectors.entities.dtype).index_select(0, edges.query)  # (N,)
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
    return Edges(edges.roles[kept], edges.fillers[kept], query, int(chosen.sum()))
