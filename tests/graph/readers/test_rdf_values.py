"""Literals of RDF: values with their datatypes and languages, to the letter, and no entities."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import DataError
from hmem.graph.readers.rdf_descriptions import read_rdf_descriptions, split_facts
from hmem.graph.readers.rdf_names import WELL_KNOWN, TermNames, value_of
from hmem.graph.readers.read import read_table
from hmem.graph.registry import load_dataset
from hmem.graph.triples import PARTS
from hmem.graph.values import Value

TURTLE = """@prefix e: <http://ex/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:a e:knows e:b ; e:height 1.80 ; e:born "1879-03-14"^^xsd:date ; e:said "bonjour"@fr-CH, "" ;
    rdfs:label "Al" ; e:mass "70"^^e:kilogram .
e:c e:height 1.6e0 .
"""


@pytest.fixture
def turtle(tmp_path: Path) -> Path:
    pytest.importorskip("pyoxigraph")
    (tmp_path / "a.ttl").write_text(TURTLE, encoding="utf-8")
    return tmp_path / "a.ttl"


def test_literals_become_values_and_labels(turtle: Path) -> None:
    facts, told = split_facts(read_table(turtle))
    assert facts.num_rows == 1
    assert [each.label for each in told.descriptions] == ["Al"]
    height, born, said, mass = (f"http://ex/{name}" for name in ("height", "born", "said", "mass"))
    a, c = "http://ex/a", "http://ex/c"
    assert set(told.values) == {
        (a, height, Value(text="1.80", datatype="xsd:decimal")),
        (a, born, Value(text="1879-03-14", datatype="xsd:date")),
        (a, said, Value(text="bonjour", datatype="rdf:langString", language="fr-ch")),
        (a, said, Value(text="")),
        (a, mass, Value(text="70", datatype="http://ex/kilogram")),
        (c, height, Value(text="1.6e0", datatype="xsd:double")),
    }


def test_text_that_begins_with_a_quote_is_no_literal() -> None:
    table = read_table([("a", "said", '"so"')])
    facts, told = split_facts(table)
    assert (facts.num_rows, told.values) == (1, [])


def test_the_tails_of_chosen_relations_are_values() -> None:
    rows = [("a", "height", "1.8"), ("b", "height", "2"), ("a", "knows", "b"), ("b", "born", "1990-01-01")]
    facts, told = split_facts(read_table(rows), values=["height", "born"])
    assert [facts.column(part).to_pylist() for part in PARTS] == [["a"], ["knows"], ["b"]]
    assert told.values == [
        ("a", "height", Value(text="1.8", datatype="xsd:decimal")),
        ("b", "height", Value(text="2", datatype="xsd:decimal")),
        ("b", "born", Value(text="1990-01-01", datatype="xsd:date")),
    ]


def test_a_model_is_trained_without_literals(turtle: Path) -> None:
    dataset = load_dataset(turtle)
    assert (dataset.num_entities, dataset.num_relations, len(dataset.train)) == (2, 1, 1)
    assert dataset.notes[0] == "7 statements with literals are left out: values and names are no entities"
    turtle.write_text('<http://ex/a> <http://ex/r> "only" .', encoding="utf-8")
    with pytest.raises(DataError, match="expected facts between entities, found only values of entities"):
        load_dataset(turtle)


LANGUAGES = st.from_regex(r"[a-z]{2}(-[a-z]{2})?(--(ltr|rtl))?", fullmatch=True)
VALUES = st.one_of(
    st.builds(Value, text=st.text(), datatype=st.sampled_from(["xsd:string", "xsd:integer", "http://ex/t"])),
    st.text()
    .flatmap(lambda text: LANGUAGES.map(lambda language: (text, language)))
    .map(
        lambda both: Value(
            text=both[0], datatype="rdf:dirLangString" if "--" in both[1] else "rdf:langString", language=both[1]
        )
    ),
)


@given(value=VALUES)
def test_the_name_of_a_literal_is_read_back(value: Value) -> None:
    language, _, direction = (value.language or "").partition("--")
    datatype = value.datatype.replace("xsd:", WELL_KNOWN["xsd"]).replace("rdf:", WELL_KNOWN["rdf"])
    name = TermNames().literal(value.text, language or None, direction or None, datatype)
    assert value_of(name) == value


def test_a_blank_label_is_none(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    path = tmp_path / "a.ttl"
    path.write_text('<http://a> <http://www.w3.org/2000/01/rdf-schema#label> " ", "Al" .')
    (found,) = read_rdf_descriptions(path, "ttl", ["en"]).descriptions
    assert (found.label, found.aliases) == ("Al", ())
