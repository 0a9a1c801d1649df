"""How sure the facts are that are not quite sure; all others count in full."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int

from hmem.graph.ranges import matches
from hmem.graph.triples import Triples, as_triples

MOST_LATE = 256  # changes that are looked through one by one, before all are sorted anew

Fact = tuple[int, int, int]


class Confidences:
    """The weights of facts with a confidence below 1, looked up for many edges at once.

    Facts and their weights are kept sorted; what changed since then is few, and is looked at on top.
    """

    def __init__(self, num_relations: int, weights: Iterable[tuple[Fact, float]] = ()) -> None:
        self.num_relations = num_relations
        self._weights: dict[Fact, float] = dict(weights)
        self._late: set[Fact] = set()  # whose weights are others than those that were sorted
        self._by_relation: dict[int, tuple[Triples, Float[np.ndarray, " n"]]] = {}
        self._sort()

    def __bool__(self) -> bool:
        return bool(self._weights)

    def set(self, fact: Fact, weight: float) -> bool:
        """Let a fact weigh so much; whether that is a change."""
        if self._weights.get(fact, 1.0) == weight:
            return False
        if weight == 1.0:
            del self._weights[fact]
        else:
            self._weights[fact] = weight
        self._late.add(fact)
        self._by_relation.clear()
        if len(self._late) > MOST_LATE:
            self._sort()
        return True

    def of_edges(
        self, owners: Int[np.ndarray, " n"], roles: Int[np.ndarray, " n"], fillers: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """The weights of edges; each is that of the fact it is one of the two edges of."""
        is_right = roles >= self.num_relations
        heads, tails = np.where(is_right, owners, fillers), np.where(is_right, fillers, owners)
        relations = roles - self.num_relations * is_right
        found = np.ones(len(owners), dtype=np.float32)
        inside = np.flatnonzero((heads <= self._most[0]) & (relations <= self._most[1]) & (tails <= self._most[2]))
        hit, place = matches(self._keys, self._keys_of(heads[inside], relations[inside], tails[inside]))
        found[inside[hit]] = self._sorted[place]
        for fact in self._late:
            head, relation, tail = fact
            found[(heads == head) & (relations == relation) & (tails == tail)] = self._weights.get(fact, 1.0)
        return found

    def of_relation(self, relation: int) -> tuple[Triples, Float[np.ndarray, " n"]]:
        """The facts of a relation that are not quite sure, and their weights."""
        if relation not in self._by_relation:
            found = {fact: weight for fact, weight in self._weights.items() if fact[1] == relation}
            self._by_relation[relation] = as_triples(list(found)), np.array(list(found.values()))
        return self._by_relation[relation]

    def _sort(self) -> None:
        facts = as_triples(list(self._weights))
        self._late = set()
        self._most = facts.max(0).tolist() if len(facts) else [0, 0, 0]
        keys = self._keys_of(*facts.T)
        order = np.argsort(keys)
        self._keys, self._sorted = keys[order], np.array(list(self._weights.values()), dtype=np.float32)[order]

    def _keys_of(
        self, heads: Int[np.ndarray, " n"], relations: Int[np.ndarray, " n"], tails: Int[np.ndarray, " n"]
    ) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """One number per fact. Of graphs so large that it does not fit, it may be that of another fact too, once in
        millions of millions of millions."""
        factors = np.array([(self._most[1] + 1) * (self._most[2] + 1), self._most[2] + 1], dtype=np.uint64)
        if (self._most[0] + 1) * (self._most[1] + 1) * (self._most[2] + 1) >= 1 << 64:
            factors = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
        head, relation, tail = (part.astype(np.uint64) for part in (heads, relations, tails))
        keys: np.ndarray[tuple[int], np.dtype[np.uint64]] = head * factors[0] + relation * factors[1] + tail
        return keys


def weighed(facts: Triples, weights: Float[np.ndarray, " n"]) -> Iterable[tuple[Fact, float]]:
    """Facts with their weights, one by one."""
    return (
        ((head, relation, tail), weight)
        for (head, relation, tail), weight in zip(facts.tolist(), weights.tolist(), strict=True)
    )
