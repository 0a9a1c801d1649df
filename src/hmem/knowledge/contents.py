"""What a knowledge base holds, and how it changes. No model is needed for any of it."""

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, Unpack

from hmem.errors import DataError, Place
from hmem.graph.days import Stretch
from hmem.graph.descriptions import Description, Told
from hmem.graph.qualifiers import Day, Given
from hmem.graph.readers.entities import read_entities
from hmem.graph.values import Plain, Value
from hmem.knowledge.duplicates import Duplicates, Finder
from hmem.knowledge.export import export, format_of
from hmem.knowledge.results import ENTITIES, Neighbor, Neighbors, Prediction, Predictions, Similar, Similars, Values
from hmem.knowledge.sparql import SECONDS, Solutions, Sparql
from hmem.knowledge.store.as_dataset import table_of, told_by
from hmem.knowledge.store.database import Kind, Progress
from hmem.knowledge.store.merge import Merged, RemovedEntity, Renamed
from hmem.knowledge.store.naming import Described
from hmem.knowledge.store.places import shown_place
from hmem.knowledge.store.records import Names3, StoredFact, StoredWrite, Written
from hmem.knowledge.store.store import Store
from hmem.knowledge.store.validation import check_name
from hmem.knowledge.store.writes import Undone

Row = TypeVar("Row", Prediction, Similar, Neighbor)
AnyTable = TypeVar("AnyTable", Predictions, Similars, Neighbors)


