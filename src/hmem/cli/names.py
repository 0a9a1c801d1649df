"""Names as they are typed.

A name that exists is taken as it is: an id, or else a label, or else an alias. One that differs from a single other in
case and punctuation only is taken for that one, with a note. Anything else is an error that says what may have been
meant: an answer is always about the name that was typed. A new name that may be an old one misspelt is pointed out.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from hmem import errors
from hmem.cli import output
from hmem.errors import plural

if TYPE_CHECKING:
    from hmem.graph.names import Names
    from hmem.knowledge.store.database import Kind
    from hmem.knowledge.store.records import Names3, Written
    from hmem.knowledge.store.store import Store

DOUBTED = 20  # new relations, or entities, of an import that are compared with the old ones
MOST_COMPARED = 100_000  # entities, with which that takes a moment
LONG = 5  # letters, from which a name that differs in one is held to be a misspelling
FEW = 20  # relations, which are listed where none is like the one that was typed


class Finder:
    """The entities and relations of a knowledge base, found by what was typed."""

    def __init__(self, store: "Store") -> None:
        self.store = store

    @cached_property
    def entities(self) -> "Names":
        from hmem.graph.names import Names

        return Names("entity", self.store.entity_names())

    @cached_property
    def relations(self) -> "Names":
        from hmem.graph.names import Names

        return Names("relation", self.store.relation_names())

    def entity(self, typed: str) -> str:
        """The id of the entity that was meant."""
        return find(self.entities, typed, self.store)

    def relation(self, typed: str) -> str:
        return find(self.relations, typed, self.store)

    def fact(self, head: str, relation: str, tail: str) -> "Names3":
        return self.entity(head), self.relation(relation), self.entity(tail)

    def labelled(self, name: str, kind: "Kind" = "entity") -> str:
        """An id as it is shown: by its label, that of an entity with the id beside it."""
        labels = self.store.naming.labels([name], [name])
        return output.cell(labels.entity(name) if kind == "entity" else labels.relation(name))


def find(names: "Names", typed: str, store: "Store | None" = None) -> str:
    """The id of what was meant, or an error with the names that may have been; also by the labels in a store."""
    from hmem.graph.name_search import closest, letters

    if typed in names:
        return typed if store is None else store.naming.find("entity" if names.kind == "entity" else "relation", typed)
    called: list[str] = []  # labels and aliases that may have been meant
    kind: Kind = "entity" if names.kind == "entity" else "relation"
    if store is not None:
        if typed and (found := store.naming.get(kind, typed)) is not None:
            return found
        called = closest(typed, store.naming.called(kind))
    near = closest(typed, dict.fromkeys([*names, *called]))
    same = [name for name in near if letters(name) == letters(typed)]
    if len(same) == 1:
        output.note(f'{names.kind} "{shown(typed)}": taken for {shown(same[0])}')
        return same[0] if store is None else store.naming.find(kind, same[0])
    longer = [name for name in near if letters(name).startswith(letters(typed))]
    hint = None
    if not near and names.kind == "relation" and 0 < len(names) <= FEW:
        hint = f"there are {', '.join(map(shown, names))}"
    meant = [shown(name) for name in same or longer or near]
    problem = f'no {names.kind} "{shown(typed)}"'
    raise errors.UnknownNameError(problem, option=names.kind, found=typed, suggestions=meant, hint=hint)


def shown(name: str) -> str:
    """A name in a message: in one line, and not longer than that."""
    return errors.shown(output.one_line(name))


def new_names(writes: "Sequence[Written]") -> dict[str, list[str]]:
    """The names that some writes brought; not those that another process added meanwhile."""
    return {
        "new_entities": [name for each in writes for name in each.new_entities],
        "new_relations": [name for each in writes for name in each.new_relations],
    }


def tell_new_names(store: "Store", new: dict[str, list[str]]) -> None:
    """After a write of one fact: a note on each new name, with the old ones that it may be a misspelling of."""
    from hmem.graph.name_search import misspelt

    for name in new["new_entities"]:
        output.note(f"new entity: {shown(name)}{_there_is_also(_nearly(name, store.entity_names()))}")
    for name in new["new_relations"]:
        output.note(f"new relation: {shown(name)}{_there_is_also(misspelt(name, store.relation_names()))}")


def count_new_names(store: "Store", new: dict[str, list[str]]) -> None:
    """After a write of many facts: how many, and a note on each that may be a mistake.

    That is a relation that is called nearly as an old one, or as an entity; and of few new entities, one that is called
    nearly as an old one.
    """
    from hmem.graph.name_search import misspelt

    if any(new.values()):
        entities = plural(len(new["new_entities"]), "new entity", "new entities")
        output.say(f"{entities}, {plural(len(new['new_relations']), 'new relation')}")
    relations = [name for name in store.relation_names() if name not in set(new["new_relations"])]
    for name in new["new_relations"][:DOUBTED]:
        if alike := misspelt(name, relations):
            output.note(f"new relation: {shown(name)}{_there_is_also(alike)}")
        elif store.naming.get("entity", name) is not None:
            output.note(f"new relation: {shown(name)}; that is an entity, too: are the columns in order?")
    if 0 < len(new["new_entities"]) <= DOUBTED:
        old = set(new["new_entities"])
        entities_before = [name for name in store.entity_names() if name not in old]
        for name in new["new_entities"]:
            if name in relations:
                output.note(f"new entity: {shown(name)}; that is a relation, too: are the columns in order?")
            elif alike := _nearly(name, entities_before):
                output.note(f"new entity: {shown(name)}{_there_is_also(alike)}")


def _nearly(name: str, others: list[str]) -> list[str]:
    """Names with the same letters; or a long one that has one other letter, one more, one less, or two swapped."""
    from hmem.graph.name_search import letters, misspelt, same_letters

    alike = same_letters(name, others)
    if alike or len(name) < LONG or len(others) > MOST_COMPARED:
        return alike
    wanted = letters(name)
    return [other for other in misspelt(name, others) if _is_slip(wanted, letters(other))]


def _is_slip(one: str, other: str) -> bool:
    """Whether one may be typed in the place of the other; numbers differ on purpose."""
    pairs = list(zip(one, other, strict=False))
    begin = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    back = zip(reversed(one[begin:]), reversed(other[begin:]), strict=False)
    end = len(list(takewhile(lambda pair: pair[0] == pair[1], back)))
    middles = one[begin : len(one) - end], other[begin : len(other) - end]
    if any(map(str.isdigit, "".join(middles))):
        return False
    longest = max(map(len, middles))
    return longest <= 1 or (longest == 2 and middles[0] == middles[1][::-1])


def _there_is_also(alike: list[str]) -> str:
    return f"; there is also {', '.join(map(shown, alike[:3]))}" if alike else ""
