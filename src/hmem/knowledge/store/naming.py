"""The names of what is stored: `store.naming` finds entities and relations by id, label or alias, and describes them.

The id of an entity is its name in the facts. What else it is called may change: each change is a moment of the
file like any other, and nothing that was ever said is lost.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from jaxtyping import Bool

from hmem.errors import DataError
from hmem.graph.descriptions import Description, Labels, joined
from hmem.graph.values import Said
from hmem.knowledge.store import describe, read, texts, value_rows
from hmem.knowledge.store.database import Connection, Database, Kind
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.validation import check_name, check_source
from hmem.knowledge.store.write import Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a write of descriptions did."""

    moment: int  # the last moment of the file if nothing changed
    changed: int  # entities and relations of which something else is said now
    unchanged: int
    unknown: list[str]  # ids that no fact has, which were left out
    values: int = 0  # that came or went


class Naming:
    """Labels, aliases, kinds and descriptions of the entities and relations of a store, each method one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # Finding

    def find(self, kind: Kind, name: str) -> str:
        """The id of what has this name: that id, or else this label, or else this alias; without case at last.

        A name that nothing has is an UnknownNameError, one that several have an AmbiguousNameError.
        """
        return self.description(kind, name).id

    def get(self, kind: Kind, name: str) -> str | None:
        """The same, and None for a name that nothing has."""

        def found(db: Database) -> str | None:
            number = texts.number_of(db, kind, name)
            return None if number is None else texts.description(db, kind, number).id

        return self._connection.read(found)

    def called(self, kind: Kind) -> list[str]:
        """All labels and aliases."""
        return self._connection.read(texts.called, kind)

    # What is said

    def description(self, kind: Kind, name: str) -> Description:
        """All that is said of an entity or a relation, found as `find` does."""
        check_name(kind, name)
        return self._connection.read(lambda db: texts.description(db, kind, texts.id_of(db, kind, name)))

    def labels(self, entities: Iterable[str] = (), relations: Iterable[str] = ()) -> Labels:
        """The labels of those that have one which differs from the id."""
        ids = list(entities), list(relations)
        return self._connection.read(
            lambda db: Labels(texts.labels(db, "entity", ids[0]), texts.labels(db, "relation", ids[1]))
        )

    def called_by(self, kind: Kind, ids: Iterable[str]) -> dict[str, str]:
        """The labels alone, by id."""
        return self._connection.read(texts.labels, kind, list(ids))

    def labels_of(self, facts: Iterable[Names3]) -> Labels:
        """The labels of all that some facts name."""
        named = list(facts)
        ends = (end for head, _, tail in named for end in (head, tail))
        return self.labels(ends, (relation for _, relation, _ in named))

    def kinds(self) -> dict[str, int]:
        """The kinds of entities, and how many there are of each, the most frequent first."""
        return self._connection.read(texts.kinds)

    def kinds_of(self) -> list[tuple[int, str]]:
        """The entities that have a kind, by their number in the store, and the kind of each."""
        return self._connection.read(texts.kinds_of)

    def changed_since(self, kind: Kind, moment: int) -> dict[int, Description]:
        """What is said now of those of which it was something else at a moment, by number."""

        def found(db: Database) -> dict[int, Description]:
            numbers = texts.changed_since(db, kind, moment)
            return dict(zip(numbers, texts.descriptions(db, kind, numbers), strict=True))

        return self._connection.read(found)

    def every(self, kind: Kind) -> Iterator[Description]:
        """All that is said now of each of which something is said, in the order in which they came."""
        return (each for each in self._pages(kind) if each != Description(id=each.id))

    def entities(self, as_of: datetime | int | None = None) -> Iterator[Description]:
        """The entities that have facts or values now, or at a time, or of which something is said now."""

        def in_use(db: Database) -> Bool[np.ndarray, " n"]:
            used = np.zeros(read.count(db)["entities"], dtype=bool)
            used[read.triples(db, as_of)[:, [0, 2]].ravel()] = True
            used[value_rows.entities(db, as_of)] = True
            return used

        used = self._connection.read(in_use)
        pages = enumerate(self._pages("entity"))
        return (each for number, each in pages if used[number : number + 1].any() or each != Description(id=each.id))

    def _pages(self, kind: Kind) -> Iterator[Description]:
        """Of all there are, read some at a time."""

        def some(db: Database, start: int) -> list[Description]:
            return list(texts.descriptions(db, kind, read.numbers(db, kind, start, texts.AT_ONCE)))

        start = 0
        while True:
            found = self._connection.read(some, start)
            yield from found
            if len(found) < texts.AT_ONCE:
                return
            start += len(found)

    # Saying it

    def describe(
        self, of: Kind, name: str, /, *, source: str | None = None, **said: str | Sequence[str] | None
    ) -> bool:
        """Say what an entity or a relation is: label, aliases, kind, description, and the inverse of a relation.

        What is given takes the place of what was said before, "" or no aliases that of nothing. False if it is so
        already.
        """
        wanted: dict[str, Sequence[str]] = {}
        for field, value in said.items():
            if value is None:
                continue
            own = "alias" if field == "aliases" else field
            if own not in describe.FIELDS[of]:
                raise DataError(f"nothing is said of {'an entity' if of == 'entity' else f'a {of}'} by {field!r}")
            wanted[own] = ([value] if value else []) if isinstance(value, str) else list(value)
        check_name(of, name)
        check_source(source)

        def changed(db: Database) -> bool:
            number, telling = texts.id_of(db, of, name), describe.Telling(Write(db, source))
            return sum([telling.set(of, number, field, value) for field, value in wanted.items()]) > 0

        return self._connection.write(changed)

    def describe_all(
        self, rows: Iterable[Description], *, values: Iterable[Said] = (), source: str | None = None
    ) -> Described:
        """Say what is known of many, by id, all in one write: of entities, relations and properties.

        What is given takes the place of what was said before, also by a property; aliases add up.
        """
        described, said, source = joined(rows), list(values), check_source(source)

        def done(db: Database) -> Described:
            write = Write(db, source)
            stated, _ = value_rows.state(write, said)
            changed, unknown = describe.tell_all(write, described)
            unchanged = len(described) - changed - len(unknown)
            unknown = list(dict.fromkeys([*unknown, *stated.unknown]))
            came = stated.added + stated.removed
            return Described(moment=write.last, changed=changed, unchanged=unchanged, unknown=unknown, values=came)

        return self._connection.write(done)
