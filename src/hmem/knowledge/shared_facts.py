"""Which entities share facts, and how much that says: the rarer a fact, the more."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.graph.triples import Triples

MOST_PAIRS = 3_000_000  # that are looked at because they share a fact
MOST_SHARING = 64  # entities; a fact that more of them share leads to no pairs
ONE_ANSWER = 1.05  # answers on average, up to which a relation has one answer
FEWEST_ASKED = 20  # entities that tell how many answers a relation has


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Which entity has which fact, seen from it: a role and the other end, or a property and a value."""

    holders: Int[np.ndarray, " m"]  # by feature
    features: Int[np.ndarray, " m"]
    counts: Int[np.ndarray, " f"]  # how many entities have each
    roles: Int[np.ndarray, " f"]  # R relations from the head, R from the tail, then the properties
    fillers: Int[np.ndarray, " f"]  # the entity at the other end, or the number of a value
    is_value: Bool[np.ndarray, " f"]
    weights: Float[np.ndarray, " f"]

    @classmethod
    def of(cls, facts: Triples, values: Triples, num_relations: int, num_entities: int) -> "Features":
        head, relation, tail = facts.T.astype(np.int64)
        entity, property, value = values.T.astype(np.int64)
        holders = np.concatenate([head, tail, entity])
        roles = np.concatenate([relation, relation + num_relations, property + 2 * num_relations])
        fillers = np.concatenate([tail, head, value])
        width = max(int(fillers.max(initial=0)) + 1, 1)
        found, features, counts = np.unique(roles * width + fillers, return_inverse=True, return_counts=True)
        order = np.argsort(features, kind="stable")
        weights = np.log2(max(num_entities, 2) / counts)
        roles, fillers = found // width, found % width
        return cls(holders[order], features[order], counts, roles, fillers, roles >= 2 * num_relations, weights)

    def pairs(self) -> tuple[Int[np.ndarray, "p 2"], Float[np.ndarray, " p"]]:
        """The pairs that share facts which few have, and the bits that these are worth."""
        sizes = np.arange(2, MOST_SHARING + 1)
        number = np.bincount(self.counts, minlength=MOST_SHARING + 1)[2 : MOST_SHARING + 1]
        total = np.cumsum(number * (sizes * (sizes - 1) // 2))
        most = sizes[max(0, int(np.searchsorted(total, MOST_PAIRS, side="right")) - 1)]
        starts = np.cumsum(self.counts) - self.counts
        found, bits, by = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)], [np.empty(0, dtype=np.int64)]
        for size in range(2, most + 1):
            some = np.flatnonzero(self.counts == size)
            groups = self.holders[starts[some, None] + np.arange(size)]  # (groups, size)
            left, right = np.triu_indices(size, 1)
            found.append(np.stack([groups[:, left].ravel(), groups[:, right].ravel()], axis=1))
            bits.append(np.repeat(self.weights[some], len(left)))
            by.append(np.repeat(self.ends[some], len(left)))
        pairs, weights = np.concatenate(found), np.concatenate(bits)
        kept = heaviest(keys_of(pairs), np.concatenate(by), weights)
        return summed(pairs[kept], weights[kept])

    def own(self, num_entities: int) -> Float[np.ndarray, " n"]:
        """The bits of all facts of each entity."""
        weights = self.weights[self.features]
        kept = heaviest(self.holders, self.ends[self.features], weights)
        return np.bincount(self.holders[kept], weights[kept], minlength=num_entities).astype(np.float64)

    @property
    def ends(self) -> Int[np.ndarray, " f"]:
        """What is at the other end, entities and values apart: many graphs state a fact in both directions."""
        return np.where(self.is_value, -1 - self.fillers, self.fillers)

    def single(self, num_roles: int) -> Bool[np.ndarray, " r"]:
        """Of which roles an entity has one answer, as a rule."""
        roles = self.roles[self.features]
        slots = np.unique(roles * (int(self.holders.max(initial=0)) + 1) + self.holders)
        asked = np.bincount(slots // (int(self.holders.max(initial=0)) + 1), minlength=num_roles)
        answers = np.bincount(roles, minlength=num_roles)
        is_single: Bool[np.ndarray, " r"] = (asked >= FEWEST_ASKED) & (answers <= ONE_ANSWER * asked)
        return is_single


def summed(
    pairs: Int[np.ndarray, "p 2"], bits: Float[np.ndarray, " p"]
) -> tuple[Int[np.ndarray, "q 2"], Float[np.ndarray, " q"]]:
    """Each pair once, the lower number first, with the sum of its bits."""
    keys, place = np.unique(keys_of(pairs), return_inverse=True)
    summed = np.bincount(place, bits, minlength=len(keys)) if len(keys) else np.empty(0)
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1), summed


def heaviest(
    things: Int[np.ndarray, " m"], ends: Int[np.ndarray, " m"], weights: Float[np.ndarray, " m"]
) -> Int[np.ndarray, " k"]:
    """One place for each thing and end, where the weight is greatest."""
    order = np.lexsort((-weights, ends, things))
    things, ends = things[order], ends[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (things[1:] != things[:-1]) | (ends[1:] != ends[:-1])
    kept: Int[np.ndarray, " k"] = order[is_first]
    return kept


def keys_of(pairs: Int[np.ndarray, "p 2"]) -> Int[np.ndarray, " p"]:
    keys: Int[np.ndarray, " p"] = (pairs.min(1) << 32) | pairs.max(1)
    return keys
