"""What a table of facts says besides: labels, other names, kinds, descriptions and values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from hmem.graph.descriptions import Description, Told, joined
from hmem.graph.readers.rdf import read_rdf
from hmem.graph.readers.rdf_names import KINDS, TERMS, WELL_KNOWN, TermNames, value_of
from hmem.graph.readers.table import UNIT, has_literals
from hmem.graph.readers.value_columns import recognized
from hmem.graph.triples import PARTS
from hmem.graph.values import Said

LABEL, ALIAS = WELL_KNOWN["rdfs"] + "label", WELL_KNOWN["skos"] + "altLabel"
DESCRIPTION, INVERSE = WELL_KNOWN["schema"] + "description", TERMS + "inverse"
NAMING = {  # which relation says what; the first of two that say the same counts for more
    WELL_KNOWN["skos"] + "prefLabel": "label",
    LABEL: "label",
    ALIAS: "aliases",
    WELL_KNOWN["schema"] + "alternateName": "aliases",
    "https://schema.org/alternateName": "aliases",
    DESCRIPTION: "description",
    "https://schema.org/description": "description",
    WELL_KNOWN["rdfs"] + "comment": "description",
    INVERSE: "inverse",
}
KIND = WELL_KNOWN["rdf"] + "type"


def split_facts(
    table: pa.Table, languages: Sequence[str] = ("en",), values: Sequence[str] = ()
) -> tuple[pa.Table, Told]:
    """The facts between entities alone, and what the others say.

    Of an RDF file those that only name things are labels, aliases and descriptions, and all other literals are values.
    Kinds stay among the facts: they are evidence. The label is the one in the first of `languages`, then one without
    language, then any; all others are aliases. Of any table the tails of the relations `values` are values.
    """
    named, descriptions = _split_names(table, languages)
    is_literal = has_literals(table)
    if not is_literal and not values:
        return named, Told(descriptions, [])
    relation, tail = (named.column(part).cast(pa.string()) for part in ("relation", "tail"))
    is_chosen = pc.is_in(relation, value_set=pa.array(values, pa.string()))
    is_value = pc.or_(is_chosen, pc.starts_with(tail, '"')) if is_literal else is_chosen
    said = named.filter(is_value)
    units = said.column(UNIT).to_pylist() if UNIT in said.column_names else [None] * len(said)
    rows = [*_facts(said.cast(pa.schema([(part, pa.string()) for part in said.column_names])))]
    facts = named.filter(pc.invert(is_value))
    facts = facts.drop_columns([UNIT]) if UNIT in facts.column_names else facts
    return facts, Told(descriptions, list(_values(rows, units, is_literal=is_literal)))


def without_literals(table: pa.Table) -> tuple[pa.Table, int]:
    """The facts between entities alone, and how many others there were."""
    if not has_literals(table):
        return table, 0
    tails = table.column("tail").cast(pa.string())
    facts = table.filter(pc.invert(pc.or_(pc.starts_with(tails, '"'), pc.starts_with(tails, KINDS))))
    return facts, len(table) - len(facts)


def _values(rows: Sequence[tuple[str, str, str]], units: Sequence[str | None], *, is_literal: bool) -> Iterator[Said]:
    """Literals are what they say; of other tails all of one relation are looked at together."""
    plain: dict[str, list[tuple[str, str]]] = {}
    for (head, relation, tail), unit in zip(rows, units, strict=True):
        if is_literal and tail.startswith('"'):
            yield head, relation, replace(value_of(tail), unit=unit)
        else:
            plain.setdefault(relation, []).append((head, tail))
    for relation, some in plain.items():
        found = recognized([tail for _, tail in some])
        yield from ((head, relation, value) for (head, _), value in zip(some, found, strict=True))


def _split_names(table: pa.Table, languages: Sequence[str]) -> tuple[pa.Table, list[Description]]:
    """The facts without those that only name things, and what these say."""
    relations = set(pc.unique(table.column("relation").cast(pa.string())).to_pylist())
    naming = {name: field for iri, field in NAMING.items() for name in _both(iri) if name in relations}
    kinds = [name for name in _both(KIND) if name in relations]
    if not naming and not kinds:
        return table, []
    text = table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
    is_naming = pc.and_(
        pc.is_in(text.column("relation"), value_set=pa.array(list(naming), pa.string())),
        pc.starts_with(text.column("tail"), '"'),
    )
    ranked = sorted(_rows(text.filter(is_naming), naming, languages), key=lambda each: each[0])
    found = joined(row for _, row in ranked)  # the sort is stable: of equals the first in the file leads
    labels = {each.id: each.label for each in found}
    is_of_kind = pc.is_in(text.column("relation"), value_set=pa.array(kinds, pa.string()))
    is_said = pc.and_(is_of_kind, pc.starts_with(text.column("tail"), KINDS))  # by hmem, which has kinds besides facts
    found += [
        Description(id=head, kind=unquote(tail.removeprefix(KINDS))) for head, _, tail in _facts(text.filter(is_said))
    ]
    for head, _, tail in _facts(text.filter(pc.and_not(is_of_kind, is_said))):
        if tail not in NO_KIND:
            found.append(Description(id=head, kind=labels.get(tail) or re.split("[/#:]", tail.rstrip("/#"))[-1]))
    return table.filter(pc.invert(pc.or_(is_naming, is_said))), joined(found)


def read_rdf_descriptions(path: Path, format: str, languages: Sequence[str]) -> Told:
    """All but the facts."""
    return split_facts(read_rdf(path, format), languages)[1]


def _rows(said: pa.Table, naming: dict[str, str], languages: Sequence[str]) -> Iterator[tuple[int, Description]]:
    """What each fact says, with a number that is the lower the more it counts."""
    order = {relation: place for place, relation in enumerate(naming)}
    for head, relation, tail in _facts(said):
        value = value_of(tail)
        text, language = value.text, value.language
        if not text.strip():
            continue
        rank = _rank(language and language.partition("--")[0].lower(), languages) * len(order) + order[relation]
        match naming[relation]:
            case "label":
                yield rank, Description(id=head, label=text)
            case "description":
                yield rank, Description(id=head, description=text)
            case "inverse":
                yield rank, Description(id=head, inverse=text)
            case _:
                yield rank, Description(id=head, aliases=(text,))


def _rank(language: str | None, languages: Sequence[str]) -> int:
    """Languages in the order of preference, then text without language, then all others."""
    for place, wanted in enumerate(languages):
        if language is not None and (language == wanted or language.startswith(f"{wanted}-")):
            return place
    return len(languages) + (language is not None)


def _both(iri: str) -> tuple[str, str]:
    """An IRI in full, and short by the well-known prefixes, which every file has."""
    return iri, TermNames({}).iri(iri)


def _facts(table: pa.Table) -> Iterator[tuple[str, str, str]]:
    return zip(*(table.column(part).to_pylist() for part in PARTS), strict=True)


NAMING_NAMES = frozenset(name for iri in NAMING for name in _both(iri))  # in full and short
NO_KIND = {  # what is said of nearly everything
    *_both(WELL_KNOWN["owl"] + "NamedIndividual"),
    *_both(WELL_KNOWN["owl"] + "Thing"),
    *_both(WELL_KNOWN["rdfs"] + "Resource"),
}
