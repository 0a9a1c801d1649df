"""Names as they are typed.

A name that exists is taken as it is. One that differs from a single other in case and punctuation only is taken for
that one, with a note. Anything else is an error that says what may have been meant: an answer is always about the
name that was typed.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from hmem import errors
from hmem.cli import output

if TYPE_CHECKING:
    from hmem.graph.names import Names
    from hmem.knowledge.store.store import Store

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
        return find(self.entities, typed)

    def relation(self, typed: str) -> str:
        return find(self.relations, typed)


def find(names: "Names", typed: str) -> str:
    """The name that was meant, or an error with those that may have been."""
    from hmem.graph.name_search import letters

    if typed in names:
        return typed
    near = names.closest(typed)
    same = [name for name in near if letters(name) == letters(typed)]
    if len(same) == 1:
        output.note(f'{names.kind} "{shown(typed)}": taken for {shown(same[0])}')
        return same[0]
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
