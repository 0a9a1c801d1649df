"""Names as 64-bit numbers, by which they are found without a dictionary in memory.

The bytes of a name in UTF-8 are cut into words of eight, the last one filled up with zeros. Each is mixed with its
place, the sum with the length. Two names may have the same number, by chance or on purpose: whoever looks one up
compares the names.
"""

import numpy as np
from jaxtyping import Bool, Int, UInt8, UInt64

Bytes = UInt8[np.ndarray, " _"]
Hashes = UInt64[np.ndarray, " n"]
Ends = Int[np.ndarray, " n"]

WORD = 8  # bytes
MASK = 2**64 - 1
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of SplitMix64


def hash_name(name: bytes) -> int:
    """The number of one name."""
    total = 0
    for place, start in enumerate(range(0, max(1, len(name)), WORD), 1):
        total += _mix((int.from_bytes(name[start : start + WORD], "little") + place * STEP) & MASK)
    return _mix((total + len(name) * STEP) & MASK)


def hash_names(data: Bytes, starts: Ends, ends: Ends) -> Hashes:
    """The numbers of many names, which are parts of `data`."""
    counts = num_words(starts, ends)
    first = np.cumsum(counts) - counts
    place = (np.arange(int(counts.sum())) - np.repeat(first, counts) + 1).astype(np.uint64)
    mixed = mix_all(words(data, starts, ends) + place * np.uint64(STEP))
    total = np.add.reduceat(mixed, first) if len(first) else mixed
    return mix_all(total + (ends - starts).astype(np.uint64) * np.uint64(STEP))


def same_names(data: Bytes, starts: Ends, ends: Ends, other: Bytes, at: Ends, to: Ends) -> Bool[np.ndarray, " n"]:
    """Whether each part of `data` has the same bytes as the part of `other` beside it."""
    same: Bool[np.ndarray, " n"] = ends - starts == to - at
    some = np.flatnonzero(same)
    if len(some):
        counts = num_words(starts[some], ends[some])
        differ = words(data, starts[some], ends[some]) != words(other, at[some], to[some])
        same[some] = ~np.logical_or.reduceat(differ, np.cumsum(counts) - counts)
    return same


def num_words(starts: Ends, ends: Ends) -> Ends:
    """How many words each name has: at least one."""
    counts: Ends = np.maximum(1, -(-(ends - starts) // WORD))
    return counts


def words(data: Bytes, starts: Ends, ends: Ends) -> UInt64[np.ndarray, " W"]:
    """The words of all names, end to end."""
    counts = num_words(starts, ends)
    name = np.repeat(np.arange(len(counts)), counts)
    begin = starts[name] + WORD * (np.arange(len(name)) - np.repeat(np.cumsum(counts) - counts, counts))
    left = np.clip(ends[name] - begin, 0, WORD)
    found = np.zeros(len(name), dtype=np.uint64)
    inside = begin + WORD <= len(data)
    if len(data) >= WORD:
        every = np.ndarray((len(data) - WORD + 1,), dtype="<u8", buffer=data, strides=(1,))  # at every byte
        found[inside] = every[begin[inside]]
    for place in np.flatnonzero(~inside).tolist():  # the last few
        found[place] = int.from_bytes(data[begin[place] : ends[name[place]]].tobytes(), "little")
    shift = np.minimum(8 * (WORD - left), 63).astype(np.uint64)
    found &= np.where(left > 0, np.uint64(MASK) >> shift, np.uint64(0))
    return found


def _mix(number: int) -> int:
    number = ((number ^ (number >> 30)) * FIRST) & MASK
    number = ((number ^ (number >> 27)) * SECOND) & MASK
    return number ^ (number >> 31)


def mix_all(numbers: UInt64[np.ndarray, " W"]) -> UInt64[np.ndarray, " W"]:
    """The finalizer of SplitMix64: each bit of a number changes half of the bits of the result."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(FIRST)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(SECOND)
    mixed: UInt64[np.ndarray, " W"] = numbers ^ (numbers >> np.uint64(31))
    return mixed
