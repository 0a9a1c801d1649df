"""The edges of a graph too large to hold them as tensors: those into an entity are read when a question comes to it.

A question is asked in a part of such a graph, and of the rest only the degrees matter. Facts that come and go are seen
at once, since the edges are those of the living `Neighborhoods`.
"""

from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.graph.confidences import Confidences
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import mirror_role
from hmem.memory.links import Links, Patch


class FarLinks(Links):
    """All edges, none of which is held; they are read from the graph, which may be mapped from the disk."""

    def __init__(self, graph: Neighborhoods, sure: Confidences, device: torch.device) -> None:
        self.graph, self.sure = graph, sure
        self.num_entities = self.num_built = graph.num_entities
        self.num_roles = graph.num_roles
        self.patch, self.beyond = None, None
        self._device = device
        self._hidden: Int[np.ndarray, "n 3"] = np.empty((0, 3), dtype=np.int64)  # target, source and role
        degree = np.zeros(graph.num_entities, dtype=np.float32)
        degree[: len(graph.offsets) - 1] = np.diff(graph.offsets)
        self.degree = torch.from_numpy(degree).to(device)
        self._sum_up()
        self.change(np.array(sorted({*graph.changed(), *self._unsure_ends()}), dtype=np.int64))

    def _unsure_ends(self) -> Iterable[int]:
        return (end for relation in range(self.graph.num_relations if self.sure else 0)
                for end in self.sure.of_relation(relation)[0][:, [0, 2]].ravel().tolist())  # fmt: skip

    def _sum_up(self) -> None:
        self.num_linked = (self.degree > 0).sum()
        self.log_sum = (self.degree + 1).log().sum(dtype=torch.float64).float()

    @property
    def num_edges(self) -> int:
        return len(self.graph.roles)

    @property
    def device(self) -> torch.device:
        return self._device

    @property
    def is_sure(self) -> bool:
        return not self.sure

    def change(self, entities: Int[np.ndarray, " n"]) -> None:
        """Count the edges of some entities again, whose facts have changed."""
        if self.graph.num_entities > self.num_entities:
            more = torch.zeros(self.graph.num_entities - self.num_entities, device=self.device)
            self.degree = torch.cat([self.degree, more])
            self.num_entities = self.graph.num_entities
        if len(entities):
            places = torch.from_numpy(entities).to(self.device)
            now = torch.zeros(len(entities), device=self.device)
            edges = self.edges_into(places)
            weight = torch.ones(len(edges.row), device=self.device) if edges.weight is None else edges.weight
            self._count_as(places, now.index_add(0, edges.row, weight))

    def _count_as(self, entities: Int[Tensor, " n"], degree: Float[Tensor, " n"]) -> None:
        """Let some entities have so many edges."""
        before = self.degree[entities]
        self.log_sum = self.log_sum + ((degree + 1).log() - (before + 1).log()).sum()
        self.num_linked = self.num_linked + (degree > 0).sum() - (before > 0).sum()
        self.degree[entities] = degree

    def edges_into(self, targets: Int[Tensor, " T"]) -> Patch:
        """The present edges into some entities, given in order."""
        owners = targets.cpu().numpy()
        edges = self.graph.lookup(owners)
        row, source = edges.owner.astype(np.int64), edges.fillers.astype(np.int64)
        role = mirror_role(edges.roles.astype(np.int64), self.graph.num_relations)
        weight = None
        if self.sure:
            weight = self.sure.of_edges(owners[row], edges.roles.astype(np.int64), source)
        if len(self._hidden) and np.isin(self._hidden[:, 0], owners).any():
            seen = np.ones(len(row), dtype=bool)
            for target, other, kind in self._hidden.tolist():
                seen &= (owners[row] != target) | (source != other) | (role != kind)
            row, source, role = row[seen], source[seen], role[seen]
            weight = None if weight is None else weight[seen]
        rows, sources, roles = (torch.from_numpy(each).to(self.device) for each in (row, source, role))
        counts = None if weight is None else torch.from_numpy(weight).to(self.device)
        return Patch(targets, rows, sources, roles, weight=counts)

    def withholding(
        self, question: Int[Tensor, " n"], source: Int[Tensor, " n"], role: Int[Tensor, " n"],
        target: Int[Tensor, " n"], num_questions: int,
    ) -> "FarLinks":  # fmt: skip
        """The same graph, where the given edges are hidden from the only question."""
        assert num_questions == 1, "in a large graph questions are asked one by one"
        made = object.__new__(FarLinks)
        made.__dict__.update(self.__dict__)
        hidden = torch.stack([target, source, role], dim=1).cpu().numpy()
        made._hidden = np.concatenate([self._hidden, hidden])
        made.degree = self.degree.clone()
        made.change(np.unique(hidden[:, 0]))
        return made
