"""Ranges of positions end to end, such as those of the edges of some entities in a list that is sorted by entity."""

import torch
from jaxtyping import Int
from torch import Tensor


def expand(low: Int[Tensor, " R"], counts: Int[Tensor, " R"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
    """The positions from `low` to low + count of each range: which range each is in, and the position."""
    which = torch.repeat_interleave(counts)
    return which, torch.arange(len(which), device=low.device) + (low - (counts.cumsum(0) - counts))[which]


def matches(keys: Int[Tensor, " K"], wanted: Int[Tensor, " R"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
    """Where the sorted `keys` equal each of `wanted`: which of these, and the position."""
    low = torch.searchsorted(keys, wanted)
    return expand(low, torch.searchsorted(keys, wanted, right=True) - low)
