"""Which entities are candidates.

all    every entity (of a held-out-entity set: every held-in entity). The field's standard.
typed  of those, only entities seen in that slot of that relation anywhere, test included. What the authors'
       scripts do; to be compared with the paper's tables only.
"""

from typing import Literal

import numpy as np
from jaxtyping import Int

from hmem.graph.dataset import Dataset

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
            for role, fillers in enumerate(dataset.filter_graph().fillers_by_role()):
                seen = np.unique(fillers)
                self._by_role[role] = seen if self._all is None else np.intersect1d(seen, self._all)

    @property
    def depends_on_role(self) -> bool:
        return self.protocol == "typed"

    def of(self, role: int) -> Int[np.ndarray, " C"] | None:
        return self._by_role[role] if self.depends_on_role else self._all
