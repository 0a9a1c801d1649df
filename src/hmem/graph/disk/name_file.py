"""The names of one kind of thing in mapped files: their bytes, where each begins, and their hashes in order.

A name is found by halving the hashes, and then compared. Neither that nor opening the files reads all of them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from hmem.graph.disk.folder import Writer, mapped
from hmem.graph.disk.hashing import Bytes, Hashes, hash_name, hash_names

AT_ONCE = 1 << 20  # names


class NameFile:
    """Names numbered from 0, none of them twice."""

    def __init__(
        self, data: Bytes, starts: Int[np.ndarray, " rows"], hashes: Hashes, numbers: Int[np.ndarray, " n"]
    ) -> None:
        """`hashes` are in order, and each has the number of its name beside it."""
        self.data, self.starts, self.hashes, self.numbers = data, starts, hashes, numbers

    @classmethod
    def open(cls, path: Path, kind: str, header: dict[str, Any]) -> "NameFile":
        return cls(*(mapped(path, f"{kind}.{part}", header) for part in ("names", "starts", "hashes", "numbers")))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> str:
        number = range(len(self))[number]
        return self.bytes_of(number).decode("utf-8", "surrogatepass")

    def bytes_of(self, number: int) -> bytes:
        return self.data[self.starts[number] : self.starts[number + 1]].tobytes()

    def get(self, name: str) -> int | None:
        """The number of a name, if it is there."""
        wanted = name.encode("utf-8", "surrogatepass")
        key = np.uint64(hash_name(wanted))
        place = int(np.searchsorted(self.hashes, key))
        while place < len(self.hashes) and self.hashes[place] == key:
            number = int(self.numbers[place])
            if self.bytes_of(number) == wanted:
                return number
            place += 1
        return None

    def to_arrow(self) -> pa.Array:
        """All names, without a copy of their bytes."""
        buffers = [None, pa.py_buffer(self.starts), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)


def write_lookup(folder: Writer, kind: str, data: Bytes, starts: Int[np.ndarray, " rows"]) -> None:
    """The hashes of names whose bytes and starts are given, in order, with their numbers."""
    hashes = np.empty(len(starts) - 1, dtype=np.uint64)
    for first in range(0, len(hashes), AT_ONCE):
        some = np.asarray(starts[first : first + AT_ONCE + 1])
        part = data[some[0] : some[-1]]
        hashes[first : first + AT_ONCE] = hash_names(part, some[:-1] - some[0], some[1:] - some[0])
    order = np.argsort(hashes, kind="stable")
    numbers = order.astype(np.int32)
    hashes.sort()
    folder.whole(f"{kind}.hashes", hashes)
    folder.whole(f"{kind}.numbers", numbers)


def write_names(folder: Writer, kind: str, names: pa.Array) -> None:
    """Names that are in memory."""
    texts = names.cast(pa.large_string())
    _, ends, data = texts.buffers()
    starts = np.frombuffer(ends, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    starts = starts if len(texts) else np.zeros(1, dtype=np.int64)
    text = np.frombuffer(data or b"", dtype=np.uint8)[starts[0] : starts[-1]]
    folder.whole(f"{kind}.names", text)
    folder.whole(f"{kind}.starts", starts - starts[0])
    write_lookup(folder, kind, text, starts - starts[0])
