"""The names in a knowledge base: ids, labels and aliases, how many facts each has, and which are like another.

Kept current from the store's changes, so that looking a name up costs the same in a large base as in a small one.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from hmem.graph.descriptions import Description, Labels, fold
from hmem.graph.name_search import closest
from hmem.graph.names import Names, unknown_name
from hmem.graph.triples import Triples
from hmem.knowledge.store.database import Kind
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from hmem.serve.search import MOST_LETTERS, Search

KINDS: tuple[Kind, ...] = ("entity", "relation")
NEAR = 3  # names that may have been meant


@dataclass(frozen=True, slots=True)
class Named:
    """An entity or a relation, and in how many facts it stands."""

    name: str  # the id
    facts: int
    said: Description | None = None  # what is known of it besides
    found_by: str | None = None  # the label or alias that is like what was typed, "" for the description


@dataclass(frozen=True, slots=True)
class Said(Labels):
    """What some entities and relations are called, and the kinds of those that have one."""

    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Totals:
    """How much there was at the last look."""

    facts: int = 0
    entities: int = 0
    relations: int = 0
    moment: int = 0


class NameIndex:
    """The entities and relations of a store. Safe to use from several threads: it owns a lock over its own tables."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._tables: dict[str, _Table] = {kind: _Table(kind) for kind in KINDS}
        self._moment: int | None = None  # of the store, when it was last looked at
        self.totals = Totals()  # replaced as a whole, so that it can be read without the lock
        self.refresh()

    def refresh(self) -> None:
        """Take in what was written since the last look."""
        with self._current():
            pass

    def find(self, kind: Kind, name: str) -> str:
        """The id of the entity or relation that has this id, label or alias; an UnknownNameError if none has."""
        with self._current() as tables:
            number = tables[kind].names.get(name)
            if number is not None and tables[kind].counts[number]:  # one without facts may be another's alias
                return name
        found = self._store.naming.get(kind, name)
        if found is None:
            raise unknown_name(kind, name)
        return found

    def describe(self, name: str) -> Named:
        """An entity by its id."""
        with self._current() as tables:
            return tables["entity"].named(tables["entity"].names.id_of(name, suggest=False))

    def labels(self, entities: Iterable[str], relations: Iterable[str] = (), as_of: int | None = None) -> Said:
        """The labels of those that have one which differs from the id, and the kinds of entities.

        What was written after `as_of` may be missing. Asked so, the store is looked at only after a write.
        """
        named = list(entities)
        with self._current(as_of) as tables:
            called = tables["entity"].labels(named), tables["relation"].labels(relations)
            return Said(*called, kinds=tables["entity"].kinds(named))

    def labels_of(self, facts: Iterable[Names3], as_of: int | None = None) -> Said:
        """The labels and kinds of all that some facts name."""
        named = list(facts)
        ends = (end for head, _, tail in named for end in (head, tail))
        return self.labels(ends, (relation for _, relation, _ in named), as_of)

    def facts_of(self, name: str) -> int | None:
        """How many facts an entity stands in; None for one that was never stored."""
        with self._current() as tables:
            number = tables["entity"].names.get(name)
            return None if number is None else int(tables["entity"].counts[number])

    def relations(self) -> list[Named]:
        """All relations, as they came."""
        with self._current() as tables:
            table = tables["relation"]
            return [table.named(number) for number in range(len(table.names))]

    def entities(self, typed: str, limit: int, kind: str | None = None) -> list[Named]:
        """The entities that may be meant, of one kind or of any; without anything typed, those with the most facts."""
        with self._current() as tables:
            table = tables["entity"]
            found = table.find(typed, limit if kind is None else len(table.names))
            if kind is not None:
                found = [number for number in found if table.is_of(number, kind)][:limit]
            by = (table.search.why(number, typed) if typed.strip() else None for number in found)
            return [replace(table.named(number), found_by=name) for number, name in zip(found, by, strict=True)]

    def named(self, facts: Triples) -> list[Names3]:
        """Facts given by the numbers of the store."""
        with self._current() as tables:
            entities, relations = tables["entity"].names, tables["relation"].names
            return [(entities[head], relations[relation], entities[tail]) for head, relation, tail in facts.tolist()]

    def closest(self, kind: str, name: str) -> list[str]:
        """A few names like one that is not there."""
        if kind == "property":  # of which there are few
            names = [*self._store.values.names(), *self._store.naming.called("property")]
        else:
            with self._lock:
                table = self._tables[kind]
                names = [*table.names, *table.called()]
        return closest(name[:MOST_LETTERS], dict.fromkeys(names), NEAR)

    @contextmanager
    def _current(self, as_of: int | None = None) -> "Iterator[dict[str, _Table]]":
        """The tables, for this thread alone meanwhile, with all that was written, or all until a moment."""
        with self._lock:
            is_known = as_of is not None and self._moment is not None and as_of <= self._moment
            if not is_known and self._store.moment != self._moment:
                entities, relations = self._tables["entity"], self._tables["relation"]
                changes = self._store.changes_since(self._moment or 0, len(entities.names), len(relations.names))
                entities.extend(changes.entities)
                relations.extend(changes.relations)
                for facts, sign in ((changes.added, 1), (changes.removed, -1)):
                    others = facts[facts[:, 0] != facts[:, 2]]  # a fact about an entity and itself is one fact
                    np.add.at(relations.counts, facts[:, 1], sign)
                    np.add.at(entities.counts, facts[:, 0], sign)
                    np.add.at(entities.counts, others[:, 2], sign)
                for kind in KINDS:
                    self._tables[kind].describe(self._store.naming.changed_since(kind, self._moment or 0))
                self._moment = changes.moment
                facts_now = int(relations.counts.sum())
                self.totals = Totals(facts_now, len(entities.names), len(relations.names), changes.moment)
            yield self._tables


