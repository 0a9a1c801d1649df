"""How many entities have how many answers in each role."""

import numpy as np
from jaxtyping import Int

from hmem.graph.neighborhoods import Neighborhoods

AT_ONCE = 1 << 17  # entities

SlotSizes = Int[np.ndarray, "sizes 3"]  # role, number of answers, number of entities; in this order


def slot_sizes(graph: Neighborhoods) -> SlotSizes:
    """A row for each number of answers in each role; of entities that have the role."""
    found = [np.empty((0, 3), dtype=np.int64)]
    for start in range(0, graph.num_entities, AT_ONCE):
        edges = graph.lookup(np.arange(start, min(start + AT_ONCE, graph.num_entities)))
        slots, answers = np.unique(edges.owner * graph.num_roles + edges.roles, return_counts=True)
        pairs, times = np.unique(np.stack([slots % graph.num_roles, answers], axis=1), axis=0, return_counts=True)
        found.append(np.column_stack([pairs, times]))
    every = np.concatenate(found)
    pairs, which = np.unique(every[:, :2], axis=0, return_inverse=True)
    times = np.bincount(which.reshape(-1), every[:, 2], minlength=len(pairs)).astype(np.int64)
    return np.column_stack([pairs, times])


def most_answers(sizes: SlotSizes, num_roles: int) -> Int[np.ndarray, " R2"]:
    """The most answers that any entity has in each role."""
    most = np.zeros(num_roles, dtype=np.int64)
    np.maximum.at(most, sizes[:, 0], sizes[:, 1])
    return most


def usual_answers(sizes: SlotSizes, num_roles: int) -> Int[np.ndarray, " R2"]:
    """How many answers those that have a role have: the median."""
    usual = np.zeros(num_roles, dtype=np.int64)
    for role in np.unique(sizes[:, 0]).tolist():
        _, answers, times = sizes[sizes[:, 0] == role].T
        ends, half = np.cumsum(times), times.sum() / 2
        low, high = np.searchsorted(ends, [half, half + 0.5])
        usual[role] = (answers[low] + answers[min(high, len(answers) - 1)]) // 2
    return usual
