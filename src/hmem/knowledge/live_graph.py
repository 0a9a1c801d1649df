"""The facts of a store as a model sees them, kept current.

A store numbers names as they arrive, a model as it was trained. Here a model's E entities are 0 … E − 1, and all others
follow from E on in the order of arrival: the *unseen* entities. Relations likewise, and facts whose relation the model
was not trained with stay out of the index, since the model cannot be asked for them. So do those that are no evidence.

Where `takes_values` is said, values are evidence too: edges to buckets (`hmem.knowledge.live_values`), which no listing
of facts shows.

Changes are applied one by one before each read, whichever process wrote them, and cost the same in a large graph as in
a small one. Entities that changed are read more slowly than others; when they are many, all are indexed anew. What is
indexed depends on the current facts alone, never on how they came about.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Int

from hmem.graph.confidences import Confidences, weighed
from hmem.graph.names import Names, Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples, is_among
from hmem.knowledge.base_index import BaseIndex, keep_index
from hmem.knowledge.live_values import LiveValues
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.records import Changes
from hmem.knowledge.store.store import Store

BLOCK = 1024  # rows are made ready for so many unseen entities at a time
SHARE_ONE_BY_ONE = 50  # one in so many facts is changed one by one all the same
MOST_ONE_BY_ONE = 50_000  # changes at once; beyond, indexing all facts anew is quicker and gives the same
MOST_CHANGED, SHARE_CHANGED = (
    256,
    200,
)  # entities, and one for so many facts: beyond, what changed is indexed with the rest


class Numbering:
    """Names in a model's order, then in that of their arrival; and which of them each name of the store is."""

    def __init__(self, trained: Names) -> None:
        self.names = Names(trained.kind, list(trained))
        self.num_trained = len(trained)
        self.of_store: Int[np.ndarray, " n"] = np.empty(0, dtype=np.int32)

    @classmethod
    def of_index(cls, names: Names) -> "Numbering":
        """The names of a store in its own order, which a model without names takes."""
        made = cls(Names(names.kind))
        made.names, made.of_store = names, np.arange(len(names), dtype=np.int32)
        return made

    def extend(self, names: list[str]) -> None:
        """Take in the next names of the store."""
        ids = np.array([self.names.add(name) for name in names], dtype=np.int32)
        self.of_store = np.concatenate([self.of_store, ids])


