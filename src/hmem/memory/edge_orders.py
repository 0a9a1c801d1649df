"""The edges of a graph as a step of propagation goes through them: in chunks for the kernels, else as sums of rows."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, pad

from hmem.memory.ranges import expand

CHUNK = 64  # edges that one program of a GPU sums


@dataclass(frozen=True, eq=False, slots=True)
class Chunks:
    """Sorted edges in runs of one owner each; an owner of several runs is a hub."""

    start: Int[Tensor, " c"]
    stop: Int[Tensor, " c"]
    node: Int[Tensor, " c"]  # the owner
    slot: Int[Tensor, " c"]  # its place among the hubs; −1 if it has this run alone
    hubs: Int[Tensor, " h"]

    @classmethod
    def of(cls, owners: Int[Tensor, " e"], num_owners: int) -> "Chunks":
        """Runs of at most `CHUNK` edges; an owner without edges has one empty run."""
        counts = torch.bincount(owners, minlength=num_owners)
        runs = (counts + CHUNK - 1).div(CHUNK, rounding_mode="floor").clamp_min(1)
        node, within = expand(torch.zeros_like(runs), runs)
        begin = counts.cumsum(0) - counts
        start = begin[node] + within * CHUNK
        stop = torch.minimum(start + CHUNK, (begin + counts)[node])
        hubs = (runs > 1).nonzero().squeeze(1)
        slot = torch.full((num_owners,), -1, device=owners.device)
        slot[hubs] = torch.arange(len(hubs), device=owners.device)
        # The longest runs first, so that the last programs of a launch are short ones.
        order = torch.argsort(stop - start, descending=True, stable=True)
        start, stop, node, slot = (each[order].int() for each in (start, stop, node, slot[node]))
        return cls(start, stop, node, slot, hubs.int())


@dataclass(frozen=True, eq=False, slots=True)
class Orders:
    """The edges in the orders in which the kernels go through them: by target, by source and by role."""

    by_source: Int[Tensor, " e"]
    by_role: Int[Tensor, " e"]
    into: Chunks
    out_of: Chunks
    along: Chunks
    target_by_source: Int[Tensor, " e"]
    source_by_role: Int[Tensor, " e"]
    target_by_role: Int[Tensor, " e"]

    @classmethod
    def of(
        cls, source: Int[Tensor, " e"], role: Int[Tensor, " e"], target: Int[Tensor, " e"], num_entities: int,
        num_roles: int,
    ) -> "Orders":  # fmt: skip
        """Of edges in order of their targets; those that are hidden have the role `num_roles`."""
        by_source, by_role = (torch.argsort(each, stable=True) for each in (source, role))
        into = Chunks.of(target, num_entities)
        out_of = Chunks.of(source[by_source], num_entities)
        along = Chunks.of(role[by_role], num_roles + 1)  # the last for edges that are hidden
        target_by_source, target_by_role = target[by_source], target[by_role]
        return cls(by_source, by_role, into, out_of, along, target_by_source, source[by_role], target_by_role)


@dataclass(frozen=True, eq=False, slots=True)
class RowSums:
    """Rows to be summed: those at `indices`, in runs that begin and end at `offsets`."""

    indices: Int[Tensor, " n"]
    offsets: Int[Tensor, " sums1"]  # the last is the end of all
    weight: Float[Tensor, " n"] | None = None  # of each in its sum; None where all count in full

    @classmethod
    def of(
        cls, indices: Int[Tensor, " n"], owners: Int[Tensor, " n"], num_owners: int,
        weight: Float[Tensor, " n"] | None = None,
    ) -> "RowSums":  # fmt: skip
        """A sum for each owner; `owners` are sorted."""
        counts = torch.bincount(owners, minlength=num_owners)
        return cls(indices, pad(counts.cumsum(0), (1, 0)), weight)

    def sum(self, rows: Float[Tensor, "m K"]) -> Float[Tensor, "sums K"]:
        weight = None if self.weight is None else self.weight.to(rows.dtype)
        return embedding_bag(
            self.indices, rows, self.offsets, mode="sum", per_sample_weights=weight, include_last_offset=True
        )

    def of_some(self, sums: Int[Tensor, " b"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """What some of the sums are of: which of them, and its place among all indices."""
        low = self.offsets[sums]
        return expand(low, self.offsets[sums + 1] - low)


class Bindings:
    """The edges as bindings: every (source, role) pair is bound once, however many entities it leads to."""

    def __init__(
        self, source: Int[Tensor, " e"], role: Int[Tensor, " e"], target: Int[Tensor, " e"], num_entities: int,
        num_roles: int, weight: Float[Tensor, " e"] | None = None,
    ) -> None:  # fmt: skip
        """Of edges in order of their targets."""
        pairs, pair = torch.unique(source * num_roles + role, return_inverse=True)
        self.source, self.role = pairs // num_roles, pairs % num_roles
        self.target = target  # in order, as the bindings that reach each entity are
        self.into = RowSums.of(pair, target, num_entities, weight)  # bindings by the entity they reach
        by_pair = torch.argsort(pair, stable=True)
        of_pair = None if weight is None else weight[by_pair]
        # The entities that each binding reaches
        self.out_of = RowSums.of(target[by_pair], pair[by_pair], len(pairs), of_pair)
        every = torch.arange(len(pairs), device=pairs.device)
        self.of_source = RowSums.of(every, self.source, num_entities)
        by_role = torch.argsort(self.role, stable=True)
        self.of_role = RowSums.of(by_role, self.role[by_role], num_roles)
