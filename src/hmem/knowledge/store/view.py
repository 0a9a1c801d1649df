"""What is stored, to be read: the graph as of any moment, facts with their history, and what changed."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from hmem.graph.days import Stretch, stretch
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.qualifiers import Day
from hmem.graph.readers.table import table_of_triples
from hmem.graph.triples import Triples
from hmem.knowledge.store import listing, read, writes
from hmem.knowledge.store.database import Connection, Database
from hmem.knowledge.store.errors import DamageError
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.listing import Listing, Pattern
from hmem.knowledge.store.naming import Naming
from hmem.knowledge.store.records import Changes, Names3, StoredFact, StoredWrite
from hmem.knowledge.store.validation import check_fact
from hmem.knowledge.store.values import Values

PAGE = 10_000  # facts that are named at a time


class View:
    """The part of a store that reads. Each method is one transaction, and so of one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.path = connection.path
        self.naming = Naming(connection)
        self.values = Values(connection)

    @property
    def read_only(self) -> bool:
        return self._connection.read_only

    @property
    def is_frozen(self) -> bool:
        """Whether it lies where nothing can be written, so that it is read as it was when it was opened."""
        return self._connection.is_frozen

    # What is there

    @property
    def moment(self) -> int:
        """The number of the last write that changed facts, 0 in a new file."""
        return self._connection.moment()

    @property
    def version(self) -> int:
        """A number that changes whenever something was written, by any process; cheap enough to ask always."""
        return self._connection.version()

    def entity_names(self, start: int = 0) -> list[str]:
        return self._connection.read(read.names, "entity", start)

    def relation_names(self, start: int = 0) -> list[str]:
        return self._connection.read(read.names, "relation", start)

    def count(self) -> dict[str, int]:
        """How many facts, entities, relations, removed facts and moments there are, and how many bytes they take."""
        return {**self._connection.read(read.count), "bytes": self._connection.size()}

    def triples(self, as_of: datetime | int | None = None, *, evidence: Evidence | None = None) -> Triples:
        """All facts, in the order in which they were added; or those as of a time, or of a moment's number.

        With `evidence` only those that speak for others.
        """
        return self._connection.read(read.triples, as_of, evidence)

    def table(
        self, as_of: datetime | int | None = None, *, qualified: bool = False, evidence: Evidence | None = None
    ) -> pa.Table:
        """The same by name: a table with the columns head, relation and tail.

        If `qualified`, it also has those of `hmem.graph.qualifiers` that say something of any of the facts.
        """

        def found(db: Database) -> pa.Table:
            entities, relations = (pa.array(read.names(db, kind), pa.string()) for kind in ("entity", "relation"))
            try:
                facts = table_of_triples(read.triples(db, as_of, evidence), entities, relations)
            except pa.ArrowException as error:
                raise DamageError(f"a fact has a name that is not stored: {error}") from None
            if qualified:
                for name, column in read.qualifiers(db, as_of, evidence).items():
                    facts = facts.append_column(name, column)
            return facts

        return self._connection.read(found)

    def facts(self, as_of: datetime | int | None = None) -> Iterator[tuple[Names3, dict[str, Any]]]:
        """All facts by name, in the order in which they were added, each with what qualifies it."""
        if self._connection.read(read.is_qualified):
            for each in self.listing(as_of=as_of):
                said = {name: value for name in QUALIFIERS if (value := getattr(each, name)) is not None}
                yield each.names, said
            return
        facts, entities, relations = self.triples(as_of), self.entity_names(), self.relation_names()
        for start in range(0, len(facts), PAGE):
            for head, relation, tail in facts[start : start + PAGE].tolist():
                yield (entities[head], relations[relation], entities[tail]), {}

    def changes_since(
        self, moment: int, num_entities: int, num_relations: int, *, evidence: Evidence | None = None
    ) -> Changes:
        """What is different from `moment`, with the names beyond the first so many, which the caller has.

        With `evidence` only facts that speak for others count.
        """
        return self._connection.read(read.changes_since, moment, num_entities, num_relations, evidence)

    def contains(self, head: str, relation: str, tail: str) -> bool:
        """Whether the fact is there now; False too if one of the names is not stored."""
        fact = check_fact((head, relation, tail))
        return self._connection.read(read.contains, fact)

    def inferred(self, facts: Iterable[Names3]) -> dict[Names3, str]:
        """Those of some facts that are stored because a model inferred them, and which model that was."""
        return self._connection.read(read.inferred, list(facts))

    def models(self) -> dict[str, int]:
        """The models that inferred facts, and how many of each there are."""
        return self._connection.read(read.models)

    # Facts with their history

    def listing(
        self,
        *,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        as_of: datetime | int | None = None,
        at: Day | Stretch | None = None,
        inferred: bool | None = None,
        limit: int | None = None,
        offset: int = 0,
        newest_first: bool = False,
    ) -> Iterator[StoredFact]:
        """The facts with these names, as the file has them now or had them `as_of` a time; those that held `at` a day.

        They are those that a model inferred, those that were asserted, or both. They are read while you go through
        them, and are those of the moment of this call, whatever is written meanwhile. A name that is not in the file
        is an UnknownNameError.
        """

        def found(db: Database) -> tuple[Pattern, int]:
            return Pattern.find(db, head, relation, tail), read.moment_of(db, as_of)

        pattern, moment = self._connection.read(found)
        pattern = replace(pattern, at=None if at is None else stretch(at), inferred=inferred)
        return Listing(self._connection, pattern, moment, newest_first).read(limit, offset)

    def history(
        self, *, head: str | None = None, relation: str | None = None, tail: str | None = None, limit: int | None = None
    ) -> list[StoredFact]:
        """All that ever happened to the facts with these names, removed ones too: what changed last comes first."""

        def found(db: Database) -> list[StoredFact]:
            return listing.history(db, Pattern.find(db, head, relation, tail), limit)

        return self._connection.read(found)

    def details(self, triples: Triples) -> list[StoredFact]:
        """Current facts given by number, in that order, with source and time; those not stored are left out."""
        return self._connection.read(listing.details, triples)

    def writes(self, limit: int | None = None) -> list[StoredWrite]:
        """The writes, the latest first, with what each changed; `undo` takes the number of one."""
        return self._connection.read(writes.writes, limit)

    # Notes about the whole

    def metas(self) -> dict[str, str]:
        """All notes kept with the file, such as the model it uses, as of one moment."""
        return self._connection.read(read.metas)