class _Table:
    """The names of one kind in the order in which they came."""

    def __init__(self, kind: str) -> None:
        self.names = Names(kind)
        self.counts: Int[np.ndarray, " n"] = np.zeros(0, dtype=np.int64)  # with room for more
        self.search = Search()
        self.said: dict[int, Description] = {}  # of those that anything is said of

    def extend(self, names: list[str]) -> None:
        for name in names:
            self.names.add(name)
        self.search.extend(names)
        if len(self.names) > len(self.counts):
            room = max(len(self.names), 2 * len(self.counts)) - len(self.counts)
            self.counts = np.concatenate([self.counts, np.zeros(room, dtype=np.int64)])

    def describe(self, said: dict[int, Description]) -> None:
        """Take in what is said from now on."""
        self.said.update(said)
        for number, each in said.items():
            self.search.rename(number, [each.id, each.label or "", *each.aliases], each.description or "")

    def named(self, number: int) -> Named:
        return Named(self.names[number], int(self.counts[number]), self.said.get(number))

    def labels(self, ids: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in ids if self.said else ():
            number = self.names.get(name)
            each = None if number is None else self.said.get(number)
            if each is not None and each.label not in (None, name):
                found[name] = str(each.label)
        return found

    def kinds(self, ids: Iterable[str]) -> dict[str, str]:
        numbers = ((name, self.names.get(name)) for name in ids if self.said)
        found = ((name, self.said.get(number)) for name, number in numbers if number is not None)
        return {name: each.kind for name, each in found if each is not None and each.kind is not None}

    def is_of(self, number: int, kind: str) -> bool:
        each = self.said.get(number)
        return each is not None and each.kind is not None and fold(each.kind) == fold(kind)

    def called(self) -> Iterator[str]:
        """All labels and aliases."""
        for each in self.said.values():
            yield from ([each.label] if each.label else [])
            yield from each.aliases

    def find(self, typed: str, limit: int) -> list[int]:
        if not typed.strip():
            order = np.lexsort((np.arange(len(self.names)), -self.counts[: len(self.names)]))
            return [int(number) for number in order[:limit]]
        exact = self.names.get(typed)
        found = [number for number in self.search.find(typed, self.counts, limit) if number != exact]
        return ([] if exact is None else [exact]) + found[: limit if exact is None else limit - 1]
