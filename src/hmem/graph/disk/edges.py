"""Edges in the order of `Neighborhoods`, sorted by parts of entities when they are too many for the memory.

Facts are read twice: once to count the edges of each entity, which says where to cut, and once to write every edge into
the file of its part. Each part is then sorted by itself, as one integer for each edge: owner, role and filler. A part
has at most `PART` edges, or those of a single entity.
"""

from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Int

from hmem.graph.disk.folder import Writer
from hmem.graph.edge_keys import CHUNK, EdgeKeys, sort_unique, type_of_roles
from hmem.graph.triples import Triples, both_edges

PART = 1 << 25  # edges sorted at a time: 256 MB
MOST_PARTS = 500  # files written to at a time

Facts = Callable[[], Iterable[Triples]]  # some at a time, each time it is called from the first one on


def write_edges(folder: Writer, facts: Facts, num_entities: int, num_relations: int) -> int:
    """Write the arrays of an index of these facts; how many edges it has. Repeated facts count once."""
    counts = np.zeros(num_entities, dtype=np.int64)
    for some in facts():
        counts += np.bincount(some[:, 0], minlength=num_entities)
        counts += np.bincount(some[:, 2], minlength=num_entities)
    packed = EdgeKeys.of(num_entities, num_relations)
    bounds = _bounds(counts, packed.most_owners)
    del counts
    sizes = _divide(folder, facts, bounds, packed, num_relations)
    offsets, num_edges = folder.array("offsets", "<i8"), 0
    roles = folder.array("roles", np.dtype(type_of_roles(num_relations)).str)
    fillers = folder.array("fillers", "<i4")
    offsets.write(np.zeros(1, dtype=np.int64))
    for number, size in enumerate(sizes):
        path = folder.temporary(f"part{number}")
        keys = np.fromfile(path, dtype=np.int64) if size else np.empty(0, dtype=np.int64)
        path.unlink(missing_ok=True)
        keys = sort_unique(keys)
        degrees = np.zeros(int(bounds[number + 1] - bounds[number]), dtype=np.int64)
        for start in range(0, len(keys), CHUNK):
            owner, role, filler = packed.unpack(keys[start : start + CHUNK])
            degrees += np.bincount(owner, minlength=len(degrees))
            roles.write(role)
            fillers.write(filler)
        offsets.write(num_edges + np.cumsum(degrees))
        num_edges += len(keys)
    return num_edges


def _bounds(counts: Int[np.ndarray, " E"], most_owners: int) -> Int[np.ndarray, " parts"]:
    """The entities at which parts begin, and the end: no part with many more edges, nor with too many owners."""
    part = max(PART, -(-int(counts.sum()) // MOST_PARTS))
    before = np.cumsum(counts) - counts
    begins = [0]
    while begins[-1] < len(counts):
        low = begins[-1]
        high = int(np.searchsorted(before, before[low] + part))  # the last one may be larger than what is left
        begins.append(min(max(high, low + 1), low + most_owners, len(counts)))
    return np.array(begins)


def _divide(
    folder: Writer, facts: Facts, bounds: Int[np.ndarray, " parts"], packed: EdgeKeys, num_relations: int
) -> list[int]:
    """Write the edges of each part into a file of its own; how many these are."""
    paths = [folder.temporary(f"part{number}") for number in range(len(bounds) - 1)]
    sizes = [0] * len(paths)
    files = [path.open("wb") for path in paths]
    try:
        for some in facts():
            owner, role, filler = both_edges(some, num_relations)
            place = np.searchsorted(bounds, owner, side="right") - 1
            keys = packed.pack(owner - bounds[place], role, filler)
            keys = keys[np.argsort(place.astype(np.int16), kind="stable")]
            ends = np.cumsum(np.bincount(place, minlength=len(files)))
            for number, (low, high) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
                if high > low:
                    files[number].write(keys[low:high].data)
                    sizes[number] += high - low
    finally:
        for file in files:
            file.close()
    return sizes
