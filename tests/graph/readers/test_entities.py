"""Tables of entities: with a heading in any order, without one, as RDF."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmem.errors import ConfigError, DataError
from hmem.graph.descriptions import Description
from hmem.graph.readers.entities import fields_of, read_entities

Q1 = Description(id="Q1", label="wolf", kind="animal", description="It howls.", aliases=("lobo", "Canis lupus"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "id\tlabel\tkind\tdescription\taliases\nQ1\twolf\tanimal\tIt howls.\tlobo|Canis lupus\n"),
        ("a.tsv", "aliases\tKind\tid\tdescription\tLabel\nlobo| Canis lupus\tanimal\tQ1\tIt howls.\twolf\n"),
        ("a.csv", 'entity,name,other,type,comment,synonyms\nQ1,wolf,x,animal,"It howls.",lobo|Canis lupus\n'),
        ("a.tsv", "id\tlabel\taliases\tkind\tdescription\nQ1\twolf\t\t\tIt howls.\nQ1\t\tlobo|Canis lupus\tanimal\t\n"),
    ],
)
def test_a_table_with_a_heading(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_entities(tmp_path / name) == [Q1]


def test_label_files_without_heading(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("Q1\twolf\nQ1\tlobo\tCanis lupus\n\nQ2\tdog\n", encoding="utf-8")
    wolf = Description(id="Q1", label="wolf", aliases=("lobo", "Canis lupus"))
    assert read_entities(path) == [wolf, Description(id="Q2", label="dog")]


def test_columns_say_what_a_file_without_heading_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("wolf\tS1\tanimal\t2020-01-01\tIt howls.\n", encoding="utf-8")
    (found,) = read_entities(path, columns=["id", "aliases", "kind", "", "description"])
    assert found == Description(id="wolf", aliases=("S1",), kind="animal", description="It howls.")
    with pytest.raises(ConfigError, match="says what the columns are"):
        read_entities(path, columns=["id", "color"])


def test_parquet_may_have_lists_of_aliases(tmp_path: Path) -> None:
    table = {"id": ["Q1"], "label": ["wolf"], "kind": ["animal"], "description": ["It howls."]}
    pq.write_table(pa.table({**table, "aliases": [["lobo", "Canis lupus"]]}), tmp_path / "a.parquet")
    assert read_entities(tmp_path / "a.parquet") == [Q1]


def test_rdf_prefers_the_language_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_text(
        """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        @prefix schema: <http://schema.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        <u:w> rdfs:label "Wolf"@de, "wolf"@en ; skos:altLabel "lobo"@es ; a owl:NamedIndividual, <u:Animal> ;
            schema:description "Es heult."@de, "It howls."@en-GB . <u:x> rdfs:comment "no label" .""",
        encoding="utf-8",
    )
    wolf, other = sorted(read_entities(path), key=lambda each: each.id)
    said = Description(id="u:w", label="wolf", aliases=("Wolf", "lobo"), kind="Animal", description="It howls.")
    assert (wolf.label, sorted(wolf.aliases), wolf.kind, wolf.description) == (
        said.label, sorted(said.aliases), said.kind, said.description,
    )  # fmt: skip
    assert other == Description(id="u:x", description="no label")
    german = sorted(read_entities(path, languages=["de", "en"]), key=lambda each: each.id)[0]
    assert (german.label, german.description) == ("Wolf", "Es heult.")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id\tlabel\tkind\nQ1\twolf\n", "a.tsv:2: expected 3 fields, found 2"),
        ("id\tlabel\n\twolf\n", "a.tsv:2: expected an id, found it empty"),
        ("Q1\n", "a.tsv:1: expected an id and its label"),
        ("id\tlabel\n", "expected rows that describe entities, found none"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        read_entities(tmp_path / "a.tsv")


def test_a_heading_says_each_thing_once() -> None:
    assert fields_of(["id", "name", "label"]) == ["id", None, "label"]
    assert fields_of(["name", "kind"]) == ["id", "kind"]
    assert fields_of(["Q1", "wolf"]) is None
    assert fields_of(["id", "id", "label"]) is None
