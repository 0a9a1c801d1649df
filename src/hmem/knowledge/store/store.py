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

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from hmem.errors import StoreError
from hmem.graph.descriptions import Told
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.qualifiers import Given, Qualifiers
from hmem.graph.readers.rdf_descriptions import split_facts
from hmem.graph.triples import PARTS
from hmem.knowledge.store import bulk, describe, engines, merge, texts, value_rows, write, writes
from hmem.knowledge.store.bulk import Column
from hmem.knowledge.store.copying import Watch, copy_rows
from hmem.knowledge.store.database import Database, Kind, Progress
from hmem.knowledge.store.merge import Merged, RemovedEntity, Renamed
from hmem.knowledge.store.places import At, place_of
from hmem.knowledge.store.records import Names3, Written
from hmem.knowledge.store.validation import check_facts, check_name, check_note, check_source
from hmem.knowledge.store.view import View
from hmem.knowledge.store.write import Write
from hmem.knowledge.store.writes import Undone

MANY = 10_000  # facts from which on adding them in bulk is quicker
PART = 20_000  # facts of one write of many, and what is said besides
PAUSE = 0.12  # seconds: who waits for a write to end looks every 0.1 s whether it has


class Store(View):
    """The durable facts of a knowledge base.

    Entities and relations are numbered from 0 in the order in which they came, and keep their numbers for good.

    Safe to use from several threads, which take turns: the store has one lock, that of its connection, and every method
    holds it for one transaction. To read while another thread writes, open a second store.
    """

    @classmethod
    def create(cls, path: At, *, overwrite: bool = False) -> "Store":
        """A new, empty base. One that exists is replaced only with `overwrite`, and not while it is open."""
        with engines.building(place_of(path), overwrite=overwrite) as connection:
            connection.close()
        return cls.open(path)

    @classmethod
    @contextmanager
    def building(cls, path: At, *, overwrite: bool = False) -> Iterator["Store"]:
        """A new base to be filled in the block. It appears at `path` when the block ends, or not at all if it fails."""
        with engines.building(place_of(path), overwrite=overwrite) as connection, cls(connection) as store:
            yield store

    @classmethod
    def open(cls, path: At, *, read_only: bool = False) -> "Store":
        """An existing base. With `read_only` it can lie where nothing can be written, such as a DVD."""
        return cls(engines.connect(place_of(path), read_only=read_only))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}{', read_only=True' if self.read_only else ''})"

    # Changing it

    def add(
        self, facts: Iterable[Names3], *, source: str | None = None, by_label: bool = False, **given: Unpack[Given]
    ) -> Written:
        """Store facts, all in one write; on the disk when this returns.

        A fact that is there already stays as it is, with its own source, times and confidence; see `revise`. If a model
        inferred it, it is asserted from now on. What is `given` of the facts besides, such as their confidence and
        `valid_from`, is one value for all, or one for each. Names are ids; with `by_label` one that is not is looked up
        among labels and aliases before it becomes a new entity.
        """
        checked = check_facts(facts)
        if len(checked) >= MANY and not by_label:
            columns = [pa.array(column, pa.string()) for column in zip(*checked, strict=True)]
            return self.add_columns(*columns, source=source, **given)
        qualifiers = Qualifiers.of(len(checked), **given)
        source = check_source(source)
        return self._connection.write(write.add, checked, source, qualifiers, by_label)

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

        def done(db: Database) -> Written:
            written = bulk.add_columns(db, columns, source, qualifiers, progress)
            if said is not None and any(said):
                more = Write(db, source)
                stated, new = value_rows.state(more, said.values, keep=True, create=True)
                describe.tell_all(more, said.descriptions)
                entities = [*written.new_entities, *new]
                written = replace(written, moment=more.last, values=stated.added, new_entities=entities)
            return written

        return self._connection.load(done)

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
        return self._add_split(facts, said, **how)

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
            yield self._add_split(part, told, **how)
            if progress is not None:
                progress(min((number + 1) * PART, facts.num_rows), facts.num_rows)

    def _add_split(self, facts: pa.Table, said: Told | None, **how: Any) -> Written:
        given = {name: facts.column(name) for name in QUALIFIERS if name in facts.column_names}
        return self.add_columns(*(facts.column(part) for part in PARTS), said=said, **{**given, **how})

    def revise(self, facts: Iterable[Names3], *, source: str | None = None, **given: Unpack[Given]) -> Written:
        """Say other things of stored facts, such as until when they held, all in one write.

        What is not given stays as it is; "" takes back what was said. The file remembers what it was.
        """
        checked = check_facts(facts)
        cleared = [name for name, value in given.items() if isinstance(value, str) and value == ""]
        said = Qualifiers.of(len(checked), **{name: value for name, value in given.items() if name not in cleared})
        source = check_source(source)
        return self._connection.write(write.revise, checked, source, said, cleared)

    def withdraw(self, *, model: str | None = None, below: float | None = None, source: str | None = None) -> Written:
        """End what models inferred: all of it, that of one model, or what is less likely than `below`.

        `model` is a name that a listing shows, or that without what stands behind its @.
        """
        source = check_source(source)
        return self._connection.write(write.withdraw, source, model, below)

    def remove(self, facts: Iterable[Names3], *, source: str | None = None) -> Written:
        """End facts, all in one write. The file remembers them, and that `source` took them back.

        A name that is not in the file is an UnknownNameError, and then nothing is removed; a fact that is not there,
        or no longer, is merely counted.
        """
        checked = check_facts(facts)
        return self._connection.write(write.remove, checked, check_source(source))

    def merge(self, kept: str, other: str, *, source: str | None = None) -> Merged:
        """Make one entity of two, all in one write: the facts, values and names of `other` become those of `kept`.

        No fact is doubled, and those between the two are dropped. The label, the aliases and the id of `other` become
        aliases, by which `kept` is found; its kind and description stay where `kept` has none. `undo` turns it back.
        """
        source = check_source(source or f"merge of {other}")

        def done(db: Database) -> Merged:
            numbers = [texts.id_of(db, "entity", check_name("entity", name)) for name in (kept, other)]
            return merge.merge(Write(db, source), *numbers)

        return self._connection.write(done)

    def rename(self, name: str, new: str, *, of: Kind = "entity", source: str | None = None) -> Renamed:
        """Let an entity, or a relation, have another id, all in one write. Its old one finds it from then on, too.

        Facts of a relation join those of `new` if there is such a relation; two entities are joined by `merge`. A model
        that was trained with the old id has not seen the new one.
        """
        source = check_source(source or f"renaming of {name}")
        new = check_name(of, new)
        return self._connection.write(
            lambda db: merge.rename(Write(db, source), of, texts.id_of(db, of, check_name(of, name)), new)
        )

    def remove_entity(self, entity: str, *, source: str | None = None) -> RemovedEntity:
        """Take out all that is said of an entity, all in one write: its facts, values, names and kind."""
        source = check_source(source or f"removal of {entity}")
        return self._connection.write(
            lambda db: merge.remove_entity(Write(db, source), texts.id_of(db, "entity", check_name("entity", entity)))
        )

    def undo(self, moment: int, *, and_later: bool = False, source: str | None = None) -> Undone:
        """Turn a write back, all in one write: what it brought goes, and what it took away comes again.

        What a later write has changed stays as it is, and is counted. With `and_later` all later writes are turned back
        as well: everything is as it was before.
        """
        source = check_source(source or f"undo of write {moment}{' and later ones' if and_later else ''}")
        turned = writes.undo_since if and_later else writes.undo
        return self._connection.write(lambda db: turned(Write(db, source), moment))

    def set_meta(self, **values: str | None) -> None:
        """Change notes, all in one write; None takes one away."""
        for key, value in values.items():
            if value is not None and value != "":
                check_note(f"value of {key}", value)
        self._connection.write(write.set_meta, values)

    # Care

    def refuse_itself(self, path: At) -> None:
        """A StoreError if `path` is this very base: its facts are not imported into itself."""
        place = place_of(path)
        place = place.expanduser() if isinstance(place, Path) else place
        if self._connection.is_at(place):
            raise StoreError("{path} cannot be imported into itself: it holds all of its facts already", path=place)

    def when_written(self, tell: Callable[[], object]) -> Callable[[], None]:
        """Call `tell` soon after others have written, where the engine says so, until what is returned is called."""
        return self._connection.when_written(tell)

    def copy_from(self, source: "Store", watch: Watch = lambda what, done, total: None) -> dict[str, int]:
        """Take all rows of another base into this one, which has none, in one write; how many of each table."""
        return copy_rows(source._connection, self._connection, watch)

    def check(self) -> list[str]:
        """What is wrong with the base, in words; nothing if it is sound. Reads all of it."""
        return self._connection.check()

    def compact(self) -> tuple[int, int]:
        """Rewrite the base without unused space; the history is kept. The bytes before and after."""
        before = self._connection.size()
        self._connection.compact()
        return before, self._connection.size()


def _split(
    table: pa.Table, languages: Sequence[str], values: Sequence[str], besides: Told | None
) -> tuple[pa.Table, Told]:
    """The facts of a table, and all that is said besides, in it or with it."""
    facts, said = split_facts(table, languages, values)
    if besides is None:
        return facts, said
    return facts, Told(said.descriptions + besides.descriptions, said.values + besides.values)
