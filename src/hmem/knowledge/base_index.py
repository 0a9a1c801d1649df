"""The graph of a large base in a folder beside it, `zoo.kb-index`: opening maps it, and applies what came since.

The folder holds the names and edges of one moment, as `hmem.graph.disk` writes them, and what else would take a look at
every fact: which roles meet, how many answers are usual. Each time it is made it gets a token of its own, which the
base notes; with another one it is of another base, or of another history of this one, and is ignored. It never has
to be there: without it all facts are read.
"""

import secrets
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import torch
from jaxtyping import Float, Int

from hmem.errors import DataError, HMemError, Place
from hmem.evaluation.role_counts import Counted, count
from hmem.graph.disk.folder import new_folder, problems
from hmem.graph.disk.index import DiskGraph, graph_so_far, write_graph
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.registry import home
from hmem.graph.slot_sizes import SlotSizes, slot_sizes
from hmem.graph.triples import Triples
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.store import Store
from hmem.memory.links import meeting_counts

FROM = 1_000_000  # facts from which on a base has an index; fewer are read in a second or two
KEY = "index"  # of the note in which a base keeps the token
MOST_TOKENS = 16
ENTITIES = 1 << 17  # whose edges are looked through at a time


@dataclass(slots=True)
class BaseIndex:
    """The graph of a base as it was at a moment."""

    graph: DiskGraph

    @classmethod
    def of(cls, store: Store) -> "BaseIndex | None":
        """That of a base, if there is a whole one that belongs to it."""
        tokens = store.metas().get(KEY, "").split()
        if not tokens:
            return None
        try:
            found = cls(DiskGraph.open(folder_of(store.path)))
        except (DataError, OSError):
            return None
        about = found.about
        return found if about.get("token") in tokens and about.get("moment", 0) <= store.moment else None

    @property
    def about(self) -> dict[str, Any]:
        told: dict[str, Any] = self.graph.header.get("base", {})
        return told

    @property
    def moment(self) -> int:
        return int(self.about["moment"])

    @property
    def last(self) -> int:
        """The highest number of an entity that had facts."""
        return int(self.about["last"])

    @property
    def first_write(self) -> int:
        """How many entities came with the first write."""
        return int(self.about["first write"])

    @property
    def num_relations(self) -> int:
        return int(self.graph.header["relations"])

    def loops(self) -> Counter[int]:
        """How many facts of each relation had the same entity at both ends."""
        return Counter({int(relation): count for relation, count in self.about["loops"].items()})

    def unsure(self) -> tuple[Triples, Float[np.ndarray, " n"]]:
        """The facts with a confidence below 1, and it."""
        return self.graph.array("unsure").reshape(-1, 3), self.graph.array("confidences")

    def neighborhoods(self, num_relations: int) -> Neighborhoods:
        """The edges, in a graph that has more relations since: roles from heads are numbered behind all of them."""
        graph, more = self.graph.neighborhoods(), num_relations - self.num_relations
        if more:
            wide = graph.roles.astype(np.int32) if 2 * num_relations > np.iinfo(np.int16).max else graph.roles
            roles = np.where(wide >= self.num_relations, wide + wide.dtype.type(more), wide)
            graph = Neighborhoods(graph.offsets, roles, graph.fillers, num_relations)
        return graph

    def meetings(self, num_relations: int) -> Int[np.ndarray, "Q Q"]:
        """At how many entities each two roles met."""
        before = self.graph.array("meetings").reshape(2 * self.num_relations, -1)
        roles = self._roles(num_relations)
        counts = np.zeros((2 * num_relations, 2 * num_relations), dtype=np.int64)
        counts[np.ix_(roles, roles)] = before
        return counts

    def sizes(self, num_relations: int) -> SlotSizes:
        """How many entities had how many answers in each role."""
        rows = self.graph.array("sizes").reshape(-1, 3).copy()
        rows[:, 0] = self._roles(num_relations)[rows[:, 0]]
        return rows

    def counted(self) -> Counted:
        """What the facts said of the roles."""
        kept = {name: np.asarray(self.graph.array(f"counted.{name}")) for name in Counted._fields}
        roles = len(kept["base"])
        return Counted(**{name: part if name == "base" else part.reshape(roles, -1) for name, part in kept.items()})

    def covers(self, graph: Neighborhoods) -> bool:
        """Whether a graph was made of these files, whatever came and went since."""
        return len(graph.fillers) == self.graph.header["edges"] and graph.fillers.base is not None

    def _roles(self, num_relations: int) -> Int[np.ndarray, " Q"]:
        """The roles of that time as they are numbered now."""
        before = np.arange(2 * self.num_relations)
        return np.where(before >= self.num_relations, before + num_relations - self.num_relations, before)


