"""Tables of entities: with a heading in any order, without one, as RDF."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmem.errors import ConfigError, DataError
from hmem.graph.descriptions import Description
from hmem.graph.readers.entities import fields_of, read_entities
from hmem.graph.values import Value

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
    assert read_entities(tmp_path / name).descriptions == [Q1]


def test_label_files_without_heading(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("Q1\twolf\nQ1\tlobo\tCanis lupus\n\nQ2\tdog\n", encoding="utf-8")
    wolf = Description(id="Q1", label="wolf", aliases=("lobo", "Canis lupus"))
    assert read_entities(path).descriptions == [wolf, Description(id="Q2", label="dog")]


def test_columns_say_what_a_file_without_heading_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("wolf\tS1\tanimal\t2020-01-01\tIt howls.\n", encoding="utf-8")
    (found,) = read_entities(path, columns=["id", "aliases", "kind", "", "description"]).descriptions
    assert found == Description(id="wolf", aliases=("S1",), kind="animal", description="It howls.")
    with pytest.raises(ConfigError, match="says what the columns are"):
        read_entities(path, columns=["id", "color"])


def test_parquet_may_have_lists_of_aliases(tmp_path: Path) -> None:
    table = {"id": ["Q1"], "label": ["wolf"], "kind": ["animal"], "description": ["It howls."]}
    pq.write_table(pa.table({**table, "aliases": [["lobo", "Canis lupus"]]}), tmp_path / "a.parquet")
    assert read_entities(tmp_path / "a.parquet").descriptions == [Q1]


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
    wolf, other = sorted(read_entities(path).descriptions, key=lambda each: each.id)
    said = Description(id="u:w", label="wolf", aliases=("Wolf", "lobo"), kind="Animal", description="It howls.")
    assert (wolf.label, sorted(wolf.aliases), wolf.kind, wolf.description) == (
        said.label, sorted(said.aliases), said.kind, said.description,
    )  # fmt: skip
    assert other == Description(id="u:x", description="no label")
    german = sorted(read_entities(path, languages=["de", "en"]).descriptions, key=lambda each: each.id)[0]
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
    assert fields_of(["id", "population"]) == ["id", None]
    assert fields_of(["entity", "population:int"]) == ["id", None]
    assert fields_of(["entity", "population"]) is None, "that may be an entity and its label"


def test_other_columns_are_values(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "id,label,height [m],legs,born,code,note\nQ1,wolf,0.8,4,2019-05-01,007,shy\nQ2,fish,,0,,12,\n", encoding="utf-8"
    )
    read = read_entities(path)
    assert [each.label for each in read.descriptions] == ["wolf", "fish"]
    assert sorted(read.values) == sorted(
        [
            ("Q1", "height", Value(text="0.8", datatype="xsd:decimal", unit="m")),
            ("Q1", "legs", Value.of(4)),
            ("Q2", "legs", Value.of(0)),
            ("Q1", "born", Value.of(date(2019, 5, 1))),
            ("Q1", "code", Value.of("007")),
            ("Q2", "code", Value.of("12")),
            ("Q1", "note", Value.of("shy")),
        ]
    )
    path.write_text("id,legs:int\nQ1,4\nQ2,many\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv:3: expected xsd:integer as legs, found many"):
        read_entities(path)
    path.write_text("Q1,wolf,4\n", encoding="utf-8")
    told = read_entities(path, columns=["id", "label", "legs:int"])
    assert told.values == [("Q1", "legs", Value.of(4))]


def test_the_types_of_parquet_are_kept(tmp_path: Path) -> None:
    table = {"id": ["Q1", "Q2"], "legs": [4, None], "born": [date(2019, 5, 1), None], "tame": [False, True]}
    pq.write_table(pa.table({**table, "seen": [[1.5, 2.5], []]}), tmp_path / "a.parquet")
    assert read_entities(tmp_path / "a.parquet").values == [
        ("Q1", "legs", Value.of(4)),
        ("Q1", "born", Value.of(date(2019, 5, 1))),
        ("Q1", "tame", Value.of(False)),
        ("Q2", "tame", Value.of(True)),
        ("Q1", "seen", Value.of(1.5)),
        ("Q1", "seen", Value.of(2.5)),
    ]


def test_parquet_without_the_right_columns_and_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"color": ["red"], "size": [3]}), path)
    with pytest.raises(DataError, match=r"a\.parquet: expected a column id, and some of label, .*found .*color"):
        read_entities(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"a\.parquet: not a sound Parquet file: "):
        read_entities(path)
