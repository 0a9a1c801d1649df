"""A base as RDF: its facts and values, and what is said of its entities, relations and properties.

What is said of a statement itself (its confidence, the days on which it held, the model that concluded it, the unit of
a value) is said by a node of RDF 1.2 that reifies it: `?s ?p ?o {| hmem:confidence ?c |}` in a query. JSON-LD has no
triple terms yet, so there the node is an rdf:Statement.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from hmem.graph.descriptions import Description
from hmem.graph.rdf_terms import Terms
from hmem.graph.readers.rdf_descriptions import INVERSE, KIND, NAMING_NAMES
from hmem.graph.readers.rdf_names import TERMS, WELL_KNOWN
from hmem.graph.values import Value
from hmem.knowledge.store.database import KINDS, Kind
from hmem.knowledge.store.store import Store

Triple = tuple[Any, Any, Any]
RDF = WELL_KNOWN["rdf"]


def triples(
    store: Store, oxigraph: Any, *, as_of: datetime | int | None = None, triple_terms: bool = True
) -> Iterator[Triple]:
    """Everything that is stored, in the terms of `hmem.graph.rdf_terms`; names are those of now."""
    terms = Terms(oxigraph, NAMING_NAMES)
    statements = _Statements(terms, triple_terms)
    for (head, relation, tail), said in store.facts(as_of):
        fact = terms.resource(head), terms.relation(relation), terms.object(tail)
        yield fact
        if said:
            yield from statements.about(fact, said)
    for value in store.values.listing(as_of=as_of):
        fact = terms.resource(value.entity), terms.relation(value.property), terms.value(value.as_value())
        yield fact
        if value.unit is not None:
            yield from statements.about(fact, {"unit": value.unit})
    for kind in KINDS:
        for each in store.naming.every(kind):
            yield from _described(terms, kind, each)


class _Statements:
    """What is said of statements, each by a node of its own."""

    def __init__(self, terms: Terms, triple_terms: bool) -> None:
        self._terms, self._of_triples = terms, triple_terms
        self._number = 0

    def about(self, fact: Triple, said: dict[str, Any]) -> Iterator[Triple]:
        """The triples that say it."""
        made = self._terms.oxigraph
        self._number += 1
        node = made.BlankNode(f"s{self._number}")
        if self._of_triples:
            yield node, made.NamedNode(RDF + "reifies"), made.Triple(*fact)
        else:
            yield node, made.NamedNode(RDF + "type"), made.NamedNode(RDF + "Statement")
            for part, term in zip(("subject", "predicate", "object"), fact, strict=True):
                yield node, made.NamedNode(RDF + part), term
        for name, value in said.items():
            yield node, made.NamedNode(TERMS + name), self._terms.value(Value.of(value))


def _described(terms: Terms, kind: Kind, said: Description) -> Iterator[Triple]:
    """What is said of one thing."""
    made, iri = terms.oxigraph.NamedNode, terms.resource if kind == "entity" else terms.relation
    subject = iri(said.id)
    texts = [(WELL_KNOWN["rdfs"] + "label", said.label), (WELL_KNOWN["schema"] + "description", said.description)]
    texts += [(WELL_KNOWN["skos"] + "altLabel", alias) for alias in said.aliases]
    texts.append((INVERSE, said.inverse))
    yield from ((subject, made(predicate), terms.text(text)) for predicate, text in texts if text is not None)
    if said.kind is not None:
        yield subject, made(KIND), terms.kind(said.kind)
