"""Facts that last: one SQLite file that keeps every fact, its source and time, and those of its removal.

    with Store.create("zoo.kb") as store:
        store.add([("dire_wolf", "hypernym", "canine")], source="me")
        store.triples()                      # the graph of now, as numbers
        store.triples(as_of=last_week)       # and as it was

A write that has returned is on the disk. Several processes may have the file open: writes take turns, reads do not
wait, and only whole writes are seen. Nothing here needs a model; see `hmem.knowledge.base` for answers.

`Store` is the interface of this package, with `Store.naming` for labels and descriptions and `Store.values` for
numbers, dates and texts. Behind it: connection (transactions and the lock), schema, migrate, read, write, bulk (many
facts), listing (facts with their history), texts and describe (names), value_rows, create, integrity, validation,
records (what is handed out), errors.
"""

import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from hmem import sqlite_files
from hmem.errors import StoreError
from hmem.graph.days import Stretch, stretch
from hmem.graph.descriptions import Told
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.qualifiers import Day, Given, Qualifiers
from hmem.graph.readers.rdf_descriptions import split_facts
from hmem.graph.readers.table import table_of_triples
from hmem.graph.triples import PARTS, Triples
from hmem.knowledge.store import bulk, create, describe, integrity, listing, merge, read, texts, value_rows, write
from hmem.knowledge.store.bulk import Column, Progress
from hmem.knowledge.store.connection import Connection, size_of
from hmem.knowledge.store.errors import damage
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.listing import Listing, Pattern
from hmem.knowledge.store.merge import Merged, Undone
from hmem.knowledge.store.naming import Naming
from hmem.knowledge.store.records import Changes, Names3, StoredFact, StoredWrite, Written
from hmem.knowledge.store.validation import check_fact, check_facts, check_name, check_source
from hmem.knowledge.store.values import Values
from hmem.knowledge.store.write import Write

MANY = 10_000  # facts from which on adding them in bulk is quicker
PART = 20_000  # facts of one write of many, and what is said besides
PAUSE = 0.12  # seconds: who waits for a write to end looks every 0.1 s whether it has


