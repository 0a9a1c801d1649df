"""The RDF term of a name, such that reading the term gives the name back: the reverse of `readers.rdf_names`.

- A name that is an absolute IRI is that IRI.
- A name in the form of a literal (`"Paris"@fr`, `"3"^^xsd:integer`) is that literal where RDF allows one: as a tail.
- Any other name is percent-encoded in UTF-8 behind `urn:hmem:`, so that `dog.n.01` is `urn:hmem:dog.n.01`, and
  `Cobalt Strike` is `urn:hmem:Cobalt%20Strike`. So are the few whose own term would be read as something else: blank
  nodes, a language in capital letters, and names that begin with `urn:hmem:` themselves.

Labels are `rdfs:label`, other names `skos:altLabel`, descriptions `schema:description`; a kind is an `rdf:type` of the
form `urn:hmem:kind:animal`, and what RDF has no word for is in `urn:hmem:term:`. A colon in a name is encoded, so no
name is like one of these. `PREFIXES` are what a query may use without declaring it.
"""

import importlib
import re
from typing import Any
from urllib.parse import quote

from hmem.errors import ConfigError, Hint
from hmem.graph.readers.rdf_names import KINDS, NAMES, TERMS, WELL_KNOWN, TermNames, name_of_value
from hmem.graph.values import Value

PREFIXES = {**WELL_KNOWN, "": NAMES, "kind": KINDS, "hmem": TERMS}
_LITERAL = re.compile(r'"(.*)"(?:@([A-Za-z0-9-]+)|\^\^(.+))?', re.DOTALL)


def import_pyoxigraph(what: str) -> Any:
    """The optional package, or an error that says what needs it and how it is installed."""
    try:
        return importlib.import_module("pyoxigraph")
    except ImportError:
        raise ConfigError(f"{what} the package pyoxigraph", hint=Hint(command="pip install 'hmem[rdf]'")) from None


class Terms:
    """The terms of names, each made once."""

    def __init__(self, oxigraph: Any, reserved: frozenset[str] = frozenset()) -> None:
        self.oxigraph = oxigraph
        self._reserved = reserved  # relations that would be read as naming something
        self._names = TermNames()
        self._resources: dict[str, Any] = {}
        self._objects: dict[str, Any] = {}

    def resource(self, name: str) -> Any:
        """A name as an IRI, wherever it stands."""
        found = self._resources.get(name)
        if found is None:
            found = self._resources[name] = self._iri(name)
        return found

    def object(self, name: str) -> Any:
        """A name as a tail, where literals are allowed."""
        if not name.startswith('"'):
            return self.resource(name)
        found = self._objects.get(name)
        if found is None:
            found = self._objects[name] = self._literal(name) or self.resource(name)
        return found

    def relation(self, name: str) -> Any:
        return self._encoded(name) if name in self._reserved else self.resource(name)

    def kind(self, kind: str) -> Any:
        return self.oxigraph.NamedNode(KINDS + quote(kind, safe=""))

    def text(self, text: str) -> Any:
        return self.oxigraph.Literal(text)

    def value(self, value: Value) -> Any:
        """A value as a literal; of one that RDF cannot have, such as of a datatype that is no IRI, the text alone."""
        found = self._literal(name_of_value(value))
        return self.text(value.text) if found is None else found

    def _iri(self, name: str) -> Any:
        if ":" in name and not name.startswith(NAMES):
            try:
                return self.oxigraph.NamedNode(name)
            except ValueError:
                pass
        return self._encoded(name)

    def _encoded(self, name: str) -> Any:
        return self.oxigraph.NamedNode(NAMES + quote(name, safe=""))

    def _literal(self, name: str) -> Any:
        """A name as the literal that is read as this very name; None if there is none."""
        found = _LITERAL.fullmatch(name)
        if found is None:
            return None
        text, language, datatype = found.groups()
        try:
            kind = None if datatype is None else self.oxigraph.NamedNode(_expanded(datatype))
            made = self.oxigraph.Literal(text, language=language, datatype=kind)
        except ValueError:
            return None
        read = self._names.literal(made.value, made.language, None, made.datatype.value)
        return made if read == name else None


def _expanded(datatype: str) -> str:
    """A datatype in full, from the name that a reader gives it."""
    prefix, _, rest = datatype.strip("<>").partition(":")
    return WELL_KNOWN[prefix] + rest if prefix in WELL_KNOWN and not datatype.startswith("<") else datatype.strip("<>")
