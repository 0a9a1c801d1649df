"""The edges of every entity, which memories are made of, in an index that facts can be added to and removed from."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from hmem.graph.edge_keys import CHUNK, EdgeKeys, sort_unique, type_of_roles
from hmem.graph.ranges import expand
from hmem.graph.triples import Triples, both_edges, mirror_role

FILLER_BITS = 32  # an edge of one entity is packed as role << 32 | filler


@dataclass(frozen=True, slots=True)
class FlatEdges:
    """The edges of several entities end to end: edge c belongs to the `owner[c]`-th entity that was asked for."""

    owner: Int[np.ndarray, " N"]
    roles: Int[np.ndarray, " N"]
    fillers: Int[np.ndarray, " N"]


class Neighborhoods:
    """Every entity's edges, sorted by role and then by filler.

    The facts that the index is built from are compressed rows that are never changed or copied: row e is
    `roles[offsets[e]:offsets[e+1]]` and the same of `fillers`. Facts that come or go later live in two small
    dictionaries on top. Whatever was added and removed, in whichever order, the edges equal those of an index built
    afresh from the facts that remain.
    """

    def __init__(
        self,
        offsets: Int[np.ndarray, " rows"],
        roles: Int[np.ndarray, " M"],
        fillers: Int[np.ndarray, " M"],
        num_relations: int,
    ) -> None:
        self.offsets, self.roles, self.fillers = offsets, roles, fillers
        self.num_relations = num_relations
        self.num_entities = len(offsets) - 1
        self._keys: Int[np.ndarray, " M"] | None = None  # owner · 2R + role of every base edge, made when asked for
        self._times: dict[int, tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]] = {}  # of roles asked for already
        self._added: dict[int, set[int]] = {}  # entity -> packed edges
        self._removed: dict[int, set[int]] = {}  # the same, for edges of the base

    @classmethod
    def build(cls, triples: Triples, num_entities: int, num_relations: int) -> "Neighborhoods":
        """Index the facts; repeated ones count once."""
        packed = EdgeKeys.of(num_entities, num_relations)
        if packed.most_owners < num_entities:
            return cls._build_lexical(triples, num_entities, num_relations)
        keys = np.empty(2 * len(triples), dtype=np.int64)
        for start in range(0, len(triples), CHUNK):  # chunks keep the temporaries small
            some = triples[start : start + CHUNK]
            keys[2 * start : 2 * (start + len(some))] = packed.pack(*both_edges(some, num_relations))
        keys = sort_unique(keys)
        roles = np.empty(len(keys), dtype=type_of_roles(num_relations))
        fillers = np.empty(len(keys), dtype=np.int32)
        counts = np.zeros(num_entities, dtype=np.int64)
        for start in range(0, len(keys), CHUNK):
            here = slice(start, start + CHUNK)
            owners, roles[here], fillers[here] = packed.unpack(keys[here])
            counts += np.bincount(owners, minlength=num_entities)
        return cls(_offsets(counts), roles, fillers, num_relations)

    @classmethod
    def _build_lexical(cls, triples: Triples, num_entities: int, num_relations: int) -> "Neighborhoods":
        """The same for graphs so large that an edge is no single number."""
        owner, role, filler = both_edges(np.unique(triples, axis=0), num_relations)
        order = np.lexsort((filler, role, owner))
        roles = role[order].astype(type_of_roles(num_relations))
        counts = np.bincount(owner, minlength=num_entities)
        return cls(_offsets(counts), roles, filler[order].astype(np.int32), num_relations)

    @property
    def num_roles(self) -> int:
        return 2 * self.num_relations

    @property
    def is_changed(self) -> bool:
        """Whether facts have come or gone since the index was built."""
        return bool(self._added or self._removed)

    @property
    def num_facts(self) -> int:
        """How many facts there are at this moment."""
        added, removed = (sum(map(len, each.values())) for each in (self._added, self._removed))
        return (len(self.roles) + added - removed) // 2

    def changed(self) -> set[int]:
        """The entities whose edges are not those that the index was built with."""
        return {*self._added, *self._removed}

    @property
    def num_changed(self) -> int:
        """As many entities as have changed at most."""
        return len(self._added) + len(self._removed)

    def built_roles(self, entity: int) -> Int[np.ndarray, " K"]:
        """The roles of the edges that the index was built with."""
        return self._base(entity)[0]

    @property
    def owners(self) -> Int[np.ndarray, " M"]:
        """The entity of every edge of the base."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def grow(self, num_entities: int) -> None:
        """Make room for entities that came later; they have no edges yet."""
        self.num_entities = max(self.num_entities, num_entities)

    def contains(self, head: int, relation: int, tail: int) -> bool:
        return 0 <= relation < self.num_relations and self._has(head, self._pack(relation + self.num_relations, tail))

    def add(self, head: int, relation: int, tail: int) -> bool:
        """Store a fact; False if it was there already."""
        if not 0 <= relation < self.num_relations:
            raise IndexError(f"relation {relation} is not one of the {self.num_relations} of this index")
        if self.contains(head, relation, tail):
            return False
        self.grow(max(head, tail) + 1)
        self._add_edge(head, self._pack(relation + self.num_relations, tail))
        self._add_edge(tail, self._pack(relation, head))
        return True

    def remove(self, head: int, relation: int, tail: int) -> bool:
        """Forget a fact; False if it was not there."""
        if not self.contains(head, relation, tail):
            return False
        self._remove_edge(head, self._pack(relation + self.num_relations, tail))
        self._remove_edge(tail, self._pack(relation, head))
        return True

    def edges_of(self, entity: int) -> tuple[Int[np.ndarray, " K"], Int[np.ndarray, " K"]]:
        """The roles and fillers of one entity, sorted by role and then by filler."""
        roles, fillers = self._base(entity)
        added, removed = self._added.get(entity), self._removed.get(entity)
        if added is None and removed is None:
            return roles, fillers
        packed = (roles.astype(np.int64) << FILLER_BITS) | fillers
        if removed is not None:
            packed = np.delete(packed, np.searchsorted(packed, list(removed)))
        if added is not None:
            new = np.sort(np.fromiter(added, np.int64, len(added)))
            packed = np.insert(packed, np.searchsorted(packed, new), new)
        return (packed >> FILLER_BITS).astype(self.roles.dtype), (packed & (2**FILLER_BITS - 1)).astype(np.int32)

    def answers(self, entity: int, role: int) -> Int[np.ndarray, " K"]:
        """The fillers of one role of one entity, sorted."""
        roles, fillers = self.edges_of(entity)
        return fillers[np.searchsorted(roles, role) : np.searchsorted(roles, role, side="right")]

    def answer_ranges(
        self, entities: Int[np.ndarray, " B"], roles: Int[np.ndarray, " B"]
    ) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
        """Where in `fillers` the answers to many (entity, role) queries begin and end; of an unchanged index only."""
        assert not self.is_changed, "ranges speak of the facts the index was built from"
        if self._keys is None:
            self._keys = self.owners * self.num_roles + self.roles
        wanted = entities.astype(np.int64) * self.num_roles + roles
        return np.searchsorted(self._keys, wanted), np.searchsorted(self._keys, wanted, side="right")

    def answers_of_each(
        self, entities: Int[np.ndarray, " B"], roles: Int[np.ndarray, " B"]
    ) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]:
        """These answers end to end, and which of the queries each belongs to; of an unchanged index only."""
        low, high = self.answer_ranges(entities, roles)
        query, place = expand(low, high - low)
        return query, self.fillers[place].astype(np.int64)

    def degrees(self, entities: Int[np.ndarray, " B"]) -> Int[np.ndarray, " B"]:
        """How many edges each entity has."""
        end = len(self.offsets) - 1  # an entity that came later has an empty row there
        counts: Int[np.ndarray, " B"] = (
            self.offsets[np.minimum(entities + 1, end)] - self.offsets[np.minimum(entities, end)]
        )
        if self.is_changed:
            change = [len(self._added.get(e, ())) - len(self._removed.get(e, ())) for e in entities.tolist()]
            counts += np.array(change, dtype=np.int64)
        return counts

    def lookup(self, entities: Int[np.ndarray, " B"]) -> FlatEdges:
        """The edges of several entities, without padding."""
        end = len(self.offsets) - 1  # an entity that came later has an empty row there
        counts = self.degrees(entities)
        apart = entities >= end
        if self.is_changed:
            apart = apart | np.array([e in self._added or e in self._removed for e in entities.tolist()], dtype=bool)
        if not apart.any():
            owner, position = expand(self.offsets[entities], counts)
            return FlatEdges(owner, self.roles[position], self.fillers[position])
        owner = np.repeat(np.arange(len(entities)), counts)
        roles, fillers = np.empty(len(owner), dtype=self.roles.dtype), np.empty(len(owner), dtype=np.int32)
        is_apart = apart[owner]
        _, position = expand(self.offsets[np.minimum(entities, end)][~apart], counts[~apart])
        roles[~is_apart], fillers[~is_apart] = self.roles[position], self.fillers[position]
        pieces = [self.edges_of(entity) for entity in entities[apart].tolist()]
        roles[is_apart] = np.concatenate([some for some, _ in pieces])
        fillers[is_apart] = np.concatenate([some for _, some in pieces])
        return FlatEdges(owner, roles, fillers)

    def fillers_by_role(self) -> list[Int[np.ndarray, " _"]]:
        """The fillers of each role in the base, once for each of their edges."""
        order = np.argsort(self.roles, kind="stable")
        bounds = np.searchsorted(self.roles[order], np.arange(1, self.num_roles))
        return np.split(self.fillers[order].astype(np.int64), bounds)

    def times(self, role: int, width: int) -> Int[np.ndarray, " W"]:
        """How many edges of this role each entity is the filler of; edges of the base are counted once and kept."""
        if role not in self._times:
            self._times[role] = np.unique(self.fillers[self.roles == role], return_counts=True)
        counts = np.zeros(max(width, self.num_entities), dtype=np.int64)
        fillers, numbers = self._times[role]
        counts[fillers] = numbers
        for overlay, change in ((self._added, 1), (self._removed, -1)):
            for edges in overlay.values():
                for edge in edges:
                    if edge >> FILLER_BITS == role:
                        counts[edge & (2**FILLER_BITS - 1)] += change
        return counts[:width]

    def times_of(self, role: int, entities: Int[np.ndarray, " B"]) -> Int[np.ndarray, " B"]:
        """The same of a few entities, by their own edges."""
        edges = self.lookup(entities)
        back = mirror_role(role, self.num_relations)
        return np.bincount(edges.owner[edges.roles == back], minlength=len(entities))

    def to_triples(self) -> Triples:
        """The facts, sorted by head, relation, tail."""
        edges = self.lookup(np.arange(self.num_entities))
        right = edges.roles >= self.num_relations
        relation = edges.roles[right].astype(np.int32) - self.num_relations
        return np.stack([edges.owner[right].astype(np.int32), relation, edges.fillers[right]], axis=1)

    def _base(self, entity: int) -> tuple[Int[np.ndarray, " K"], Int[np.ndarray, " K"]]:
        if entity >= len(self.offsets) - 1:
            return self.roles[:0], self.fillers[:0]
        row = slice(self.offsets[entity], self.offsets[entity + 1])
        return self.roles[row], self.fillers[row]

    @staticmethod
    def _pack(role: int, filler: int) -> int:
        return role << FILLER_BITS | filler

    def _in_base(self, entity: int, edge: int) -> bool:
        roles, fillers = self._base(entity)
        role, filler = edge >> FILLER_BITS, edge & (2**FILLER_BITS - 1)
        run = fillers[np.searchsorted(roles, role) : np.searchsorted(roles, role, side="right")]
        place = int(np.searchsorted(run, filler))
        return place < len(run) and int(run[place]) == filler

    def _has(self, entity: int, edge: int) -> bool:
        if edge in self._added.get(entity, ()):
            return True
        return self._in_base(entity, edge) and edge not in self._removed.get(entity, ())

    def _add_edge(self, entity: int, edge: int) -> None:
        if not _discard(self._removed, entity, edge):
            self._added.setdefault(entity, set()).add(edge)

    def _remove_edge(self, entity: int, edge: int) -> None:
        if not _discard(self._added, entity, edge):
            self._removed.setdefault(entity, set()).add(edge)


def _offsets(counts: Int[np.ndarray, " E"]) -> Int[np.ndarray, " rows"]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def _discard(overlay: dict[int, set[int]], entity: int, edge: int) -> bool:
    """Take the edge out if it is there; an entity without changes leaves no trace."""
    edges = overlay.get(entity, set())
    if edge not in edges:
        return False
    edges.remove(edge)
    if not edges:
        del overlay[entity]
    return True
