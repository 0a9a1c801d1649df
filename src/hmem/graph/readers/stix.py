"""STIX 2 bundles, in which threat intelligence is published: what is named in them, and how it is related.

An object becomes an entity by its name. Where two objects have the same name, or an attribute has it too, its id stands
behind: "Akira (G1024)" is the group, "Akira (S1129)" the malware. A relationship object becomes a fact; so do the
phases of the kill chain, the platforms and the domains that ATT&CK gives its objects. What is revoked or deprecated is
left out. A relationship holds from its start to its stop time; without these, it is as old as the relationship object,
and that of an attribute as old as its object.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from hmem.graph.readers.files import Place
from hmem.graph.readers.lines import open_text
from hmem.graph.readers.tuples import read_tuples

KINDS = {  # what is a thing, and what it is called
    "attack-pattern": "technique",
    "campaign": "campaign",
    "course-of-action": "mitigation",
    "identity": "identity",
    "infrastructure": "infrastructure",
    "intrusion-set": "group",
    "location": "location",
    "malware": "malware",
    "threat-actor": "threat actor",
    "tool": "tool",
    "vulnerability": "vulnerability",
    "x-mitre-asset": "asset",
}
_NOTHING = {"", "None"}  # values that stand for none
_CITATION = re.compile(r"\s*\(Citation: [^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_TAG = re.compile(r"</?(?:code|br|b|i|p|ul|li)\s*/?>")


@dataclass(frozen=True, slots=True, kw_only=True)
class StixEntity:
    """An object of a bundle; `date` is the day it was created."""

    name: str
    id: str  # that of its publisher, such as G0016, or else that of STIX
    kind: str
    date: str
    description: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class StixFact:
    head: str
    relation: str
    tail: str
    date: str  # from which day on it held, or was known
    until: str = ""  # the last day, if that is told

    @property
    def names(self) -> tuple[str, str, str]:
        return self.head, self.relation, self.tail


def read_stix(path: Path) -> pa.Table:
    """The facts of one bundle, and on which days they held."""
    _, facts = read_bundles([path])
    if not facts:
        raise Place(path).error(expected="relationships between named objects", found="none")
    table = read_tuples([fact.names for fact in facts])
    for name, days in (("valid_from", [fact.date for fact in facts]), ("valid_until", [fact.until for fact in facts])):
        table = table.append_column(name, pa.array(days, pa.string()))
    return table


def read_bundles(paths: Iterable[Path]) -> tuple[list[StixEntity], list[StixFact]]:
    """The entities that have facts, and the facts, of several bundles together, both sorted.

    An object that stands in two of them is one entity. Of a fact that is told twice the first date counts.
    """
    objects = [each for path in paths for each in _objects(path) if not _is_gone(each)]
    things = {each["id"]: each for each in objects if each.get("type") in KINDS and each.get("id") and each.get("name")}
    values = {value for each in things.values() for _, value in _attributes(each)}
    names = _names(things, values)
    dates: dict[tuple[str, str, str], tuple[str, str]] = {}
    for *fact, date, until in _facts(objects, names):
        head, relation, tail = fact
        first, last = dates.get((head, relation, tail), (date, until))
        dates[head, relation, tail] = min(date, first), max(until, last) if until and last else ""
    ends = {end for head, _, tail in dates for end in (head, tail)}
    entities = [_entity(each, names[key]) for key, each in things.items() if names[key] in ends]
    return sorted(entities, key=lambda each: each.name), sorted(StixFact(*fact, *days) for fact, days in dates.items())


def _objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a bundle, of which each has a type."""
    with open_text(path) as stream:
        try:
            bundle = json.load(stream)
        except (ValueError, RecursionError) as error:
            raise Place(path).error(f"not valid JSON: {error}") from None
    objects = bundle.get("objects") if isinstance(bundle, dict) and bundle.get("type") == "bundle" else None
    if not isinstance(objects, list) or not all(map(_is_object, objects)):
        raise Place(path).error(expected='a STIX bundle: {"type": "bundle", "objects": […]}', found="other JSON")
    return objects


def _is_object(each: object) -> bool:
    """Whether what names and joins objects is text where it is there at all."""
    words = ("type", "id", "relationship_type", "source_ref", "target_ref")
    return isinstance(each, dict) and all(isinstance(each.get(word, ""), str) for word in words)


def _listed(each: dict[str, Any], name: str, kind: type) -> list[Any]:
    """The members of a list that are of one kind; nothing if it is none."""
    found = each.get(name)
    return [one for one in found if isinstance(one, kind)] if isinstance(found, list) else []


def _is_gone(each: dict[str, Any]) -> bool:
    return bool(each.get("revoked") or each.get("x_mitre_deprecated"))


def _names(things: dict[str, dict[str, Any]], values: set[str]) -> dict[str, str]:
    """A name for each object, which it has alone."""
    uses = Counter(_text(each["name"]) for each in things.values())
    names = {}
    for key, each in things.items():
        name = _text(each["name"])
        names[key] = f"{name} ({_id(each)})" if uses[name] > 1 or name in values else name
    return names


def _facts(objects: list[dict[str, Any]], names: dict[str, str]) -> Iterator[tuple[str, str, str, str, str]]:
    for each in objects:
        date = _day(each, "start_time") or _day(each, "created")
        if each.get("type") == "relationship":
            head, tail = names.get(each.get("source_ref", "")), names.get(each.get("target_ref", ""))
            relation = each.get("relationship_type")
            if head is not None and tail is not None and relation:
                yield head, _text(relation), tail, date, _day(each, "stop_time")
        elif each.get("id") in names:
            for relation, value in _attributes(each):
                yield names[each["id"]], relation, value, date, ""


def _day(each: dict[str, Any], name: str) -> str:
    return str(each.get(name) or "")[:10]


def _attributes(each: dict[str, Any]) -> Iterator[tuple[str, str]]:
    phases = [phase.get("phase_name", "") for phase in _listed(each, "kill_chain_phases", dict)]
    platforms, domains = (_listed(each, f"x_mitre_{name}", str) for name in ("platforms", "domains"))
    lists = {"tactic": phases, "platform": platforms, "domain": domains}
    for relation, found in lists.items():
        yield from ((relation, _text(value)) for value in found if _text(value) not in _NOTHING)


def _entity(each: dict[str, Any], name: str) -> StixEntity:
    said = [_text(alias) for alias in _listed(each, "aliases" if "aliases" in each else "x_mitre_aliases", str)]
    others = [alias for alias in dict.fromkeys([_text(each["name"]), *said]) if alias not in (name, "")]
    return StixEntity(
        name=name,
        id=_id(each),
        kind=KINDS[each["type"]],
        date=_day(each, "created"),
        description=plain(str(each.get("description", ""))),
        aliases=tuple(others),
    )


def _id(each: dict[str, Any]) -> str:
    """The id of ATT&CK, or of another catalog such as CVE; else that of STIX."""
    references = [found for found in _listed(each, "external_references", dict) if found.get("external_id")]
    references.sort(key=lambda found: not str(found.get("source_name", "")).startswith("mitre"))
    return str(references[0]["external_id"]) if references else str(each["id"])


def plain(text: str) -> str:
    """A description without links, citations and markup, in one line."""
    return _text(_TAG.sub("", _LINK.sub(r"\1", _CITATION.sub("", text))))


def _text(value: object) -> str:
    return " ".join(str(value).split())
