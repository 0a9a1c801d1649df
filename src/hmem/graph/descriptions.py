"""What entities and relations are called, and what they are: an id alone, such as Q925, says little to a reader."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hmem.graph.values import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Of one entity or relation; what is not said is None."""

    id: str  # its name in the facts
    label: str | None = None  # what it is called
    aliases: tuple[str, ...] = ()  # what else it is called
    kind: str | None = None  # of an entity: what it is
    description: str | None = None  # in a sentence or a few
    inverse: str | None = None  # of a relation: what it is called from the tail to the head


class Told(NamedTuple):
    """What a source tells besides facts: what things are called and are, and the values of their properties."""

    descriptions: list[Description]
    values: list[Said]

    def parts(self, size: int) -> "Iterator[Told]":
        """The same a little at a time: the values, and then the descriptions, also of what values alone name."""
        for start in range(0, len(self.values), size):
            yield Told([], self.values[start : start + size])
        for start in range(0, len(self.descriptions), size):
            yield Told(self.descriptions[start : start + size], [])


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of some entities and relations by id, of those that have one which differs from it."""

    entities: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)

    def entity(self, name: str) -> str:
        """The label with the id beside it, or the id alone."""
        return shown(name, self.entities)

    def relation(self, name: str) -> str:
        """The label alone: there are few relations, and a fact is to be read as a sentence."""
        return self.relations.get(name, name)

    def fact(self, head: str, relation: str, tail: str) -> tuple[str, str, str]:
        return self.entity(head), self.relation(relation), self.entity(tail)

    def to_dict(self) -> dict[str, dict[str, dict[str, str]]]:
        """For JSON, under "labels"; nothing where there are none."""
        found = {"entities": dict(self.entities), "relations": dict(self.relations)}
        return {"labels": found} if any(found.values()) else {}


def shown(name: str, labels: Mapping[str, str]) -> str:
    """The label with the id beside it where they differ."""
    label = labels.get(name, name)
    return name if label == name else f"{label} ({name})"


def fold(text: str) -> str:
    """Text as it is looked up at last: without case, and with single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def joined(rows: Iterable[Description]) -> list[Description]:
    """One description for each id, in the order of their first rows: the first of everything that is said, all aliases.

    Another label than the first is an alias.
    """
    found: dict[str, Description] = {}
    for row in rows:
        old = found.get(row.id)
        if old is None:
            found[row.id] = replace(row, aliases=_other_than(row.label, row.aliases))
            continue
        label = old.label or row.label
        names = (*old.aliases, *([row.label] if row.label else []), *row.aliases)
        found[row.id] = Description(
            id=row.id,
            label=label,
            aliases=_other_than(label, names),
            kind=old.kind or row.kind,
            description=old.description or row.description,
            inverse=old.inverse or row.inverse,
        )
    return list(found.values())


def _other_than(label: str | None, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name != label)
