"""Length-1 rules: which role implies which, and which lead back to where they began."""

import numpy as np
from jaxtyping import Float, Int

from hmem.graph.neighborhoods import Neighborhoods


def mine(graph: Neighborhoods) -> tuple[Int[np.ndarray, " rules"], Float[np.ndarray, " rules"]]:
    """Every rule c ⇒ q with c ≠ q that holds at least once: its sorted key c·2R + q, and its confidence."""
    pair = graph.owners * graph.num_entities + graph.fillers
    order = np.argsort(pair, kind="stable")  # roles stay sorted within a pair
    roles, pair = graph.roles[order].astype(np.int64), pair[order]
    body = np.bincount(roles, minlength=graph.num_roles)
    together: list[Int[np.ndarray, " n"]] = []
    distance = 1
    while True:  # roles of one pair stand side by side: compare each with the one 1, 2, 3, … places on
        same = np.flatnonzero(pair[distance:] == pair[:-distance])
        if len(same) == 0:
            break
        first, second = roles[same], roles[same + distance]
        together += [first * graph.num_roles + second, second * graph.num_roles + first]
        distance += 1
    if not together:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    keys, support = np.unique(np.concatenate(together), return_counts=True)
    return keys, (support / body[keys // graph.num_roles]).astype(np.float32)


def share_of_loops(graph: Neighborhoods) -> Float[np.ndarray, " roles"]:
    """What share of the fillers of each role are the entity itself; 0 for a role without facts."""
    loops = np.bincount(graph.roles[graph.owners == graph.fillers], minlength=graph.num_roles)
    return (loops / np.maximum(1, np.bincount(graph.roles, minlength=graph.num_roles))).astype(np.float32)
