"""Slow, obvious versions of what hmem does cleverly. The fast paths are defined by these.

Loops over plain Python numbers wherever that is clearer; no batching, no tricks.
"""

import torch
from torch import Tensor

# Binding


def circulant(vector: Tensor) -> Tensor:
    """The matrix C with C x = vector ⊛ x."""
    size = len(vector)
    return torch.stack([torch.stack([vector[(i - j) % size] for j in range(size)]) for i in range(size)])


def bind(name: str, role: Tensor, filler: Tensor) -> Tensor:
    """One role and one filler."""
    if name == "tpr":
        return torch.stack([r * e for r in role for e in filler])
    if name == "cconv":
        return circulant(role) @ filler
    return torch.stack([r * e for r, e in zip(role, filler, strict=True)])


def unbind(name: str, role: Tensor, memory: Tensor) -> Tensor:
    """One role and one memory."""
    if name == "tpr":
        filler_dim = len(memory) // len(role)
        rows = [memory[k * filler_dim : (k + 1) * filler_dim] for k in range(len(role))]
        return sum((r * row for r, row in zip(role, rows, strict=True)), start=torch.zeros_like(rows[0]))
    if name == "cconv":
        return circulant(role).T @ memory
    return torch.stack([r * m for r, m in zip(role, memory, strict=True)])


# Superposition


def superpose_looped(
    name: str, edges: list[tuple[int, int, int]], weights: Tensor, roles: Tensor, entities: Tensor, num_queries: int
) -> Tensor:
    """Edges are (query, role, filler); one binding after the other is added."""
    size = len(bind(name, roles[0], entities[0]))
    memories = [entities.new_zeros(size) for _ in range(num_queries)]
    for (query, role, filler), weight in zip(edges, weights, strict=True):
        memories[query] = memories[query] + weight * bind(name, roles[role], entities[filler])
    return torch.stack(memories)


def superpose_padded(
    name: str, edges: list[tuple[int, int, int]], weights: Tensor, roles: Tensor, entities: Tensor, num_queries: int
) -> Tensor:
    """As the authors do it: every neighborhood filled up to the longest with edges of weight 0."""
    mine = [[c for c, edge in enumerate(edges) if edge[0] == query] for query in range(num_queries)]
    longest = max(len(some) for some in mine)
    memories = []
    for some in mine:
        padding = longest - len(some)
        role = roles[torch.tensor([edges[c][1] for c in some] + [0] * padding, dtype=torch.long)]  # (K, dr)
        filler = entities[torch.tensor([edges[c][2] for c in some] + [0] * padding, dtype=torch.long)]  # (K, de)
        weight = torch.cat([weights[torch.tensor(some, dtype=torch.long)], weights.new_zeros(padding)])  # (K,)
        size = len(bind(name, roles[0], entities[0]))
        bound = [w * bind(name, r, e) for w, r, e in zip(weight, role, filler, strict=True)]
        memories.append(torch.stack(bound).sum(0) if bound else entities.new_zeros(size))
    return torch.stack(memories)


def strongest(queries: list[int], weights: list[float], k: int) -> list[bool]:
    """Which edges are among the k heaviest of their query, earlier ones first among equals."""
    kept = [False] * len(queries)
    for query in set(queries):
        mine = [c for c in range(len(queries)) if queries[c] == query]
        for c in sorted(mine, key=lambda c: (-weights[c], c))[:k]:
            kept[c] = True
    return kept


def weight_logit(
    entity: Tensor, query_role: Tensor, filler: Tensor, role: Tensor, score_matrix: Tensor, score_bias: Tensor
) -> Tensor:
    """The argument of the paper's sigmoid for one edge."""
    asked, offered = torch.cat([entity, query_role]), torch.cat([filler, role])
    return asked @ score_matrix @ offered + score_bias @ offered


# Completion


def local_weight(filter_vector: Tensor, global_weight: Tensor, scale: Tensor) -> Tensor:
    """One query's matrix."""
    return scale * torch.diag(filter_vector) @ global_weight @ torch.diag(filter_vector)


def complete(memory: Tensor, weight: Tensor, bias: Tensor, stiffness: float) -> Tensor:
    """One query's Harmony maximum, by a Cholesky solve of its own matrix."""
    system = stiffness * torch.eye(len(memory), dtype=memory.dtype) - weight
    factor = torch.linalg.cholesky(system)
    return torch.cholesky_solve((stiffness * memory + bias / 2).unsqueeze(1), factor).squeeze(1)


# Decorrelation


def inverse_root(matrix: Tensor) -> Tensor:
    """Σ^(−½) from the singular value decomposition."""
    left, values, right = torch.linalg.svd(matrix)
    root: Tensor = left @ torch.diag(values**-0.5) @ right
    return root


def covariance(vectors: Tensor) -> Tensor:
    """One outer product per vector."""
    mean = sum(vectors, start=torch.zeros_like(vectors[0])) / len(vectors)
    products = [torch.outer(vector - mean, vector - mean) for vector in vectors]
    return sum(products, start=torch.zeros_like(products[0])) / len(vectors)
