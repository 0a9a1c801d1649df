"""Ranges of positions end to end, such as those of the edges of some entities in a list that is sorted by entity."""

import numpy as np
from jaxtyping import Int, Integer

Positions = Int[np.ndarray, " n"]


def expand(low: Int[np.ndarray, " R"], counts: Int[np.ndarray, " R"]) -> tuple[Positions, Positions]:
    """The positions from `low` to low + count of each range: which range each is in, and the position."""
    which = np.repeat(np.arange(len(low)), counts)
    before = np.cumsum(counts) - counts  # where each range begins in the result
    return which, np.arange(len(which)) - np.repeat(before - low, counts)


def matches(keys: Integer[np.ndarray, " K"], wanted: Integer[np.ndarray, " R"]) -> tuple[Positions, Positions]:
    """Where the sorted `keys` equal each of `wanted`: which of these, and the position."""
    low = np.searchsorted(keys, wanted)
    return expand(low, np.searchsorted(keys, wanted, side="right") - low)