class LiveGraph:
    """Names and edges in the numbering of a model; `refresh` before reading.

    It has no lock: `KnowledgeBase` owns the one lock, and lends it to one thread at a time.
    """

    graph: Neighborhoods
    moment: int  # of the last write that has been applied
    has_labels: bool  # whether anything in the base may have one
    has_inferred: bool  # whether any fact may have been inferred by a model
    confidences: Confidences  # of the facts that are not quite sure
    loops: Counter[int]  # how many facts of each relation have the same entity at both ends
    index: BaseIndex | None  # that the graph was opened from
    touched: set[int] | None  # the entities whose facts have changed since this was emptied; None for all entities
    _last: int  # the highest number of an entity that has facts

    def __init__(
        self,
        store: Store,
        trained: Vocabulary,
        *,
        takes_new_relations: bool = False,
        takes_values: bool = False,
        evidence: Evidence = Evidence(),  # noqa: B008  # never changes
    ) -> None:
        assert takes_new_relations or not takes_values, "a property is a new relation to a model"
        self.takes_values = takes_values
        self.store, self.takes_new_relations, self.evidence = store, takes_new_relations, evidence
        self._trained = trained
        self._number(Numbering(trained.entities), Numbering(trained.relations))
        self.num_trained = self.entities.num_trained  # E, how many entities the model has a vector for
        self.num_relations = self.relations.num_trained  # R, how many relations the model can use
        self._load()

    @property
    def width(self) -> int:
        """How many entities can be answers: E, and whole blocks up to the last unseen one that has facts."""
        unseen = self._last + 1 - self.num_trained
        return self.num_trained + BLOCK * -(-max(0, unseen) // BLOCK)

    def refresh(self) -> None:
        """Apply what was written since the last look, by this process or another."""
        if self.store.moment == self.moment:  # every write that changes facts makes a moment
            return
        changes = self._changes_since(self.moment)
        # Behind the changes, so that no value is missed that came before their moment.
        has_other_values = self.takes_values and self.store.values.changed_since(self.moment)
        is_new_relation = self.takes_new_relations and len(changes.relations) > 0  # which changes every role's number
        if is_new_relation or len(changes.added) + len(changes.removed) > self._most_one_by_one:
            self._load()
            return
        self._apply(changes)
        if has_other_values:
            self._change_values()
        most = max(MOST_CHANGED, self.graph.num_facts // SHARE_CHANGED)
        if self.index is None and self.graph.num_changed > most:
            self.graph = Neighborhoods.build(self.graph.to_triples(), self.graph.num_entities, self.num_relations)

    @property
    def num_facts(self) -> int:
        """How many stored facts are indexed."""
        return self.graph.num_facts - len(self.values.edges)

    @property
    def fact_relations(self) -> Int[np.ndarray, " n"]:
        """The relations of facts, without the properties of values."""
        return np.setdiff1d(np.arange(self.num_relations), list(self.values.properties))

    def facts(self) -> Triples:
        """The stored facts that are indexed, sorted by head, relation, tail."""
        triples = self.graph.to_triples()
        return triples[self.values.is_fact(triples)] if len(self.values.edges) else triples

    def has_facts(self, entity: int) -> bool:
        """Whether the entity has facts that the model can use."""
        return bool(self.graph.degrees(np.array([entity]))[0])

    def has_stored_facts(self, entity: int) -> bool:
        """Whether the entity has facts at all, be it with relations that the model was not trained with."""
        if entity not in self.entities.of_store:
            return False
        name = self.entities.names[entity]
        listings = self.store.listing(head=name, limit=1), self.store.listing(tail=name, limit=1)
        return any(True for listing in listings for _ in listing)

    def unseen(self) -> Int[np.ndarray, " n"]:
        """The unseen entities that have facts."""
        candidates = np.setdiff1d(np.arange(self.num_trained, self._last + 1), self.values.buckets)
        return candidates[self.graph.degrees(candidates) > 0]

    def translate(self, facts: Triples) -> Triples:
        """Facts of the store in our numbering; those the model has no relation for are left out."""
        columns = self.entities, self.relations, self.entities
        ours = np.stack([numbering.of_store[facts[:, place]] for place, numbering in enumerate(columns)], axis=1)
        return ours[ours[:, 1] < self.num_relations]

    @contextmanager
    def without(self, head: int, relation: int, tail: int) -> Iterator[None]:
        """A while in which one stored fact is not there; afterwards everything is as before."""
        assert self.graph.contains(head, relation, tail), "only a stored fact can be left out"
        self._remove(head, relation, tail)
        try:
            yield
        finally:
            self._add(head, relation, tail)

    def _number(self, entities: Numbering, relations: Numbering) -> None:
        self.entities, self.relations = entities, relations
        self.values = LiveValues(self.store, entities.names, relations.names)

    def _load(self) -> None:
        """Everything at once, as of one moment: from an index and what came since, or all facts."""
        has_own_names = self.num_trained > 0 or not self.takes_new_relations  # which are numbered otherwise
        may_have_index = not has_own_names and self.evidence == Evidence()
        if not (may_have_index and any(self._load_from(find(self.store)) for find in (BaseIndex.of, keep_index))):
            self._load_all()

    def _load_from(self, index: BaseIndex | None) -> bool:
        """Open an index and apply what came since; False if it is none, or if that is too much."""
        if index is None:
            return False
        vocab = index.graph.vocab
        self._number(Numbering.of_index(vocab.entities), Numbering.of_index(vocab.relations))
        changes = self._changes_since(index.moment)
        if self.takes_values:
            self.values.read(self.entities.of_store)
        self.num_relations = len(self.relations.names)
        self.index, self.graph = index, index.neighborhoods(self.num_relations)
        if len(changes.added) + len(changes.removed) + len(self.values.edges) > self._most_one_by_one:
            self._number(Numbering(self._trained.entities), Numbering(self._trained.relations))
            return False
        self.graph.grow(len(self.entities.names))
        self._last, self.loops, self.touched = index.last, index.loops(), None
        facts, confidences = index.unsure()
        self.confidences = Confidences(self.num_relations, weighed(facts, confidences))
        for edge in self.values.edges.tolist():
            self._add(*edge)
        self._apply(changes)
        return True

    @property
    def _most_one_by_one(self) -> int:
        return max(MOST_ONE_BY_ONE, self.graph.num_facts // SHARE_ONE_BY_ONE)

    def _load_all(self) -> None:
        self.index = None
        if self.values.properties:  # their numbers are the last of all, whatever came first
            self._number(self.entities, Numbering(self._trained.relations))
        changes = self._changes_since(0)
        if self.takes_values:
            self.values.read(self.entities.of_store)
        if self.takes_new_relations:
            self.num_relations = len(self.relations.names)
        facts = self.translate(changes.added)
        if len(self.values.edges):
            facts = np.concatenate([facts, self.values.edges])
        self.graph = Neighborhoods.build(facts, len(self.entities.names), self.num_relations)
        self._last = int(facts[:, [0, 2]].max()) if len(facts) else -1
        self.loops = Counter(facts[facts[:, 0] == facts[:, 2], 1].tolist())
        self.touched = None
        self.confidences = Confidences(self.num_relations, self._unsure(changes))
        self._is_at(changes)

    def _is_at(self, changes: Changes) -> None:
        self.moment, self.has_labels, self.has_inferred = changes.moment, changes.has_labels, changes.has_inferred

    def _weigh(self, changes: Changes) -> None:
        """Take in how sure the facts are that came, and forget how sure those were that went."""
        unsure = dict(self._unsure(changes))
        if not unsure and not self.confidences:
            return
        ended = map(tuple, self.translate(changes.ended).tolist())
        for fact, weight in {**dict.fromkeys(ended, 1.0), **unsure}.items():
            if self.confidences.set(fact, weight):
                self._touch(fact[0], fact[2])

    def _unsure(self, changes: Changes) -> Iterable[tuple[tuple[int, int, int], float]]:
        """How sure those of the new facts are that are not quite sure."""
        is_ours = self.relations.of_store[changes.unsure[:, 1]] < self.num_relations
        return weighed(self.translate(changes.unsure), changes.confidences[is_ours])

    def _change_values(self) -> None:
        """Put the edges to the buckets of now in the place of those of before."""
        before, properties = self.values.edges, set(self.values.properties)
        self.values.read(self.entities.of_store)
        now = self.values.edges
        gone, new = before[~is_among(before, now)], now[~is_among(now, before)]
        if set(self.values.properties) != properties or len(gone) + len(new) > MOST_ONE_BY_ONE:
            self._load()
            return
        for edge in gone.tolist():
            self._remove(*edge)
        for edge in new.tolist():
            self._add(*edge)

    def _changes_since(self, moment: int) -> Changes:
        """What is different from a moment. All names that came are known from now on."""
        seen = len(self.entities.of_store), len(self.relations.of_store)
        changes = self.store.changes_since(moment, *seen, evidence=self.evidence)
        self.entities.extend(changes.entities)
        self.relations.extend(changes.relations)
        return changes

    def _apply(self, changes: Changes) -> None:
        """Change the facts one by one."""
        for fact in self.translate(changes.removed).tolist():
            self._remove(*fact)
        for fact in self.translate(changes.added).tolist():
            self._add(*fact)
        self._weigh(changes)
        self._is_at(changes)

    def _add(self, head: int, relation: int, tail: int) -> None:
        self.loops[relation] += self.graph.add(head, relation, tail) and head == tail
        self._last = max(self._last, head, tail)
        self._touch(head, tail)

    def _remove(self, head: int, relation: int, tail: int) -> None:
        self.loops[relation] -= self.graph.remove(head, relation, tail) and head == tail
        while self._last >= self.num_trained and not self.has_facts(self._last):
            self._last -= 1
        self._touch(head, tail)

    def _touch(self, *entities: int) -> None:
        if self.touched is not None:
            self.touched.update(entities)
