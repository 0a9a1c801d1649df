"""Facts as integers, and the roles they play.

A fact (head, relation, tail) is one row of an int32 array. Seen from its two ends it is two edges:

    head --role relation + R--> tail    (the tail is the head's right neighbor)
    tail --role relation    --> head    (the head is the tail's left neighbor)

so R relations give 2R roles, and a query is always "entity, role: which fillers?". Inverse relations exist nowhere
else in the package: files, tables and prediction speak of relations only.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Int

Triples = Int[np.ndarray, "_ 3"]  # not "n 3": the splits of one dataset differ in length
Ids = Int[np.ndarray, " n"]
Roles = TypeVar("Roles", int, Int[np.ndarray, "..."])

PARTS = ("head", "relation", "tail")
LARGEST_KEY = np.iinfo(np.int64).max
LOW_BITS = 20


def as_triples(rows: object) -> Triples:
    """Rows of (head, relation, tail) ids as the int32 array that the whole package passes around."""
    return np.ascontiguousarray(np.asarray(rows, dtype=np.int32).reshape(-1, 3))


def mirror_role(role: Roles, num_relations: int) -> Roles:
    """The role of the same fact seen from its other end; of many, in whatever type of integers has room for them."""
    return (role - num_relations) % (2 * num_relations)


def both_edges(triples: Triples, num_relations: int) -> tuple[Ids, Ids, Ids]:
    """Owner, role and filler of both edges of each fact: of those out of the heads, then of those out of the tails."""
    head, relation, tail = triples.T.astype(np.int64)
    role = np.concatenate([relation + num_relations, relation])
    return np.concatenate([head, tail]), role, np.concatenate([tail, head])


def triple_keys(triples: Triples) -> Int[np.ndarray, " n"]:
    """One int64 per fact, equal exactly when the facts are."""
    if len(triples) == 0:
        return np.empty(0, dtype=np.int64)
    entities = int(triples[:, [0, 2]].max()) + 1
    relations = int(triples[:, 1].max()) + 1
    if entities * entities * relations > LARGEST_KEY:
        return np.unique(triples, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    keys = triples[:, 0].astype(np.int64)
    keys *= relations
    keys += triples[:, 1]
    keys *= entities
    keys += triples[:, 2]
    return keys


def is_among(triples: Triples, others: Triples) -> Bool[np.ndarray, " n"]:
    """True for every fact that is one of the others, too."""
    keys = triple_keys(np.concatenate([triples, others]))
    return np.isin(keys[: len(triples)], keys[len(triples) :])


def first_occurrences(triples: Triples) -> Bool[np.ndarray, " n"]:
    """True for every fact that does not stand earlier in the list."""
    keys = triple_keys(triples)
    odd = (keys & 1).astype(bool)
    with ThreadPoolExecutor(2) as pool:  # sorting lets go of the interpreter, so two halves take half the time
        repeated = np.concatenate(list(pool.map(_repeated, (keys[odd], keys[~odd]))))
    keep = np.ones(len(triples), dtype=bool)
    if len(repeated):  # few, as a rule: only rows that share their low bits with one are looked at again
        low_bits = np.zeros(1 << LOW_BITS, dtype=bool)
        low_bits[repeated & (len(low_bits) - 1)] = True
        rows = np.flatnonzero(low_bits[keys & (len(low_bits) - 1)])
        rows = rows[np.isin(keys[rows], repeated)]
        keep[rows] = False
        keep[rows[np.unique(keys[rows], return_index=True)[1]]] = True
    return keep


def _repeated(keys: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    """The values that occur more than once."""
    keys.sort()
    return np.unique(keys[1:][keys[1:] == keys[:-1]])
