"""The terms of names: whatever a name is, its term is read as this very name."""

import importlib
from typing import Any

import pyoxigraph
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hmem.errors import ConfigError
from hmem.graph.rdf_terms import PREFIXES, Terms, import_pyoxigraph
from hmem.graph.readers.rdf_names import TermNames, own_name
from hmem.graph.values import Value

RELATION = pyoxigraph.NamedNode("http://example.org/p")
PARTS = [
    "urn:hmem:",
    "http://example.org/",
    "_:",
    '"',
    "@fr",
    "@FR",
    "^^",
    "xsd:integer",
    "%20",
    "a",
    "é",
    ":",
    " ",
    "<",
    ">",
]
any_name = st.one_of(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20),
)


def read(term: Any) -> str:
    """The name that a reader gives to a term."""
    names = TermNames()
    if isinstance(term, pyoxigraph.NamedNode):
        return names.iri(term.value)
    return names.literal(term.value, term.language, None, term.datatype.value)


@given(any_name)
@example('"3"^^<xsd:x>')
@example('"3"^^http://www.w3.org/2001/XMLSchema#integer')
@example('"x"^^<http://a b>')
@example("http://example.org/../a")
@example("urn:hmem:kind:animal")
def test_a_name_comes_back_from_a_file(name: str) -> None:
    terms = Terms(pyoxigraph)
    fact = pyoxigraph.Triple(terms.resource(name), terms.relation(name), terms.object(name))
    for format in (pyoxigraph.RdfFormat.N_TRIPLES, pyoxigraph.RdfFormat.TURTLE):
        (back,) = pyoxigraph.parse(pyoxigraph.serialize([fact], format=format), format=format)
        assert [read(part) for part in (back.subject, back.predicate, back.object)] == [name] * 3


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("dog.n.01", "<urn:hmem:dog.n.01>"),
        ("Cobalt Strike", "<urn:hmem:Cobalt%20Strike>"),
        ("http://example.org/a", "<http://example.org/a>"),
        ("dbr:Paris", "<dbr:Paris>"),
        ("urn:hmem:a", "<urn:hmem:urn%3Ahmem%3Aa>"),
        ("_:5a1c09f2-b1", "<urn:hmem:_%3A5a1c09f2-b1>"),
        ('"Paris"@fr', '"Paris"@fr'),
        ('"Paris"@FR', "<urn:hmem:%22Paris%22%40FR>"),
        ('"3"^^xsd:integer', '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ('"', "<urn:hmem:%22>"),
    ],
)
def test_what_names_become(name: str, term: str) -> None:
    assert str(Terms(pyoxigraph).object(name)) == term


def test_a_literal_is_an_iri_where_rdf_has_no_literals() -> None:
    assert str(Terms(pyoxigraph).resource('"a"')) == "<urn:hmem:%22a%22>"


@pytest.mark.parametrize(
    ("value", "term"),
    [
        (Value.of(3), '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        (Value.of("three"), '"three"'),
        (Value(text="drei", datatype="rdf:langString", language="de"), '"drei"@de'),
        (Value(text="3", datatype="http://example.org/t"), '"3"^^<http://example.org/t>'),
        (Value(text="3", datatype="no iri"), '"3"'),
    ],
)
def test_values(value: Value, term: str) -> None:
    assert str(Terms(pyoxigraph).value(value)) == term


def test_a_relation_that_would_be_read_as_naming_is_encoded() -> None:
    label = PREFIXES["rdfs"] + "label"
    assert own_name(Terms(pyoxigraph, frozenset({label})).relation(label).value) == label


def test_only_iris_as_they_are_written_here_stand_for_names() -> None:
    assert own_name("urn:hmem:a%20b") == "a b"
    for other in ("urn:hmem:", "urn:hmem:a b", "urn:hmem:%61", "urn:hmem:%ff", "urn:hmem:kind:a", "http://a/b"):
        assert own_name(other) is None


def test_without_pyoxigraph(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ConfigError, match=r"^SPARQL needs the package pyoxigraph; pip install 'hmem\[rdf\]'$"):
        import_pyoxigraph("SPARQL needs")
