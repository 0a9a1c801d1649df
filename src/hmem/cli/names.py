"""Names as people type them.

A name that exists is taken as it is. One that differs from a single other in case and punctuation only is taken for
that one, with a note. Anything else is an error that says what may have been meant: nobody gets an answer about
something they did not name.
"""

import difflib
from functools import cached_property
from typing import TYPE_CHECKING

from hmem.cli import output
from hmem.errors import UnknownNameError

if TYPE_CHECKING:
    from hmem.graph.names import Names
    from hmem.knowledge.store.store import Store

LONGEST_COMPARED = 200  # characters; the names closest to a longer one are not looked for
FEW = 20  # relations, which are listed where none is like the one that was typed
ALIKE = 0.75  # of two names' letters that agree, from which on one may be the other misspelt


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
    if typed in names:
        return typed
    closest = names.closest(typed) if letters(typed) and len(typed) <= LONGEST_COMPARED else []
    same = [name for name in closest if letters(name) == letters(typed)]
    if len(same) == 1:
        output.note(f'{names.kind} "{shown(typed)}": taken for {shown(same[0])}')
        return same[0]
    longer = [name for name in closest if letters(name).startswith(letters(typed))]
    hint = _question(same or longer or closest)
    if not hint and names.kind == "relation" and 0 < len(names) <= FEW:
        hint = f"; there are {', '.join(map(shown, names))}"
    raise UnknownNameError(f'no {names.kind} "{shown(typed)}"{hint}')


def near(name: str, names: list[str]) -> list[str]:
    """Those of `names` that `name` may be a misspelling of, the likeliest first."""
    from hmem.graph.names import Names

    wanted = letters(name)
    if not wanted or len(name) > LONGEST_COMPARED:
        return []
    others = Names("name", [other for other in names if other != name])
    likeness = difflib.SequenceMatcher(b=wanted)

    def is_alike(other: str) -> bool:
        likeness.set_seq1(letters(other))
        return likeness.ratio() >= ALIKE

    alike = [other for other in others.closest(name) if is_alike(other)]
    return [other for other in alike if letters(other) == wanted] or alike


def letters(name: str) -> str:
    """What is left of a name without case and punctuation; nothing of one that has no letters and digits."""
    return "".join(character for character in name.casefold() if character.isalnum())


def shown(name: str) -> str:
    """A name in a message: in one line, and not longer than that."""
    line = output.one_line(name)
    return line if len(line) <= 80 else line[:77] + "..."


def _question(near: list[str]) -> str:
    if not near:
        return ""
    *others, last = map(shown, near)
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
