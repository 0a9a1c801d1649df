"""Two terms never share a name."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.readers.rdf_names import WELL_KNOWN, TermNames
from tests.graph.readers.helpers import fuzz

pieces = st.sampled_from(["http:", "//", "ex/", "a", "b:", "dbr:", "x", "#", "/", "é", WELL_KNOWN["dbr"]])
iris = st.lists(pieces, min_size=1, max_size=5).map("".join).filter(lambda iri: iri[0].isalpha() and ":" in iri)
prefixes = st.dictionaries(st.sampled_from(["", "a", "b", "dbr", "http", "_", "a:b", "x"]), iris, max_size=6)
texts = st.lists(st.sampled_from(["x", '"', "@en", "^^", "xsd:integer", "\n", "a:"]), max_size=4).map("".join)
literals = st.tuples(
    texts,
    st.sampled_from([None, "en", "en-GB"]),
    st.sampled_from([None, "ltr"]),
    st.sampled_from([WELL_KNOWN["xsd"] + "string", WELL_KNOWN["xsd"] + "integer", "a:x"]),
)


def test_iris_are_shortened_by_the_longest_namespace() -> None:
    names = TermNames({"e": "http://ex/", "f": "http://ex/f/", "g": "http://ex/", "schema": "http://mine/"})
    assert names.iri("http://ex/a") == "e:a"
    assert names.iri("http://ex/f/a") == "f:a"
    assert names.iri("http://ex/f/") == "e:f/"
    assert names.iri("http://ex/") == "http://ex/"
    assert names.iri("http://mine/a") == "http://mine/a"
    assert names.iri("http://schema.org/a") == "schema:a"
    assert names.iri("e:a") == "<e:a>"
    assert names.iri("urn:a") == "urn:a"


def test_full_names_are_the_iris_themselves() -> None:
    names = TermNames()
    for iri in ("http://ex/a", "http://schema.org/a", "dbr:Paris", "urn:a"):
        assert names.iri(iri) == iri
    assert names.literal("3", None, None, WELL_KNOWN["xsd"] + "integer") == '"3"^^xsd:integer'
    assert names.literal("3", None, None, "xsd:integer") == '"3"^^<xsd:integer>'


def test_what_is_no_prefix_is_not_used() -> None:
    for declared in ("_", "a:b", "1", '"', "<", "a b"):
        assert TermNames({declared: "http://ex/"}).iri("http://ex/a") == "http://ex/a"
    assert TermNames({"e": ""}).iri("http://ex/a") == "http://ex/a"


def test_a_well_known_prefix_is_preferred() -> None:
    assert TermNames({"a": WELL_KNOWN["dbr"]}).iri(WELL_KNOWN["dbr"] + "Rome") == "dbr:Rome"


def test_literals() -> None:
    names = TermNames({})
    assert names.literal("x", None, None, WELL_KNOWN["xsd"] + "string") == '"x"'
    assert names.literal("x", "en", None, WELL_KNOWN["rdf"] + "langString") == '"x"@en'
    assert names.literal("x", "ar", "rtl", WELL_KNOWN["rdf"] + "dirLangString") == '"x"@ar--rtl'
    assert names.literal("3", None, None, WELL_KNOWN["xsd"] + "integer") == '"3"^^xsd:integer'
    assert names.literal("3", None, None, "http://ex/t") == '"3"^^http://ex/t'


@fuzz
@given(declared=st.none() | prefixes, iris=st.lists(iris, max_size=12), literals=st.lists(literals, max_size=12))
def test_two_terms_never_share_a_name(
    declared: dict[str, str] | None, iris: list[str], literals: list[tuple[str, str | None, str | None, str]]
) -> None:
    names = TermNames(declared)
    terms_of: dict[str, set[object]] = defaultdict(set)
    for iri in iris:
        terms_of[names.iri(iri)].add(iri)
    for text, language, direction, datatype in literals:
        term = (text, language, direction) if language is not None else (text, datatype)
        terms_of[names.literal(text, language, direction, datatype)].add(term)
    assert all(len(terms) == 1 for terms in terms_of.values())
    assert not any(name.startswith("_:") for name in terms_of)
