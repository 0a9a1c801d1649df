"""A base as RDF: its facts and values, and what is said of its entities, relations and properties."""

from collections.abc import Iterator
from typing import Any

from hmem.graph.descriptions import Description
from hmem.graph.rdf_terms import Terms
from hmem.graph.readers.rdf_descriptions import KIND, NAMING_NAMES
from hmem.graph.readers.rdf_names import TERMS, WELL_KNOWN
from hmem.knowledge.store.describe import KINDS
from hmem.knowledge.store.read import Kind
from hmem.knowledge.store.store import Store

Triple = tuple[Any, Any, Any]
BLOCK = 1 << 16


def triples(store: Store, oxigraph: Any) -> Iterator[Triple]:
    """Everything that is stored now, in the terms of `hmem.graph.rdf_terms`."""
    terms = Terms(oxigraph, NAMING_NAMES)
    entities, relations = store.entity_names(), [terms.relation(name) for name in store.relation_names()]
    facts = store.triples()
    for start in range(0, len(facts), BLOCK):
        for head, relation, tail in facts[start : start + BLOCK].tolist():
            yield terms.resource(entities[head]), relations[relation], terms.object(entities[tail])
    for value in store.values.listing():
        yield terms.resource(value.entity), terms.relation(value.property), terms.value(value.as_value())
    for kind in KINDS:
        for said in store.naming.changed_since(kind, 0).values():
            yield from _described(terms, kind, said)


def _described(terms: Terms, kind: Kind, said: Description) -> Iterator[Triple]:
    """What is said of one thing."""
    made, iri = terms.oxigraph.NamedNode, terms.resource if kind == "entity" else terms.relation
    subject = iri(said.id)
    texts = [(WELL_KNOWN["rdfs"] + "label", said.label), (WELL_KNOWN["schema"] + "description", said.description)]
    texts += [(WELL_KNOWN["skos"] + "altLabel", alias) for alias in said.aliases]
    texts.append((TERMS + "inverse", said.inverse))
    yield from ((subject, made(predicate), terms.text(text)) for predicate, text in texts if text is not None)
    if said.kind is not None:
        yield subject, made(KIND), terms.kind(said.kind)
