import pytest

from hmem.errors import ConfigError
from hmem.graph.readers.value_columns import Heading, read_as, recognized, typed
from hmem.graph.values import Value


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("population", Heading("population")),
        ("population:int", Heading("population", "xsd:integer")),
        (" height [m] ", Heading("height", None, "m")),
        ("height:Decimal [m]", Heading("height", "xsd:decimal", "m")),
        ("http://ex/height", Heading("http://ex/height")),
        ("dbo:height", Heading("dbo:height")),
    ],
)
def test_headings(text: str, heading: Heading) -> None:
    assert Heading.of(text) == heading


@pytest.mark.parametrize(
    ("texts", "datatypes"),
    [
        (["3", "-40"], ["xsd:integer"] * 2),
        (["3", "2.5"], ["xsd:decimal"] * 2),
        (["3", "1e9", ".5"], ["xsd:double"] * 3),
        (["007", "3"], ["xsd:string"] * 2),
        (["3", "many"], ["xsd:string"] * 2),
        (["TRUE", "false"], ["xsd:boolean"] * 2),
        (["2020-02-29", "2020-02-29 12:00"], ["xsd:date", "xsd:dateTime"]),
        (["2020-02-29", "2020-13-01"], ["xsd:string"] * 2),
        (["1,234"], ["xsd:string"]),
        ([], []),
    ],
)
def test_a_column_is_what_suits_all_of_it(texts: list[str], datatypes: list[str]) -> None:
    assert [value.datatype for value in recognized(texts)] == datatypes


def test_values_are_spelled_as_xml_schema_wants_and_otherwise_as_they_stand() -> None:
    assert [value.text for value in recognized(["TRUE"])] == ["true"]
    assert [value.text for value in recognized(["2020-02-29 12:00"])] == ["2020-02-29T12:00"]
    assert recognized(["2.50"], "m") == [Value(text="2.50", datatype="xsd:decimal", unit="m")]
    assert read_as("many", "xsd:integer") is None
    assert read_as("1879", "xsd:gYear") == Value(text="1879", datatype="xsd:gYear")


def test_a_heading_of_any_length_is_read_at_once() -> None:
    for text in ("[" * 1_000_000, "a" + " " * 1_000_000 + "b", ":a" * 500_000):
        assert Heading.of(text) == Heading(text)


def test_what_is_typed_with_a_word_is_of_its_datatype() -> None:
    assert typed(["3", "4"], "int", "m") == [Value(text=each, datatype="xsd:integer", unit="m") for each in "34"]
    assert typed(["loup"], None, None, "fr") == [Value(text="loup", datatype="rdf:langString", language="fr")]
    with pytest.raises(ConfigError, match="'many' is no int"):
        typed(["3", "many"], "int", None)
