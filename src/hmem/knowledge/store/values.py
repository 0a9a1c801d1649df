"""The values of what is stored: `store.values` lists and sets numbers, dates, booleans and texts, with their history.

They belong to an entity and a property, which has a name of its own. Each change is a moment of the file like any
other; what was said before stays in the file.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from hmem.graph.values import Said, Value
from hmem.knowledge.store import read, texts, value_rows
from hmem.knowledge.store.database import Connection, Database
from hmem.knowledge.store.records import StoredValue
from hmem.knowledge.store.validation import check_name, check_source, check_value
from hmem.knowledge.store.value_rows import Property, Stated, Which
from hmem.knowledge.store.write import Numbering, Write


class Values:
    """The values of a store, each method one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # What is said

    def listing(
        self, entity: str | None = None, property: str | None = None, *, as_of: datetime | int | None = None
    ) -> Iterator[StoredValue]:
        """The values of an entity, of a property, or all, as they are now or were at a time.

        They are those of the moment of this call, whatever is written while you go through them: each with its property
        and its `Value`, which has the lexical form, the datatype, the language and the unit. Those of an entity are in
        the order of the properties, others in that in which they came.
        """
        which, moment = self._connection.read(lambda db: (_which(db, entity, property), read.moment_of(db, as_of)))
        return self._pages(which, moment)

    def by_entity(self, as_of: datetime | int | None = None) -> dict[str, list[StoredValue]]:
        """All values, by the ids of what they are said of; those of each in the order in which they came."""
        found: dict[str, list[StoredValue]] = {}
        for each in self.listing(as_of=as_of):
            found.setdefault(each.entity, []).append(each)
        return found

    def history(
        self, entity: str | None = None, property: str | None = None, *, limit: int | None = None
    ) -> list[StoredValue]:
        """All that was ever said, also what no longer is: what changed last comes first."""
        return self._connection.read(lambda db: value_rows.history(db, _which(db, entity, property), limit))

    def properties(self) -> list[Property]:
        """By which properties something is said now: of how many entities, and between what."""
        return self._connection.read(lambda db: list(value_rows.properties(db)))

    def names(self) -> list[str]:
        """The ids of all properties, by their numbers."""
        return self._connection.read(read.names, "property")

    def columns(self, property: str | None = None) -> list[tuple[int, int, str, str, str | None, float | None]]:
        """Entity and property by number, text, datatype, unit and number of the values of now, by property."""
        return self._connection.read(lambda db: value_rows.columns(db, _which(db, None, property).property))

    def changed_since(self, moment: int) -> bool:
        """Whether some value came or went after a moment."""
        return self._connection.read(value_rows.changed_since, moment)

    # Saying it

    def set(self, entity: str, property: str, values: Sequence[Value], *, source: str | None = None) -> bool:
        """Let this be what a property of an entity says from now on; nothing at all if there are no values.

        The entity has to be there; the property is found by its id or label, or is new. False if it is so already.
        """
        values = list(dict.fromkeys(check_value(each) for each in values))
        check_name("entity", entity)
        check_name("property", property)
        check_source(source)

        def changed(db: Database) -> bool:
            known_by = texts.number_of if values else texts.id_of
            slot = texts.id_of(db, "entity", entity), Numbering(db, "property", known_by).number(property)
            present = value_rows.present_values(db, slot)
            gone, new, _ = value_rows.set_slot(Write(db, source), slot, values, present, keep=False)
            return gone + new > 0

        return self._connection.write(changed)

    def set_all(self, said: Iterable[Said], *, source: str | None = None, keep: bool = False) -> Stated:
        """The same for many (entity, property, value), all in one write. With `keep` besides what was said before.

        Names are ids. What is said of an id that is not stored is left out, and listed in the result.
        """
        facts, source = list(said), check_source(source)
        return self._connection.write(lambda db: value_rows.state(Write(db, source), facts, keep=keep)[0])

    def _pages(self, which: Which, moment: int) -> Iterator[StoredValue]:
        after: int | None = 0
        while after is not None:
            found, after = self._connection.read(value_rows.page, which, moment, after)
            yield from found


def _which(db: Database, entity: str | None, property: str | None) -> Which:
    return Which(
        None if entity is None else texts.id_of(db, "entity", check_name("entity", entity)),
        None if property is None else texts.id_of(db, "property", check_name("property", property)),
    )
