"""Random problems that the memory tests share. All in float64, all from a seed."""

from typing import Any, Literal

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hmem.memory.superpose import Edges
from tests.laws import examples

BindingName = Literal["tpr", "cconv", "hadamard"]
LAW = examples(20)
SEEDS = st.integers(0, 2**32 - 1)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def symmetric(rng: torch.Generator, dim: int) -> Tensor:
    matrix = normal(rng, dim, dim)
    return (matrix + matrix.T) / 2


def with_spectrum(rng: torch.Generator, values: Tensor) -> Tensor:
    """A random symmetric matrix with these eigenvalues."""
    basis, _ = torch.linalg.qr(normal(rng, len(values), len(values)))
    matrix: Tensor = basis @ torch.diag(values) @ basis.T
    return (matrix + matrix.T) / 2


def random_edges(rng: torch.Generator, num_queries: int, num_edges: int, num_roles: int, num_entities: int) -> Edges:
    """Repeated roles, repeated edges and, now and then, queries without any."""
    query = torch.randint(num_queries, (num_edges,), generator=rng)
    roles = torch.randint(num_roles, (num_edges,), generator=rng)
    fillers = torch.randint(num_entities, (num_edges,), generator=rng)
    order = torch.argsort(query * num_roles + roles)
    return Edges(roles[order], fillers[order], query[order], num_queries)


def as_tuples(edges: Edges) -> list[tuple[int, int, int]]:
    return list(zip(edges.query.tolist(), edges.roles.tolist(), edges.fillers.tolist(), strict=True))


class LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Remembers the size of the largest tensor that any operation inside it returns, backward passes included."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.numel = max([self.numel, *(leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, Tensor))])
        return result