class Store:
    """The durable facts of a knowledge base.

    Entities and relations are numbered from 0 in the order in which they came, and keep their numbers for good.

    Safe to use from several threads, which take turns: the store has one lock, that of its connection, and every method
    holds it for one transaction. To read while another thread writes, open a second store.
    """

    def __init__(self, connection: Connection) -> None:
        """Use `create` or `open` instead."""
        self._connection = connection
        self.path = connection.path
        self.naming = Naming(connection)
        self.values = Values(connection)

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, overwrite: bool = False) -> "Store":
        """A new, empty base. One that exists is replaced only with `overwrite`, and not while it is open."""
        with create.built_beside(Path(path), overwrite=overwrite):
            pass
        return cls.open(path)

    @classmethod
    @contextmanager
    def building(cls, path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator["Store"]:
        """A new base to be filled in the block. It appears at `path` when the block ends, or not at all if it fails."""
        with create.built_beside(Path(path), overwrite=overwrite) as new, cls.open(new) as store:
            yield store

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> "Store":
        """An existing base. With `read_only` it can lie where nothing can be written, such as a DVD."""
        return cls(Connection.open(Path(path), read_only=read_only))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}{', read_only=True' if self.read_only else ''})"

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
        with self._connection.reading() as db:
            return read.last_moment(db)

    @property
    def version(self) -> int:
        """A number that changes whenever another process, or another Store, has written; cheap enough to ask always.

        It may change without a write too, where the file can be read only and its log was left behind.
        """
        with self._connection.outside() as db:
            return int(db.execute("PRAGMA data_version").fetchone()[0])

    def entity_names(self, start: int = 0) -> list[str]:
        with self._connection.reading() as db:
            return read.names(db, "entity", start)

    def relation_names(self, start: int = 0) -> list[str]:
        with self._connection.reading() as db:
            return read.names(db, "relation", start)

    def count(self) -> dict[str, int]:
        """How many facts, entities, relations, removed facts and moments there are, and how many bytes they take."""
        with self._connection.reading() as db:
            return {**read.count(db), "bytes": self._bytes()}

    def triples(self, as_of: datetime | int | None = None, *, evidence: Evidence | None = None) -> Triples:
        """All facts, in the order in which they were added; or those as of a time, or of a moment's number.

        With `evidence` only those that speak for others.
        """
        with self._connection.reading() as db:
            return read.triples(db, None if as_of is None else read.moment_of(db, as_of), evidence)

    def table(
        self, as_of: datetime | int | None = None, *, qualified: bool = False, evidence: Evidence | None = None
    ) -> pa.Table:
        """The same by name: a table with the columns head, relation and tail.

        If `qualified`, it also has those of `hmem.graph.qualifiers` that say something of any of the facts.
        """
        with self._connection.reading() as db:
            entities, relations = (pa.array(read.names(db, kind), pa.string()) for kind in ("entity", "relation"))
            try:
                facts = table_of_triples(self.triples(as_of, evidence=evidence), entities, relations)
            except pa.ArrowException as error:
                raise damage(f"a fact has a name that is not stored: {error}") from None
            if qualified:
                moment = None if as_of is None else read.moment_of(db, as_of)
                for name, column in read.qualifiers(db, moment, evidence).items():
                    facts = facts.append_column(name, column)
            return facts

    def facts(self, as_of: datetime | int | None = None) -> Iterator[tuple[Names3, dict[str, Any]]]:
        """All facts by name, in the order in which they were added, each with what qualifies it."""
        with self._connection.reading() as db:
            is_qualified = read.is_qualified(db)
        if is_qualified:
            for each in self.listing(as_of=as_of):
                said = {name: value for name in QUALIFIERS if (value := getattr(each, name)) is not None}
                yield each.names, said
            return
        facts, entities, relations = self.triples(as_of), self.entity_names(), self.relation_names()
        for start in range(0, len(facts), MANY):
            for head, relation, tail in facts[start : start + MANY].tolist():
                yield (entities[head], relations[relation], entities[tail]), {}

    def changes_since(
        self, moment: int, num_entities: int, num_relations: int, *, evidence: Evidence | None = None
    ) -> Changes:
        """What is different from `moment`, with the names beyond the first so many, which the caller has.

        With `evidence` only facts that speak for others count.
        """
        with self._connection.reading() as db:
            return read.changes_since(db, moment, num_entities, num_relations, evidence)

    def contains(self, head: str, relation: str, tail: str) -> bool:
        """Whether the fact is there now; False too if one of the names is not stored."""
        fact = check_fact((head, relation, tail))
        with self._connection.reading() as db:
            return read.contains(db, fact)

    def inferred(self, facts: Iterable[Names3]) -> dict[Names3, str]:
        """Those of some facts that are stored because a model inferred them, and which model that was."""
        with self._connection.reading() as db:
            return read.inferred(db, facts)

    def models(self) -> dict[str, int]:
        """The models that inferred facts, and how many of each there are."""
        with self._connection.reading() as db:
            return read.models(db)

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
        with self._connection.reading() as db:
            then = None if at is None else stretch(at)
            pattern = replace(Pattern.find(db, head, relation, tail), at=then, inferred=inferred)
            moment = read.moment_of(db, as_of)
        return Listing(self._connection.reading, pattern, moment, newest_first).read(limit, offset)

    def history(
        self,
        *,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        limit: int | None = None,
    ) -> list[StoredFact]:
        """All that ever happened to the facts with these names, removed ones too: what changed last comes first."""
        with self._connection.reading() as db:
            return listing.history(db, Pattern.find(db, head, relation, tail), limit)

    def details(self, triples: Triples) -> list[StoredFact]:
        """Current facts given by number, in that order, with source and time; those not stored are left out."""
        with self._connection.reading() as db:
            return listing.details(db, triples)

    # Changing it

    def add(
        self,
        facts: Iterable[Names3],
        *,
        source: str | None = None,
        by_label: bool = False,
        **given: Unpack[Given],
    ) -> Written:
        """Store facts, all in one write; on the disk when this returns.

        A fact that is there already stays as it is, with its own source, times and confidence; see `revise`. If a model
        inferred it, it is asserted from now on. What is `given` of the
        facts besides, such as their confidence and `valid_from`, is one value for all, or one for each. Names are ids;
        with `by_label` one that is not is looked up among labels and aliases before it becomes a new entity.
        """
        checked = check_facts(facts)
        if len(checked) >= MANY and not by_label:
            columns = [pa.array(column, pa.string()) for column in zip(*checked, strict=True)]
            return self.add_columns(*columns, source=source, **given)
        qualifiers = Qualifiers.of(len(checked), **given)
        source = check_source(source)
        with self._connection.writing() as db:
            return write.add(db, checked, source, qualifiers, by_label)

    def add_columns(
        self,
        heads: Column,
        relations: Column,
        tails: Column,
        *,
        source: str | None = None,
        progress: Progress | None = None,
        said: Told | None = None,
        **given: Any,
    ) -> Written:
        """Store the facts of three columns of text, all in one write, with what is `said` besides.

        What is `given` of the facts besides, as in `add`, may be columns too. `progress` is called now and then with
        how many facts are done, and of how many; an exception it raises undoes the whole write.
        """
        columns = bulk.check_columns(heads, relations, tails)
        qualifiers = Qualifiers.of(len(columns[0]), **given)
        source = check_source(source)
        with self._connection.writing(trusted=True) as db:
            written = bulk.add_columns(db, columns, source, qualifiers, progress)
            if said is not None and any(said):
                more = Write(db, source)
                stated, new = value_rows.state(more, said.values, keep=True, create=True)
                describe.tell_all(more, said.descriptions)
                entities = [*written.new_entities, *new]
                written = replace(written, moment=more.last, values=stated.added, new_entities=entities)
            return written

    def add_table(
        self,
        table: pa.Table,
        *,
        languages: Sequence[str] = ("en",),
        values: Sequence[str] = (),
        besides: Told | None = None,
        **how: Any,
    ) -> Written:
        """The same for a table with the columns head, relation and tail, and any of those in `hmem.graph.qualifiers`.

        What an RDF file says by rdfs:label and the like names things and is no fact: it is kept as labels, in the first
        of `languages` that there is, aliases and descriptions. `rdf:type` is a fact, and the kind as well. Its other
        literals are values, and so are the tails of the relations `values` of any table. What is said `besides` is
        stored in the same write.
        """
        facts, said = _split(table, languages, values, besides)
        given = {name: facts.column(name) for name in QUALIFIERS if name in facts.column_names}
        return self.add_columns(*(facts.column(part) for part in PARTS), said=said, **{**given, **how})

    def add_in_parts(
        self,
        table: pa.Table,
        *,
        languages: Sequence[str] = ("en",),
        values: Sequence[str] = (),
        besides: Told | None = None,
        progress: Progress | None = None,
        **how: Any,
    ) -> Generator[Written, None, None]:
        """The same in one write after the other, each whole or not at all, between which other processes can write.

        Every step of the iterator is a write that is on the disk. Begun anew after it was broken off, it adds the rest.
        """
        facts, said = _split(table, languages, values, besides)
        nothing, rows = facts.slice(0, 0), range(0, facts.num_rows, PART)
        parts: list[tuple[pa.Table, Told | None]] = [(facts.slice(start, PART), None) for start in rows]
        parts += [(nothing, told) for told in said.parts(PART)]
        for number, (part, told) in enumerate(parts or [(nothing, None)]):
            if number:
                time.sleep(PAUSE)
            given = {name: part.column(name) for name in QUALIFIERS if name in part.column_names}
            yield self.add_columns(*(part.column(name) for name in PARTS), said=told, **{**given, **how})
            if progress is not None:
                progress(min((number + 1) * PART, facts.num_rows), facts.num_rows)

    def revise(self, facts: Iterable[Names3], *, source: str | None = None, **given: Unpack[Given]) -> Written:
        """Say other things of stored facts, such as until when they held, all in one write.

        What is not given stays as it is; "" takes back what was said. The file remembers what it was.
        """
        checked = check_facts(facts)
        cleared = [name for name, value in given.items() if isinstance(value, str) and value == ""]
        said = Qualifiers.of(len(checked), **{name: value for name, value in given.items() if name not in cleared})
        source = check_source(source)
        with self._connection.writing() as db:
            return write.revise(db, checked, source, said, cleared)

    def withdraw(self, *, model: str | None = None, below: float | None = None, source: str | None = None) -> Written:
        """End what models inferred: all of it, that of one model, or what is less likely than `below`.

        `model` is a name that a listing shows, or that without what stands behind its @.
        """
        source = check_source(source)
        with self._connection.writing() as db:
            return write.withdraw(db, source, model, below)

    def remove(self, facts: Iterable[Names3], *, source: str | None = None) -> Written:
        """End facts, all in one write. The file remembers them, and that `source` took them back.

        A name that is not in the file is an UnknownNameError, and then nothing is removed; a fact that is not there,
        or no longer, is merely counted.
        """
        checked = check_facts(facts)
        source = check_source(source)
        with self._connection.writing() as db:
            return write.remove(db, checked, source)

    def merge(self, kept: str, other: str, *, source: str | None = None) -> Merged:
        """Make one entity of two, all in one write: the facts, values and names of `other` become those of `kept`.

        No fact is doubled, and those between the two are dropped. The label, the aliases and the id of `other` become
        aliases, by which `kept` is found; its kind and description stay where `kept` has none. `undo` turns it back.
        """
        with self._connection.writing() as db:
            numbers = [texts.id_of(db, "entity", check_name("entity", name)) for name in (kept, other)]
            return merge.merge(Write(db, check_source(source or f"merge of {other}")), *numbers)

    def writes(self, limit: int | None = None) -> list[StoredWrite]:
        """The writes, the latest first, with what each changed; `undo` takes the number of one."""
        with self._connection.reading() as db:
            return merge.writes(db, limit)

    def undo(self, moment: int, *, source: str | None = None) -> Undone:
        """Turn a write back, all in one write: what it brought goes, and what it took away comes again.

        What a later write has changed stays as it is, and is counted.
        """
        with self._connection.writing() as db:
            return merge.undo(Write(db, check_source(source or f"undo of write {moment}")), moment)

    # Notes about the whole

    def metas(self) -> dict[str, str]:
        """All notes kept with the file, such as the model it uses, as of one moment."""
        with self._connection.reading() as db:
            return {str(key): str(value) for key, value in db.execute("SELECT key, value FROM meta")}

    def set_meta(self, **values: str | None) -> None:
        """Change notes, all in one write; None takes one away."""
        for key, value in values.items():
            if value is not None and value != "":
                check_name(f"value of {key}", value)
        with self._connection.writing() as db:
            write.set_meta(db, values)

    # Care

    def refuse_itself(self, path: str | os.PathLike[str]) -> None:
        """A StoreError if `path` is this very file: its facts are not imported into itself."""
        if sqlite_files.file_id(Path(path)) == self._connection.file:
            raise StoreError("{path} cannot be imported into itself: it holds all of its facts already", path=path)

    def check(self) -> list[str]:
        """What is wrong with the file, in words; nothing if it is sound. Reads all of it."""
        with self._connection.outside() as db:  # a transaction could not even be ended in a file badly damaged
            return integrity.check(db)

    def compact(self) -> tuple[int, int]:
        """Rewrite the file without unused space; the history is kept. The bytes before and after."""
        before = self._bytes()
        self._connection.rewrite()
        return before, self._bytes()

    def _bytes(self) -> int:
        return size_of(self.path) + size_of(self.path.with_name(self.path.name + "-wal"))


def _split(
    table: pa.Table, languages: Sequence[str], values: Sequence[str], besides: Told | None
) -> tuple[pa.Table, Told]:
    """The facts of a table, and all that is said besides, in it or with it."""
    facts, said = split_facts(table, languages, values)
    if besides is None:
        return facts, said
    return facts, Told(said.descriptions + besides.descriptions, said.values + besides.values)
