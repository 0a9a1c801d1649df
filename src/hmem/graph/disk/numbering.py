"""Numbers for names that come in any amount, in the order of their arrival.

In memory there are a hash, a number and a place for each name, 20 bytes. The names themselves go to a file. A name that
has the hash of another one is kept in a dictionary besides; there are none but those made on purpose.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from hmem.graph.disk.hashing import Bytes, Ends, Hashes, hash_names, same_names

Ids = Int[np.ndarray, " n"]


class NameTable:
    """Names in the order in which they came."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._starts = np.zeros(1 << 16, dtype=np.int64)
        self._count = 0
        self._runs: list[tuple[Hashes, Ids]] = []  # sorted, each longer than the next
        self._twins: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def starts(self) -> Int[np.ndarray, " rows"]:
        return self._starts[: self._count + 1]

    def data(self) -> Bytes:
        """The bytes of all names so far."""
        self._file.flush()
        if not self.starts[-1]:
            return np.empty(0, dtype=np.uint8)
        return np.memmap(self.path, dtype=np.uint8, mode="r").view(np.ndarray)

    def close(self) -> None:
        self._file.close()

    def number(self, names: pa.Array) -> Ids:
        """The numbers of some different names; those that are new get the next ones, in their order."""
        data, starts, ends = _parts(names)
        hashes = hash_names(data, starts, ends)
        ids, is_twin = self._found(hashes, data, starts, ends)
        odd = {place: data[starts[place] : ends[place]].tobytes() for place in np.flatnonzero(is_twin).tolist()}
        for place, name in odd.items():
            ids[place] = self._twins.get(name, -1)
        new = np.flatnonzero(ids < 0)
        ids[new] = self._count + np.arange(len(new))
        self._twins.update((name, int(ids[place])) for place, name in odd.items())
        self._append(data, starts[new], ends[new])
        self._index(hashes[new[~is_twin[new]]], ids[new[~is_twin[new]]])
        return ids

    def _found(self, hashes: Hashes, data: Bytes, starts: Ends, ends: Ends) -> tuple[Ids, Bool[np.ndarray, " n"]]:
        """The numbers of the names that are there, −1 for others; and which have the hash of another name."""
        order = np.argsort(hashes)
        in_order, ids = hashes[order], np.full(len(hashes), -1, dtype=np.int64)
        for keys, numbers in self._runs:
            place = np.searchsorted(keys, in_order).clip(max=len(keys) - 1)
            hit = keys[place] == in_order
            ids[order[hit]] = numbers[place[hit]]
        there = np.flatnonzero(ids >= 0)
        at, to = self._starts[ids[there]], self._starts[ids[there] + 1]
        is_same = same_names(data, starts[there], ends[there], self.data(), at, to)
        is_twin = np.zeros(len(hashes), dtype=bool)
        is_twin[there[~is_same]] = True
        again = np.zeros(len(hashes), dtype=bool)  # two of these that are both new, with one hash
        again[order[1:]] = in_order[1:] == in_order[:-1]
        is_twin |= again & (ids < 0)
        return ids, is_twin

    def _append(self, data: Bytes, starts: Ends, ends: Ends) -> None:
        lengths, before = ends - starts, self._count
        self._count += len(lengths)
        if self._count + 1 > len(self._starts):
            more = np.zeros(max(self._count + 1, len(self._starts) * 3 // 2), dtype=np.int64)
            more[: before + 1] = self._starts[: before + 1]
            self._starts = more
        self._starts[before + 1 : self._count + 1] = self._starts[before] + np.cumsum(lengths)
        self._file.write(joined(data, starts, lengths).data)

    def _index(self, hashes: Hashes, ids: Ids) -> None:
        """Add a run, and merge those of about the same length."""
        if not len(hashes):
            return
        order = np.argsort(hashes)
        self._runs.append((hashes[order], ids[order].astype(np.int32)))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (keys, numbers), (later, others) = self._runs[-2:]
            both = np.concatenate([keys, later])
            order = np.argsort(both, kind="stable")  # which merges two runs
            self._runs[-2:] = [(both[order], np.concatenate([numbers, others])[order])]


def joined(data: Bytes, starts: Ends, lengths: Ends) -> Bytes:
    """Some parts of `data` end to end."""
    first = np.cumsum(lengths) - lengths
    parts: Bytes = data[np.arange(int(lengths.sum())) + np.repeat(starts - first, lengths)]
    return parts


def _parts(names: pa.Array) -> tuple[Bytes, Ends, Ends]:
    """The bytes of an Arrow array of text, and where in them each name begins and ends."""
    if not len(names):
        return np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    _, ends, data = names.cast(pa.string()).buffers()
    bounds = np.frombuffer(ends, dtype=np.int32)[names.offset : names.offset + len(names) + 1].astype(np.int64)
    return np.frombuffer(data or b"", dtype=np.uint8), bounds[:-1], bounds[1:]
