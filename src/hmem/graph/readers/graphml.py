"""GraphML: nodes with what is known of them, and edges with a relation.

An edge is a fact, from its source to its target; its relation is its attribute `relation`, or else `label`, `type` and
the like. Attributes of nodes that read like a label, an alias, a kind or a description are that; all others are values.
What `hmem facts export` writes comes back as it was, with attributes of its own namespace.
"""

import json
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.parsers import expat

import pyarrow as pa

from hmem.errors import DataError
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.readers.columns import RELATIONS
from hmem.graph.readers.entities import WORDS
from hmem.graph.readers.files import BUFFER, Place
from hmem.graph.readers.lines import open_text
from hmem.graph.readers.rdf_descriptions import INVERSE, KIND
from hmem.graph.readers.rdf_names import KINDS, WELL_KNOWN, name_of_value
from hmem.graph.readers.table import StatementBuilder
from hmem.graph.readers.xml_limits import LimitedXml
from hmem.graph.values import BOOLEAN, DOUBLE, INTEGER, STRING, Value

OWN = "urn:hmem:graphml"  # the namespace of what GraphML has no word for
ABOUT_RELATIONS = "hmem.relations"  # the attribute of a graph that describes relations and properties, as JSON
DATATYPES = {"boolean": BOOLEAN, "int": INTEGER, "long": INTEGER, "float": DOUBLE, "double": DOUBLE}
NAMING = {
    "label": WELL_KNOWN["rdfs"] + "label",
    "aliases": WELL_KNOWN["skos"] + "altLabel",
    "description": WELL_KNOWN["schema"] + "description",
    "inverse": INVERSE,
}


class Key(NamedTuple):
    """An attribute that nodes or edges have."""

    name: str
    datatype: str
    language: str | None
    unit: str | None
    is_value: bool  # by our own word


def read_graphml(path: Path) -> pa.Table:
    """The facts of a GraphML file, with what it says of nodes as an RDF file would."""
    with open_text(path) as stream:
        parser = _Parser(path)
        return parser.read(LimitedXml(stream, path, "GraphML"))


class _Parser:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._xml = expat.ParserCreate("UTF-8", namespace_separator="}")
        self._xml.buffer_text = True
        self._xml.StartElementHandler = self._opened
        self._xml.EndElementHandler = self._closed
        self._xml.CharacterDataHandler = self._text
        self._keys: dict[str, Key] = {}
        self._directed = True
        self._things: list[dict[str, str]] = []  # the nodes, edges and graphs that are open
        self._data: list[list[tuple[Key, str]]] = []  # what is said of each
        self._key: Key | None = None  # of the data that is open
        self._texts: list[str] = []
        self._rows = StatementBuilder()

    def read(self, stream: LimitedXml) -> pa.Table:
        try:
            while block := stream.read(BUFFER):
                self._xml.Parse(block, False)
            self._xml.Parse(b"", True)
        except expat.ExpatError as error:  # a prefix without a namespace, for one
            problem = f"not valid GraphML: {expat.ErrorString(error.code)}"
            raise DataError(problem, path=self._path, line=error.lineno) from None
        if not len(self._rows):
            raise DataError(path=self._path, expected="edges", found="none")
        return self._rows.finish()

    def _opened(self, name: str, attributes: dict[str, str]) -> None:
        match name.rpartition("}")[2]:
            case "key":
                self._keys[attributes.get("id", "")] = _key(attributes)
            case "graph" | "node" | "edge" as kind:
                if kind == "graph":
                    self._directed = attributes.get("edgedefault") != "undirected"
                self._things.append(attributes)
                self._data.append([])
            case "data":
                self._key = self._keys.get(attributes.get("key", ""))
                self._texts = []
            case "hyperedge":
                raise self._error("an edge with two ends", "a hyperedge")

    def _text(self, text: str) -> None:
        if self._key is not None:
            self._texts.append(text)

    def _closed(self, name: str) -> None:
        match name.rpartition("}")[2]:
            case "data":
                if self._key is not None and self._data:
                    self._data[-1].append((self._key, "".join(self._texts)))
                self._key = None
            case "node":
                self._node(self._things.pop(), self._data.pop())
            case "edge":
                self._edge(self._things.pop(), self._data.pop())
            case "graph":
                self._things.pop()
                for key, text in self._data.pop():
                    if key.name == ABOUT_RELATIONS:
                        self._relations(text)

    def _node(self, attributes: dict[str, str], data: list[tuple[Key, str]]) -> None:
        node = self._name(attributes, "id")
        for key, text in data:
            field = None if key.is_value else WORDS.get(key.name.casefold())
            if field == "kind" and text:
                self._rows.add(node, KIND, KINDS + quote(text, safe=""))
            elif field in NAMING and field != "inverse":
                self._rows.add(node, NAMING[str(field)], f'"{text}"')
            elif field is None and (text or key.is_value):
                value = Value(text=text, datatype=key.datatype, language=key.language)
                self._rows.add(node, key.name, name_of_value(value), unit=key.unit)

    def _edge(self, attributes: dict[str, str], data: list[tuple[Key, str]]) -> None:
        if attributes.get("directed", str(self._directed)).casefold() == "false":
            raise self._error("directed edges, whose direction says which end is the head", "an undirected one")
        said = {key.name: text for key, text in data if text}
        relation = next((said[word] for word in RELATIONS if word in said), attributes.get("label", ""))
        if not relation:
            raise self._error("an edge with a relation, such as an attribute relation, label or type", "none")
        some = {name: said[name] for name in QUALIFIERS if name in said}
        self._rows.add(self._name(attributes, "source"), relation, self._name(attributes, "target"), **some)

    def _relations(self, text: str) -> None:
        """What is said of relations and properties, which GraphML has no place for."""
        try:
            for each in json.loads(text):
                for field, relation in NAMING.items():
                    said = each.get(field) or []
                    for one in [said] if isinstance(said, str) else said:
                        self._rows.add(str(each["id"]), relation, f'"{one}"')
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self._error(f"a list of relations as {ABOUT_RELATIONS}", "something else") from None

    def _name(self, attributes: dict[str, str], which: str) -> str:
        name = attributes.get(which, "")
        if not name:
            raise self._error(f"a node with {which}", "none")
        return name

    def _error(self, expected: str, found: str) -> DataError:
        return Place(self._path, self._xml.CurrentLineNumber).error(expected=expected, found=found)


def _key(attributes: dict[str, str]) -> Key:
    own = attributes.get(f"{OWN}}}datatype")
    name = attributes.get("attr.name") or attributes.get("id", "")
    datatype = own or DATATYPES.get(attributes.get("attr.type", ""), STRING)
    return Key(name, datatype, attributes.get(f"{OWN}}}language"), attributes.get(f"{OWN}}}unit"), own is not None)
