"""Names for the terms of an RDF file, such that two terms never share one.

- An IRI is its own name, so that all files agree on it. In short names it is shortened by a prefix,
  `http://dbpedia.org/resource/Paris` to `dbr:Paris`, if there is one. The prefixes are those of the file and a few
  well-known ones, which no file can redefine; two files agree on a short name if they declare the same prefixes. The
  rare IRI that has no prefix but begins like a shortened one (`dbr:Paris` is itself a legal IRI) is put between angle
  brackets.
- A literal is its text in quotes with its language or datatype: `"Paris"`, `"Paris"@fr`, `"3"^^xsd:integer`. Nothing is
  escaped: what follows the last quote tells these kinds apart. A datatype is shortened by the well-known prefixes at
  least, in every file alike.
- A blank node is `_:`, eight digits that stand for its file, and its label: a label means nothing outside its file.
- An IRI that stands for a name of hmem, by `hmem.graph.rdf_terms`, is that name: `urn:hmem:dog.n.01` is `dog.n.01`.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from hmem.graph.values import LANG_STRING, STRING, Value

WELL_KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "prov": "http://www.w3.org/ns/prov#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "http://schema.org/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "dbr": "http://dbpedia.org/resource/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "obo": "http://purl.obolibrary.org/obo/",
}
_XSD_STRING = WELL_KNOWN["xsd"] + "string"
NAMES = "urn:hmem:"  # a name that is no IRI, percent-encoded
KINDS = "urn:hmem:kind:"  # what an entity is, by rdf:type
TERMS = "urn:hmem:term:"  # what is said of facts and relations, and has no other word


def name_of_value(value: Value) -> str:
    """The name of a literal that states this value; the reverse of `value_of`, which cannot know a unit."""
    if value.language is not None:
        return f'"{value.text}"@{value.language}'
    return f'"{value.text}"' if value.datatype == STRING else f'"{value.text}"^^{value.datatype}'


def value_of(name: str) -> Value:
    """The value that a literal states, from the name that it has here."""
    text, _, rest = name[1:].rpartition('"')
    if rest.startswith("@"):
        return Value(text=text, datatype="rdf:dirLangString" if "--" in rest else LANG_STRING, language=rest[1:])
    return Value(text=text, datatype=rest.removeprefix("^^") or STRING)


_PREFIX = re.compile(r"([^\W\d_][\w.-]*)?")  # what JSON-LD calls a prefix can be any text


class TermNames:
    """The names of terms: full ones, or short ones under the prefixes that a file declares."""

    def __init__(self, declared: Mapping[str, str] | None = None) -> None:
        self._full = declared is None
        declared = declared or {}
        sound = {prefix: space for prefix, space in declared.items() if space and _PREFIX.fullmatch(prefix)}
        prefixes = sound | WELL_KNOWN
        # Of several prefixes for one namespace, the well-known one is used, or else the first by alphabet.
        ordered = [*sorted(prefixes.items(), reverse=True), *WELL_KNOWN.items()]
        self._prefix_of = {space: prefix for prefix, space in ordered}
        self._lengths = sorted({len(space) for space in self._prefix_of}, reverse=True)
        self._starts = {f"{prefix}:" for prefix in prefixes}

    def iri(self, iri: str) -> str:
        own = own_name(iri) if iri.startswith(NAMES) else None
        return own or (iri if self._full else self._short(iri))

    def literal(self, text: str, language: str | None, direction: str | None, datatype: str) -> str:
        if language is not None:
            return f'"{text}"@{language}' + (f"--{direction}" if direction is not None else "")
        return f'"{text}"' if datatype == _XSD_STRING else f'"{text}"^^{self._short(datatype)}'

    def _short(self, iri: str) -> str:
        for length in self._lengths:  # the longest namespace first
            prefix = self._prefix_of.get(iri[:length])
            if prefix is not None and len(iri) > length:
                return f"{prefix}:{iri[length:]}"
        scheme, colon, _ = iri.partition(":")
        return f"<{iri}>" if scheme + colon in self._starts else iri


def own_name(iri: str) -> str | None:
    """The name that an IRI of `hmem.graph.rdf_terms` stands for, and None for any other IRI."""
    if not iri.startswith(NAMES):
        return None
    encoded = iri.removeprefix(NAMES)
    name = unquote(encoded, errors="replace")
    return name if name and quote(name, safe="") == encoded else None
