"""An edge as one integer, owner before role before filler; in order of these integers an index has its edges."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

BITS = 63  # of a signed integer
CHUNK = 1 << 20  # edges that are worked on at a time

Keys = Int[np.ndarray, " M"]


@dataclass(frozen=True, slots=True)
class EdgeKeys:
    """The numbers of the edges of a graph, of which filler and role take the lowest bits."""

    filler_bits: int
    role_bits: int

    @classmethod
    def of(cls, num_entities: int, num_relations: int) -> "EdgeKeys":
        filler_bits, role_bits = (max(1, (count - 1).bit_length()) for count in (num_entities, 2 * num_relations))
        return cls(filler_bits, role_bits)

    @property
    def most_owners(self) -> int:
        """How many entities can be told apart as owners."""
        return 1 << max(0, BITS - self.filler_bits - self.role_bits)

    def pack(self, owners: Keys, roles: Keys, fillers: Keys) -> Keys:
        keys: Keys = (owners << self.role_bits | roles) << self.filler_bits | fillers
        return keys

    def unpack(self, keys: Keys) -> tuple[Keys, Keys, Keys]:
        roles, fillers = keys >> self.filler_bits & ((1 << self.role_bits) - 1), keys & ((1 << self.filler_bits) - 1)
        return keys >> self.filler_bits + self.role_bits, roles, fillers


def sort_unique(keys: Keys) -> Int[np.ndarray, " different"]:
    """The different values in order, at the front of the same array: there may be no room for another."""
    keys.sort()
    filled, last = 0, None
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        is_first = np.empty(len(chunk), dtype=bool)
        is_first[0] = chunk[0] != last
        np.not_equal(chunk[1:], chunk[:-1], out=is_first[1:])
        last = chunk[-1]
        kept = len(chunk) if is_first.all() else int(is_first.sum())
        if kept < len(chunk) or filled < start:
            keys[filled : filled + kept] = chunk[is_first]
        filled += kept
    return keys[:filled]


def type_of_roles(num_relations: int) -> type[np.signedinteger]:
    """The smallest there is."""
    return np.int16 if 2 * num_relations <= np.iinfo(np.int16).max else np.int32