class Contents:
    """The facts, names and values of a base. The store guards its own connection: nothing here waits for answers."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._querying = threading.Lock()  # guards the next line
        self._sparql: Sparql | None = None

    def close(self) -> None:
        self.store.close()
        with self._querying:
            if self._sparql is not None:
                self._sparql.close()

    @property
    def path(self) -> Place:
        return self.store.path

    def __len__(self) -> int:
        return self.store.count()["facts"]

    def __contains__(self, fact: object) -> bool:
        match fact:
            case [str(head), str(relation), str(tail)]:
                with suppress(DataError):  # no entity can have such a name
                    return self.store.contains(head, relation, tail)
        return False

    def __bool__(self) -> bool:
        return True  # also without facts

    # Changing it

    def add(self, head: str, relation: str, tail: str, *, source: str | None = None, **given: Unpack[Given]) -> bool:
        """Store a fact; False if it was there already. Names that are new make new entities and relations.

        What may be `given` of it: its `confidence`, and `valid_from` and `valid_until`, the first and the last day on
        which it held, where a year or a month stands for its first day and its last.

        Each name may be an id, a label or an alias; those of `add_many` and `import_` are ids.
        """
        return bool(len(self.store.add([(head, relation, tail)], source=source, by_label=True, **given).changed))

    def add_many(self, facts: Iterable[Names3], *, source: str | None = None, **given: Unpack[Given]) -> Written:
        """Store facts, all or none. What is `given` of them, such as a confidence, is one for all, or one for each."""
        return self.store.add(facts, source=source, **given)

    def revise(self, head: str, relation: str, tail: str, *, source: str | None = None, **given: Unpack[Given]) -> bool:
        """Say other things of a stored fact; False if it is said so already, or if the fact is not stored.

        What is not given stays, and "" takes it back. In the history the fact ends and begins anew in one moment.
        """
        return bool(len(self.store.revise([(head, relation, tail)], source=source, **given).changed))

    def remove(self, head: str, relation: str, tail: str, *, source: str | None = None) -> bool:
        """Forget a fact, but not its history; False if it was not there."""
        naming = self.store.naming
        named = naming.get("entity", head), naming.get("relation", relation), naming.get("entity", tail)
        if None in named:
            return False
        return bool(len(self.remove_many([(head, relation, tail)], source=source).changed))

    def remove_many(self, facts: Iterable[Names3], *, source: str | None = None) -> Written:
        """Forget facts, all or none; a name that is not there is an UnknownNameError, since it may be misspelt."""
        return self.store.remove(facts, source=source)

    def import_(
        self,
        facts: object,
        *,
        source: str | None = None,
        progress: Progress | None = None,
        values: Sequence[str] = (),
        in_parts: bool = False,
        **options: object,
    ) -> Written:
        """Store the facts of a file, a folder, a dataset, a table or a graph, all or none.

        With `in_parts` other processes can write in between: every part is stored whole or not at all, and an import
        that was broken off is finished by the same call.

        `options` say how to read a file, as in `read_table`. The source is the file's name unless it is given. The
        tails of the relations `values` are numbers, dates or texts, and no entities. From another base come its labels
        and values, too.
        """
        if isinstance(facts, str | os.PathLike):
            self.store.refuse_itself(facts)
            source = Path(shown_place(facts)).name if source is None else source
        table = table_of(facts, **options)
        besides = None if options else told_by(facts)
        how: dict[str, Any] = {"source": source, "progress": progress, "values": values, "besides": besides}
        if in_parts:
            return Written.joined(list(self.store.add_in_parts(table, **how)))
        return self.store.add_table(table, **how)

    def export(
        self,
        file: str | os.PathLike[str],
        *,
        format: str | None = None,
        as_of: datetime | int | None = None,
        overwrite: bool = False,
    ) -> int:
        """Write all that is stored, or was at a time, to a file, by the ending of its name; how many facts these are.

        TSV, CSV, Parquet, N-Triples, Turtle, JSON-LD and GraphML; with format="neo4j" a folder of two CSV files.
        """
        return export(self.store, file, format_of(os.fspath(file), format), as_of, overwrite=overwrite)

    def describe(
        self, name: str, *, of: Kind = "entity", source: str | None = None, **said: str | Sequence[str] | None
    ) -> Description:
        """Say what an entity is: its label, aliases, kind and description; all that is said of it then.

        With of="relation" what a relation is: its label, aliases, description, and its inverse, which is what it is
        called from the tail to the head. What is given takes the place of what was said before, "" or no aliases that
        of nothing.
        """
        if said:
            self.store.naming.describe(of, name, source=source, **said)
        return self.store.naming.description(of, name)

    def describe_many(
        self, entities: str | os.PathLike[str] | Iterable[Description], *, source: str | None = None
    ) -> Described:
        """Say what is known of many by id, from descriptions or a file of them (`hmem.graph.readers.entities`).

        Ids that no fact has are left out, and listed in the result.
        """
        told = told_of([entities] if isinstance(entities, str | os.PathLike) else entities)
        return self.store.naming.describe_all(told.descriptions, values=told.values, source=source)

    def set_value(
        self, entity: str, property: str, *values: Plain | Value, unit: str | None = None, source: str | None = None
    ) -> bool:
        """Say what a property of an entity is, in the place of what was said before; without values, nothing.

        Numbers, dates, booleans and texts of Python are understood, and any `hmem.graph.values.Value`. False if it is
        so already.
        """
        return self.store.values.set(entity, property, [Value.of(each, unit) for each in values], source=source)

    def merge(self, kept: str, other: str, *, source: str | None = None) -> Merged:
        """Make one entity of two: all that is said of `other` is said of `kept` from now on, which its names find too.

        It is one write, which `undo` turns back.
        """
        return self.store.merge(kept, other, source=source)

    def rename(self, name: str, new: str, *, of: Kind = "entity", source: str | None = None) -> Renamed:
        """Let an entity, or with of="relation" a relation, have another id; the old one finds it, too.

        Facts of a relation join those of `new` if there is such a relation.
        """
        return self.store.rename(name, new, of=of, source=source)

    def remove_entity(self, entity: str, *, source: str | None = None) -> RemovedEntity:
        """Forget all that is said of an entity, but not the history."""
        return self.store.remove_entity(entity, source=source)

    def undo(self, moment: int, *, and_later: bool = False, source: str | None = None) -> Undone:
        """Turn any write back by its moment: what it brought goes, and what it took away comes again.

        With `and_later` all later ones as well, so that everything is as it was before. `writes` lists them.
        """
        return self.store.undo(moment, and_later=and_later, source=source)

    # Looking at it

    def writes(self, limit: int | None = None) -> list[StoredWrite]:
        """The writes by their moments, the latest first: when, from which source, and what each changed."""
        return self.store.writes(limit)

    def values(self, entity: str, property: str | None = None) -> Values:
        """The numbers, dates, booleans and texts that are said of an entity, of all its properties or of one."""
        return Values(list(self.store.values.listing(entity, property)))

    def kinds(self) -> dict[str, int]:
        """The kinds of entities, and how many there are of each, the most frequent first."""
        return self.store.naming.kinds()

    def duplicates(self, k: int = 20) -> Duplicates:
        """The k pairs of entities that are most probably one, with what speaks for it and against it.

        The score orders them and is no probability; see `hmem.knowledge.duplicates`. `merge` joins two.
        """
        found = Finder(self.store).best(k)
        found.labels = self.store.naming.labels(found.ids("kept", "other"))
        return found

    def sparql(self, query: str, *, seconds: float = SECONDS, limit: int | None = None) -> Solutions:
        """The answer to a SPARQL query, a SELECT or an ASK, over the stored facts: at most `limit` rows.

        Names are IRIs by `hmem.graph.rdf_terms`; needs the extra `rdf`. One that takes more than `seconds` is ended.
        """
        with self._querying:
            _ = self.store.moment  # a StoreError once it is closed
            self._sparql = self._sparql or Sparql(self.path)
        return self._sparql.query(query, seconds=seconds, limit=limit)

    def neighbors(self, entity: str, limit: int | None = None, *, at: Day | None = None) -> Neighbors:
        """The stored facts of an entity, as head and as tail, with their sources and times."""
        return self._labelled(Neighbors(self._neighbors(entity, limit, at)))

    def neighbors_many(self, entities: Iterable[str], limit: int | None = None, *, at: Day | None = None) -> Neighbors:
        """`neighbors` of several entities, one after the other; `query` says to which a row belongs."""
        return self._labelled(Neighbors(numbered([self._neighbors(entity, limit, at) for entity in entities])))

    def _neighbors(self, entity: str, limit: int | None, at: Day | None) -> list[Neighbor]:
        return [Neighbor(**asdict(fact)) for fact in facts_of(self.store, check_name("entity", entity), limit, at)]

    def _labelled(self, table: AnyTable) -> AnyTable:
        """The table, which knows the labels of what is named in it from now on."""
        table.labels = self.store.naming.labels(table.ids(*ENTITIES), table.ids("relation"))
        return table


def facts_of(store: Store, entity: str, limit: int | None, at: Day | Stretch | None = None) -> list[StoredFact]:
    """The stored facts of an entity, those with it as head first; a fact about itself once."""
    entity = store.naming.find("entity", entity)
    facts = list(store.listing(head=entity, at=at, limit=limit))
    facts += [fact for fact in store.listing(tail=entity, at=at, limit=limit) if fact.head != entity]
    return facts[:limit]


def told_of(entities: Iterable[Description | str | os.PathLike[str]]) -> Told:
    """Descriptions as given, and what files say."""
    found = Told([], [])
    for each in entities:
        more = Told([each], []) if isinstance(each, Description) else read_entities(Path(each).expanduser())
        found = Told(found.descriptions + more.descriptions, found.values + more.values)
    return found


def numbered(tables: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of several questions one after the other, each marked with its own."""
    return [replace(row, query=number) for number, rows in enumerate(tables) for row in rows]
