"""What an RDF file says about its own terms: labels, other names, kinds and descriptions."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hmem.graph.descriptions import Description, joined
from hmem.graph.readers.rdf import read_rdf
from hmem.graph.readers.rdf_names import WELL_KNOWN, TermNames
from hmem.graph.triples import PARTS

NAMING = {  # which relation says what; the first of two that say the same counts for more
    WELL_KNOWN["skos"] + "prefLabel": "label",
    WELL_KNOWN["rdfs"] + "label": "label",
    WELL_KNOWN["skos"] + "altLabel": "aliases",
    WELL_KNOWN["schema"] + "alternateName": "aliases",
    "https://schema.org/alternateName": "aliases",
    WELL_KNOWN["schema"] + "description": "description",
    "https://schema.org/description": "description",
    WELL_KNOWN["rdfs"] + "comment": "description",
}
KIND = WELL_KNOWN["rdf"] + "type"


class Text(NamedTuple):
    """A literal in the name that a reader gives it."""

    text: str
    language: str | None


def split_names(table: pa.Table, languages: Sequence[str] = ("en",)) -> tuple[pa.Table, list[Description]]:
    """The facts of an RDF file without those that only name things, and what these say; of other tables all facts.

    Kinds stay among the facts: they are evidence. The label is the one in the first of `languages`, then one without
    language, then any; all others are aliases.
    """
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
    of_kind = text.filter(pc.is_in(text.column("relation"), value_set=pa.array(kinds, pa.string())))
    for head, _, tail in _facts(of_kind):
        if tail not in NO_KIND:
            found.append(Description(id=head, kind=labels.get(tail) or re.split("[/#:]", tail.rstrip("/#"))[-1]))
    return table.filter(pc.invert(is_naming)), joined(found)


def read_rdf_descriptions(path: Path, format: str, languages: Sequence[str]) -> list[Description]:
    """The descriptions alone."""
    return split_names(read_rdf(path, format), languages)[1]


def literal(name: str) -> Text:
    """The text of a literal and its language, from the name that `rdf_names` gives it."""
    text, _, rest = name[1:].rpartition('"')
    return Text(text, rest[1:].partition("--")[0].lower() if rest.startswith("@") else None)


def _rows(said: pa.Table, naming: dict[str, str], languages: Sequence[str]) -> Iterator[tuple[int, Description]]:
    """What each fact says, with a number that is the lower the more it counts."""
    order = {relation: place for place, relation in enumerate(naming)}
    for head, relation, tail in _facts(said):
        text, language = literal(tail)
        if not text.strip():
            continue
        rank = _rank(language, languages) * len(order) + order[relation]
        match naming[relation]:
            case "label":
                yield rank, Description(id=head, label=text)
            case "description":
                yield rank, Description(id=head, description=text)
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
