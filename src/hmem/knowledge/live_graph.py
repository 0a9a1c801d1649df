"""The facts of a store as a model sees them, kept current.

A store numbers names as they arrive, a model as it was trained. Here a model's E entities are 0 … E − 1, and everybody
else follows from E on in the order of arrival: the *newcomers*. Relations likewise, and facts whose relation the model
does not know stay out of the index, since nothing could be asked of them.

Whoever wrote them, changes are applied one by one before each read and cost the same in a large graph as in a small
one. What is indexed depends on the current facts alone, never on how they came about.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Int

from hmem.errors import DataError, EmptyNeighborhoodError, UnknownNameError
from hmem.graph.names import Names, Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples
from hmem.knowledge.store.records import Changes
from hmem.knowledge.store.store import Store

BLOCK = 1024  # rows are made ready for so many newcomers at a time
MOST_ONE_BY_ONE = 50_000  # changes at once; beyond, indexing all facts anew is quicker and gives the same


def text(kind: str, name: object) -> str:
    """A name as it is, or a DataError for what cannot be one."""
    if isinstance(name, str):
        return name
    raise DataError(f"expected the name of one {kind} as text, received {name!r:.60} ({type(name).__name__})")


class Numbering:
    """Names in a model's order, then in that of their arrival; and which of them each name of the store is."""

    def __init__(self, trained: Names) -> None:
        self.names = Names(trained.kind, list(trained))
        self.num_trained = len(trained)
        self.of_store: Int[np.ndarray, " n"] = np.empty(0, dtype=np.int32)

    def extend(self, names: list[str]) -> None:
        """Take in the next names of the store."""
        ids = np.array([self.names.add(name) for name in names], dtype=np.int32)
        self.of_store = np.concatenate([self.of_store, ids])

    def is_newcomer(self, name: str) -> bool:
        found = self.names.get(name)
        return found is not None and found >= self.num_trained


class LiveGraph:
    """Names and edges in the numbering of a model. Hold `lock` while reading; `refresh` before."""

    graph: Neighborhoods
    moment: int  # of the last write that has been applied
    _last: int  # the highest number of anybody who has facts

    def __init__(self, store: Store, trained: Vocabulary) -> None:
        self.store = store
        self.lock = threading.RLock()
        self.entities = Numbering(trained.entities)
        self.relations = Numbering(trained.relations)
        self._touched: set[int] | None = None
        self._load()

    @property
    def num_trained(self) -> int:
        """E, how many entities the model has a vector for."""
        return self.entities.num_trained

    @property
    def num_relations(self) -> int:
        """R, how many relations the model knows."""
        return self.relations.num_trained

    @property
    def width(self) -> int:
        """How many entities can be answers: E, and whole blocks up to the last newcomer that has facts."""
        newcomers = self._last + 1 - self.num_trained
        return self.num_trained + BLOCK * -(-max(0, newcomers) // BLOCK)

    def refresh(self) -> None:
        """Apply what was written since the last look, by this process or another."""
        with self.lock:
            if self.store.moment == self.moment:  # every write that changes facts makes a moment
                return
            seen = len(self.entities.of_store), len(self.relations.of_store)
            changes = self.store.changes_since(self.moment, *seen)
            if len(changes.added) + len(changes.removed) > MOST_ONE_BY_ONE:
                self._load()
                return
            self._extend(changes)
            for fact in self.translate(changes.removed).tolist():
                self._remove(*fact)
            for fact in self.translate(changes.added).tolist():
                self._add(*fact)
            self.moment = changes.moment

    def take_touched(self) -> set[int] | None:
        """The entities whose facts have changed since this was last asked; None for anybody."""
        touched, self._touched = self._touched, set()
        return touched

    def has_facts(self, entity: int) -> bool:
        return bool(self.graph.degrees(np.array([entity]))[0])

    def newcomers(self) -> Int[np.ndarray, " n"]:
        """The newcomers that have facts."""
        everybody = np.arange(self.num_trained, self._last + 1)
        return everybody[self.graph.degrees(everybody) > 0]

    def entity(self, name: str) -> int:
        return self.entities.names.id_of(text("entity", name))

    def entity_with_facts(self, name: str) -> int:
        """The entity, if there is anything to assemble a memory from."""
        entity = self.entity(name)
        if self.has_facts(entity):
            return entity
        if self._has_stored_facts(entity, name):
            raise EmptyNeighborhoodError(
                f'"{name}" has only facts with relations that the model does not know; '
                f"add others, or train a model with these: hmem train --from {self.store.path} --out DIR"
            )
        raise EmptyNeighborhoodError(
            f'"{name}" has no facts yet; add one with: hmem facts add {self.store.path} HEAD RELATION TAIL'
        )

    def relation(self, name: str) -> int:
        """The relation, if the model knows it."""
        relation = self.relations.names.id_of(text("relation", name))
        if relation >= self.num_relations:
            raise UnknownNameError(
                f'the relation "{name}" is stored and shown, but the model was trained before it came; '
                f"to predict with it, train with the present facts: hmem train --from {self.store.path} --out DIR"
            )
        return relation

    @contextmanager
    def without(self, head: int, relation: int, tail: int) -> Iterator[None]:
        """A while in which one stored fact is not there; afterwards everything is as before."""
        with self.lock:
            assert self.graph.contains(head, relation, tail), "only a stored fact can be left out"
            self._remove(head, relation, tail)
            try:
                yield
            finally:
                self._add(head, relation, tail)

    def _has_stored_facts(self, entity: int, name: str) -> bool:
        if entity not in self.entities.of_store:
            return False
        listings = self.store.listing(head=name, limit=1), self.store.listing(tail=name, limit=1)
        return any(True for listing in listings for _ in listing)

    def _load(self) -> None:
        """Everything at once, as of one moment."""
        seen = len(self.entities.of_store), len(self.relations.of_store)
        changes = self.store.changes_since(0, *seen)
        self._extend(changes)
        facts = self.translate(changes.added)
        self.graph = Neighborhoods.build(facts, len(self.entities.names), self.num_relations)
        self._last = int(facts[:, [0, 2]].max()) if len(facts) else -1
        self._touched = None
        self.moment = changes.moment

    def _extend(self, changes: Changes) -> None:
        self.entities.extend(changes.entities)
        self.relations.extend(changes.relations)

    def translate(self, facts: Triples) -> Triples:
        """Facts of the store in our numbering; those the model has no relation for are left out."""
        ours = np.stack(
            [numbering.of_store[facts[:, column]] for column, numbering in enumerate(self._columns)], axis=1
        )
        return ours[ours[:, 1] < self.num_relations]

    @property
    def _columns(self) -> tuple[Numbering, Numbering, Numbering]:
        return self.entities, self.relations, self.entities

    def _add(self, head: int, relation: int, tail: int) -> None:
        self.graph.add(head, relation, tail)
        self._last = max(self._last, head, tail)
        self._touch(head, tail)

    def _remove(self, head: int, relation: int, tail: int) -> None:
        self.graph.remove(head, relation, tail)
        while self._last >= self.num_trained and not self.has_facts(self._last):
            self._last -= 1
        self._touch(head, tail)

    def _touch(self, *entities: int) -> None:
        if self._touched is not None:
            self._touched.update(entities)
