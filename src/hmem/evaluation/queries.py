"""What is asked of a model: an entity and a role, with the answer kept aside."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from hmem.errors import ConfigError, DataError
from hmem.graph.dataset import Dataset, GraphName, Split
from hmem.graph.triples import Triples, both_edges

HEAD, TAIL = 0, 1  # which end of the fact is asked for


@dataclass(frozen=True, slots=True)
class Queries:
    entities: Int[np.ndarray, " Q"]
    roles: Int[np.ndarray, " Q"]
    targets: Int[np.ndarray, " Q"]
    sides: Int[np.ndarray, " Q"]  # HEAD or TAIL

    def __len__(self) -> int:
        return len(self.entities)

    def sample(self, count: int, seed: int = 0) -> "Queries":
        """A fixed random selection; all of them if there are no more than `count`."""
        if count >= len(self):
            return self
        return self.select(np.sort(np.random.default_rng(seed).permutation(len(self))[:count]))

    def select(self, rows: np.ndarray) -> "Queries":
        return Queries(self.entities[rows], self.roles[rows], self.targets[rows], self.sides[rows])


def both_sides(triples: Triples, num_relations: int) -> Queries:
    """Ask each fact twice: for its tail (role r + R of the head) and for its head (role r of the tail)."""
    return Queries(*both_edges(triples, num_relations), sides=np.repeat([TAIL, HEAD], len(triples)))


def queries_of(dataset: Dataset, split: Split, graph: GraphName = "train") -> Queries:
    """The questions of one split; of a held-out-entity set those of a held-out entity for one that is held in.

    If no validation fact is about a held-out entity, all that can be answered by one that is held in are asked.
    """
    if split == "train" or (split == "valid" and graph == "train+valid"):
        raise ConfigError(f'the {split} facts are in the graph "{graph}": ranking them would ask for what is given')
    triples = dataset.split(split)
    if len(triples) == 0:
        raise DataError(f"{dataset.name} has no {split} facts to rank")
    queries = both_sides(triples, dataset.num_relations)
    if dataset.heldout is None:
        return queries
    can_be_answered = ~np.isin(queries.targets, dataset.heldout)
    about_new = can_be_answered & np.isin(queries.entities, dataset.heldout)
    if split == "valid" and not about_new.any():
        about_new = can_be_answered
    if not about_new.any():
        raise DataError(f"{dataset.name} has no {split} fact with exactly one held-out entity, so none to rank")
    return queries.select(about_new)
