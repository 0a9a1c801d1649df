"""A graph in a folder: its compressed neighborhoods and its names as files that are mapped into memory.

    index_facts("facts.tsv", "graph")        # from files larger than the memory
    graph = DiskGraph.open("graph")          # in milliseconds, whatever its size
    vocab, edges = graph.vocab, graph.neighborhoods()
    edges.edges_of(vocab.entities.id_of("Q42"))
    edges.add(vocab.entities.add("Q43"), 0, 7)  # on top, in memory

Names are numbered as `hmem.graph.intern` does it, and the edges are those of `Neighborhoods.build`. Several processes
that open one folder share its memory.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from hmem.errors import DataError
from hmem.graph.disk.edges import write_edges
from hmem.graph.disk.folder import Array, Writer, mapped, new_folder, read_header
from hmem.graph.disk.name_file import NameFile, write_lookup, write_names
from hmem.graph.disk.numbering import Ids, NameTable, joined
from hmem.graph.intern import encode
from hmem.graph.names import Names, Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.qualifiers import evidence_of
from hmem.graph.readers.rdf_descriptions import without_literals
from hmem.graph.readers.stream import stream_table
from hmem.graph.triples import PARTS, Triples

ROWS = 1 << 20  # facts that are worked on at a time
NAMES_AT_ONCE = 1 << 18

Progress = Callable[[str, int, int | None], None]  # what is done, how much of it, of how much if that is known


@dataclass(frozen=True, slots=True)
class DiskGraph:
    """A folder that was opened."""

    path: Path
    header: dict[str, Any]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "DiskGraph":
        """Compare the sizes of all files with the header, and read no more than that."""
        path = Path(path)
        return cls(path, read_header(path))

    @property
    def vocab(self) -> Vocabulary:
        """Its names. Others may be added in memory; the files stay as they are."""
        entities, relations = (NameFile.open(self.path, kind, self.header) for kind in ("entities", "relations"))
        return Vocabulary(Names("entity", entities), Names("relation", relations))

    def neighborhoods(self) -> Neighborhoods:
        """Its edges. Facts may be added and removed in memory; the files stay as they are."""
        offsets, roles, fillers = (mapped(self.path, name, self.header) for name in ("offsets", "roles", "fillers"))
        return Neighborhoods(offsets, roles, fillers, self.header["relations"])

    def array(self, name: str) -> Array:
        """Another array that was written beside these."""
        return mapped(self.path, name, self.header)


def index_facts(
    facts: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> DiskGraph:
    """Write the graph of a file of facts, which need not fit into memory. `reading` is as in `read_table`."""
    source = Path(facts)
    told = progress or (lambda *_: None)
    with (
        new_folder(Path(out), overwrite=overwrite) as folder,
        closing(NameTable(folder.temporary("entities"))) as entities,
        closing(NameTable(folder.temporary("relations"))) as relations,
    ):
        spooled = _Spooled(folder.temporary("facts"), told)
        spooled.take(stream_table(source, ROWS, **reading), entities, relations)
        if not spooled.count:
            raise DataError("expected facts between entities, found none", path=source)
        order = spooled.heads_first(len(entities))
        told("writing names", 0, None)
        _write_in_order(folder, "entities", entities, order)
        _write_in_order(folder, "relations", relations, np.arange(len(relations)))
        finals = np.empty(len(order), dtype=np.int32)
        finals[order] = np.arange(len(order))
        told("sorting edges", 0, None)
        edges = write_edges(folder, lambda: spooled.facts(finals), len(entities), len(relations))
        counts = {"entities": len(entities), "relations": len(relations), "facts": edges // 2, "edges": edges}
        folder.close({"source": str(facts), "rows": spooled.count, **counts})
    return DiskGraph.open(out)


def write_graph(folder: Writer, vocab: Vocabulary, facts: Triples, num_relations: int) -> dict[str, Any]:
    """Write the graph of facts that are in memory; what the header is to say of it."""
    write_names(folder, "entities", vocab.entities.to_arrow())
    write_names(folder, "relations", vocab.relations.to_arrow())

    def pieces() -> Iterator[Triples]:
        return (facts[start : start + ROWS] for start in range(0, len(facts), ROWS))

    edges = write_edges(folder, pieces, len(vocab.entities), num_relations)
    return {"entities": len(vocab.entities), "relations": num_relations, "facts": edges // 2, "edges": edges}


def graph_so_far(folder: Writer, num_relations: int) -> Neighborhoods:
    """The edges of a folder that is not finished yet."""
    offsets, roles, fillers = (folder.open[name].so_far() for name in ("offsets", "roles", "fillers"))
    return Neighborhoods(offsets, roles, fillers, num_relations)


class _Spooled:
    """Facts in a file, by the numbers that their names had when they came."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self.path, self.progress = path, progress
        self.count = 0
        self._heads: list[Ids] = []  # entities in the order in which they were first a head

    def take(self, tables: Iterable[pa.Table], entities: NameTable, relations: NameTable) -> None:
        is_head = np.zeros(1 << 16, dtype=bool)
        with self.path.open("wb") as file:
            for table in tables:
                some, _ = without_literals(evidence_of(table))
                triples = np.empty((len(some), 3), dtype=np.int32)
                for place, (part, names) in enumerate(zip(PARTS, (entities, relations, entities), strict=True)):
                    column = encode(some.column(part))
                    ids = names.number(column.values)
                    triples[:, place] = ids[column.codes]
                    if place == 0:
                        if len(entities) > len(is_head):
                            is_head = np.concatenate([is_head, np.zeros(len(entities), dtype=bool)])
                        self._heads.append(ids[~is_head[ids]].astype(np.int32))
                        is_head[ids] = True
                file.write(triples.data)
                self.count += len(triples)
                self.progress("reading facts", self.count, None)

    def heads_first(self, num_entities: int) -> Ids:
        """All entities as `intern` numbers them: heads as they came, then those that are tails only."""
        heads = np.concatenate([*self._heads, np.empty(0, dtype=np.int32)])
        is_tail = np.ones(num_entities, dtype=bool)
        is_tail[heads] = False
        return np.concatenate([heads, np.flatnonzero(is_tail)])

    def facts(self, finals: Int[np.ndarray, " E"]) -> Iterator[Triples]:
        """The facts by the numbers that are to stay."""
        with self.path.open("rb") as file:
            while len(some := np.fromfile(file, dtype=np.int32, count=3 * ROWS)):
                triples = some.reshape(-1, 3)
                triples[:, 0], triples[:, 2] = finals[triples[:, 0]], finals[triples[:, 2]]
                yield triples


def _write_in_order(folder: Writer, kind: str, names: NameTable, order: Ids) -> None:
    """Write names in another order than that in which they came."""
    data, starts = names.data(), names.starts
    text, begins = folder.array(f"{kind}.names", "|u1"), folder.array(f"{kind}.starts", "<i8")
    lengths = np.diff(starts)[order]
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    begins.write(ends)
    for first in range(0, len(order), NAMES_AT_ONCE):
        some = order[first : first + NAMES_AT_ONCE]
        text.write(joined(data, starts[some], lengths[first : first + NAMES_AT_ONCE]))
    write_lookup(folder, kind, text.so_far(), ends)
