"""The values of a store as edges of a living graph: from each entity to the bucket that its value is in.

Buckets and properties have numbers among the entities and relations of the graph, by names that begin with a NUL
character, which nothing stored can have. They are evidence, and never facts or answers: `LiveGraph` tells them apart.

When values change, the buckets of all are learned anew, and only the edges that differ are changed. That takes as long
as there are values; a base without any does not notice.
"""

import numpy as np
from jaxtyping import Bool, Int

from hmem.graph.names import Names
from hmem.graph.triples import Triples, as_triples
from hmem.knowledge.buckets import bucketed
from hmem.knowledge.store.store import Store

HIDDEN = "\0"

Numbers = Int[np.ndarray, " n"]


class LiveValues:
    """Which edges there are because of values, and what their ends are called."""

    def __init__(self, store: Store, entities: Names, relations: Names) -> None:
        self._store, self._entities, self._relations = store, entities, relations
        self.edges: Triples = as_triples([])
        self.words: dict[int, str] = {}  # of each bucket, by its number among the entities
        self.properties: dict[int, str] = {}  # what each is called, by its number among the relations

    @property
    def buckets(self) -> Numbers:
        return np.fromiter(self.words, dtype=np.int64, count=len(self.words))

    def read(self, of_store: Numbers) -> None:
        """Learn the buckets of the values of now; entities are given by their numbers in the graph."""
        found = bucketed(row for row in self._store.values.columns() if row[0] < len(of_store))
        self.properties = {}
        if not found:
            self.edges = as_triples([])
            return
        ids = self._store.values.names()
        labels = self._store.naming.called_by("property", [ids[each.property] for each in found])
        pieces = []
        for each in found:
            name = f"{HIDDEN}{ids[each.property]}{HIDDEN}{each.key}"
            relation = self._relations.add(name)
            self.properties[relation] = labels.get(ids[each.property], ids[each.property])
            numbers = np.array([self._entities.add(f"{name}{HIDDEN}{place}") for place in range(len(each.words))])
            self.words.update(zip(numbers.tolist(), each.words, strict=True))
            columns = of_store[each.entities], np.full(len(each.entities), relation), numbers[each.buckets]
            pieces.append(np.stack(columns, axis=1))
        self.edges = as_triples(np.unique(np.concatenate(pieces), axis=0))

    def is_fact(self, triples: Triples) -> Bool[np.ndarray, " n"]:
        """Which of them are stored facts."""
        return ~np.isin(triples[:, 1], list(self.properties))
