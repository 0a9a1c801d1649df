"""Which entities are candidates.

all    every entity (of a held-out-entity set: every held-in entity). The field's standard.
typed  of those, only entities seen in that slot of that relation anywhere, test included. What the authors'
       scripts do; to be compared with the paper's tables only.
"""

from typing import Literal

import numpy as np
from jaxtyping import Int

from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods

Protocol = Literal["all", "typed"]
PROTOCOLS: tuple[Protocol, ...] = ("all", "typed")


class Candidates:
    """The entities that may answer a role, as sorted ids; None stands for all of them."""

    def __init__(self, protocol: Protocol, dataset: Dataset) -> None:
        self.protocol = protocol
        self.num_entities = dataset.num_entities
        self._all = dataset.heldin()
        self._by_role: dict[int, Int[np.ndarray, " C"]] = {}
        if protocol == "typed":
            graph = Neighborhoods.build(dataset.everything(), dataset.num_entities, dataset.num_relations)
            order = np.argsort(graph.roles, kind="stable")
            bounds = np.searchsorted(graph.roles[order], np.arange(dataset.num_roles + 1))
            for role in range(dataset.num_roles):
                fillers = np.unique(graph.fillers[order[bounds[role] : bounds[role + 1]]]).astype(np.int64)
                kept = fillers if self._all is None else np.intersect1d(fillers, self._all)
                self._by_role[role] = kept

    @property
    def depends_on_role(self) -> bool:
        return self.protocol == "typed"

    def of(self, role: int) -> Int[np.ndarray, " C"] | None:
        return self._by_role[role] if self.depends_on_role else self._all
