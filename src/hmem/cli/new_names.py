"""Names that a write adds, and warnings where one of them may be a misspelling of an old one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hmem.cli import output
from hmem.cli.names import shown

if TYPE_CHECKING:
    from hmem.knowledge.store.records import Written
    from hmem.knowledge.store.store import Store

DOUBTED = 20  # new relations of an import that are compared with the old ones


def of(writes: "Sequence[Written]") -> dict[str, list[str]]:
    """The names that some writes brought; not those that another process added meanwhile."""
    return {
        "new_entities": [name for each in writes for name in each.new_entities],
        "new_relations": [name for each in writes for name in each.new_relations],
    }


def count(new: dict[str, list[str]]) -> None:
    entities = output.plural(len(new["new_entities"]), "new entity", "new entities")
    relations = output.plural(len(new["new_relations"]), "new relation")
    if any(new.values()):
        output.say(f"{entities}, {relations}")


def tell(store: "Store", new: dict[str, list[str]]) -> None:
    """After a write of one fact: a note on each new name, with the old ones that it may be a misspelling of."""
    from hmem.graph.name_search import misspelt, same_letters

    for name in new["new_entities"]:
        output.note(f"new entity: {shown(name)}{_there_is_also(same_letters(name, store.entity_names()))}")
    for name in new["new_relations"]:
        output.note(f"new relation: {shown(name)}{_there_is_also(misspelt(name, store.relation_names()))}")


def doubt_relations(relations: list[str], new: list[str]) -> None:
    """After a write of many facts: a note on each new relation that may be a misspelling of an old one."""
    from hmem.graph.name_search import misspelt

    own = set(new)
    old = [name for name in relations if name not in own]
    for name in new[:DOUBTED]:
        alike = misspelt(name, old)
        if alike:
            output.note(f"new relation: {shown(name)}{_there_is_also(alike)}")


def _there_is_also(alike: list[str]) -> str:
    return f"; there is also {', '.join(map(shown, alike[:3]))}" if alike else ""