def folder_of(place: Place) -> Path:
    """Beside a file; that of a base in PostgreSQL in the cache of this machine."""
    if isinstance(place, Path):
        return place.with_name(place.name + "-index")
    digest = blake2b(str(place).encode(), digest_size=8).hexdigest()
    return home() / "indexes" / f"{quote(place.name, safe='')[:80]}-{digest}"


def make_index(store: Store) -> BaseIndex:
    """Write the index of a base as it is now, in the place of an older one."""
    changes = store.changes_since(0, 0, 0, evidence=Evidence())
    facts, names = changes.added, Vocabulary(changes.entities, changes.relations)
    first = store.triples(as_of=1, evidence=Evidence())
    loops = Counter(facts[facts[:, 0] == facts[:, 2], 1].tolist())
    token = secrets.token_hex(8)
    about = {
        "token": token,
        "moment": changes.moment,
        "last": int(facts[:, [0, 2]].max()) if len(facts) else -1,
        "first write": int(first[:, [0, 2]].max()) + 1 if len(first) else 0,
        "loops": {str(relation): count for relation, count in loops.items()},
    }
    with new_folder(folder_of(store.path), overwrite=True) as folder:
        folder.whole("unsure", changes.unsure.ravel())
        folder.whole("confidences", changes.confidences)
        del changes, first
        header = write_graph(folder, names, facts, len(names.relations))
        del facts
        graph = graph_so_far(folder, len(names.relations))
        folder.whole("meetings", meetings_in(graph, torch.device("cpu")).ravel())
        folder.whole("sizes", slot_sizes(graph).ravel())
        for name, part in count(graph)._asdict().items():
            folder.whole(f"counted.{name}", part.ravel())
        folder.close({**header, "source": str(store.path), "base": about})
    others = store.metas().get(KEY, "").split()  # of other machines that use a base in PostgreSQL
    store.set_meta(**{KEY: " ".join([*others, token][-MOST_TOKENS:])})
    return BaseIndex(DiskGraph.open(folder_of(store.path)))


def keep_index(store: Store) -> BaseIndex | None:
    """Make an index for a large base that has none, or one that is too old, if the base can be written to."""
    if store.read_only or store.count()["facts"] < FROM:
        return None
    with suppress(HMemError, OSError):  # a full disk, for one: then all facts are read, as without it
        return make_index(store)
    return None


def problems_of_index(store: Store) -> list[str]:
    """What is wrong with the index that a base uses, by its checksums, in words. Reads all of it."""
    if BaseIndex.of(store) is None:
        return []
    folder = folder_of(store.path)
    return [f"of its index, {problem} ({folder}); make it anew with hmem kb index" for problem in problems(folder)]


def remove_index(place: Place) -> None:
    """Remove the index of a base that is replaced."""
    shutil.rmtree(folder_of(place), ignore_errors=True)


def meetings_in(graph: Neighborhoods, device: torch.device) -> Int[np.ndarray, "Q Q"]:
    """At how many entities each two roles meet, by the facts that a graph was built with."""
    counts = np.zeros((graph.num_roles, graph.num_roles), dtype=np.int64)
    for start in range(0, len(graph.offsets) - 1, ENTITIES):
        bounds = graph.offsets[start : start + ENTITIES + 1]
        owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        role = graph.roles[bounds[0] : bounds[-1]].astype(np.int64)
        if len(role):
            owners, roles = (torch.from_numpy(each).to(device) for each in (owner, role))
            counts += meeting_counts(owners, roles, graph.num_roles).cpu().numpy()
    return counts
