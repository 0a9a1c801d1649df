"""What a base holds goes into a file of each format and comes back; what a format loses is in docs/data.md."""

import contextlib
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import ConfigError, DataError
from hmem.graph.readers.read import read_table
from hmem.graph.values import Value
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.export import export
from hmem.knowledge.store.store import Store
from tests.laws import examples

RDF = ("nt", "ttl", "jsonld")
ALL = (*RDF, "graphml")
HOSTILE = [
    "<&>\"'",
    "a,b;c",
    'say "no"',
    "line\nbreak",
    "tab\there",
    "cr\rlf",
    " é 日本 ",
    "urn:hmem:x",
    "http://a/b",
    "x:y",
    "]]>",
    "_:b",
    "%41",
]


@contextlib.contextmanager
def made(folder: Path, name: str = "a.kb") -> Iterator[Store]:
    with Store.create(folder / name) as store:
        yield store


def state(store: Store) -> dict[str, Any]:
    """All that is stored now, without numbers, times and sources."""
    facts = {
        fact.names: (fact.confidence, fact.valid_from, fact.valid_until, fact.inferred_by, fact.probability)
        for fact in store.listing()
    }
    said = {}
    for kind in ("entity", "relation", "property"):
        for each in store.naming.every(kind):
            said[kind, each.id] = (
                each.label,
                sorted({*each.aliases} - {each.label}),
                each.kind,
                each.description,
                each.inverse,
            )
    values = {(each.entity, each.property, each.as_value()) for each in store.values.listing()}
    return {"facts": facts, "said": said, "values": values}


def there_and_back(store: Store, folder: Path, format: str) -> dict[str, Any]:
    target = Path(tempfile.mkdtemp(dir=folder)) / ("neo" if format == "neo4j" else f"all.{format}")
    export(store, target, format, overwrite=True)
    source = target / "relationships.csv" if format == "neo4j" else target
    back = folder / f"{format}.kb"
    with Store.create(back, overwrite=True) as other:
        other.add_table(read_table(source))
        assert other.check() == []
        return state(other)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with made(tmp_path) as store:
        store.add([("wolf", "eats", name) for name in HOSTILE])
        store.add([(name, "http://example.org/near", "wolf") for name in HOSTILE])
        store.add([("wolf", "part of", "pack")], confidence=0.25, valid_from="2019-05-01", valid_until="2020")
        store.add([("wolf", "part of", "x:y")], inferred_by="a <model>", probability=0.75)
        store.naming.describe("entity", "wolf", label="Wolf & co", aliases=["lobo", "Λύκος"], kind="wild/animal")
        store.naming.describe("entity", "x:y", description="two\nlines", label="<b>")
        store.naming.describe("relation", "eats", label="eats up", inverse="is eaten by", aliases=["devours"])
        store.values.set("wolf", "legs", [Value.of(4)])
        store.values.set("wolf", "height", [Value.of(0.8, "m"), Value.of(2, "ft")])
        store.values.set(
            "wolf", "name", [Value(text="loup", datatype="rdf:langString", language="fr"), Value.of("wolf")]
        )
        store.values.set("pack", "founded", [Value.of(date(2019, 5, 1)), Value(text="+05", datatype="xsd:integer")])
        store.naming.describe("property", "height", label="tall")
        yield store


@pytest.mark.parametrize("format", ALL)
def test_everything_comes_back(store: Store, tmp_path: Path, format: str) -> None:
    assert there_and_back(store, tmp_path, format) == state(store)


def test_neo4j_keeps_facts_and_names_and_the_texts_of_values(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        store.add([("wolf, grey", "eats", 'the "deer"\nof old')], confidence=0.25, valid_from="2019-05-01")
        store.add([("wolf, grey", "eats", "elk")], inferred_by="m", probability=0.5)
        store.naming.describe(
            "entity", "elk", label="Elk", aliases=["moose", "wapiti"], kind="animal", description="big"
        )
        store.values.set("elk", "legs", [Value.of(4)])
        store.values.set("elk", "http://a/weight", [Value.of(300.5), Value.of(310.0)])
        before = state(store)
        assert there_and_back(store, tmp_path, "neo4j") == before
        store.values.set("elk", "height", [Value.of(2, "m")])
        back = there_and_back(store, tmp_path, "neo4j")
        assert ("elk", "height", Value.of(2)) in back["values"]  # units are lost
        first = {path.read_text().splitlines()[0] for path in tmp_path.glob("*/neo/nodes.csv")}
        names = ":ID,:LABEL,label:string,aliases:string[],description:string,legs:long[],http://a/weight:double[]"
        assert first == {names, f"{names},height:long[]"}


def test_csv_and_parquet_keep_what_qualifies_facts(store: Store, tmp_path: Path) -> None:
    for format in ("csv", "parquet"):
        assert there_and_back(store, tmp_path, format) == {**state(store), "said": {}, "values": set()}


def test_other_programs_read_graphml(store: Store, tmp_path: Path) -> None:
    export(store, tmp_path / "a.graphml", "graphml", overwrite=False)
    graph = networkx.read_graphml(tmp_path / "a.graphml")
    assert graph.nodes["wolf"]["label"] == "Wolf & co"
    assert graph.nodes["wolf"]["legs"] == 4
    assert ("wolf", "<&>\"'") in graph.edges


def test_by_the_knowledge_base(store: Store, tmp_path: Path) -> None:
    with KnowledgeBase(store) as kb:
        assert kb.export(tmp_path / "a.ttl.gz") == len(kb)
        assert kb.export(tmp_path / "neo", format="neo4j") == len(kb)
        with pytest.raises(DataError, match="exists already"):
            kb.export(tmp_path / "a.ttl.gz")
        with pytest.raises(ConfigError, match=r"expected a name that ends in \.tsv, "):
            kb.export(tmp_path / "a.xlsx")


def test_as_of_a_time(store: Store, tmp_path: Path) -> None:
    export(store, tmp_path / "a.nt", "nt", 1, overwrite=False)
    assert set(read_table(tmp_path / "a.nt").filter(pc_is("eats"))["tail"].to_pylist()) == set(HOSTILE)
    assert not (tmp_path / "a.nt").read_text().count("near")


def pc_is(relation: str) -> Any:
    import pyarrow.compute as pc

    return pc.field("relation") == relation


def test_what_xml_cannot_have_is_refused(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        store.add([("bell \x07", "r", "b")])
        with pytest.raises(
            DataError, match=r"has the character \\x07 in it, which no XML can have; choose another format"
        ):
            export(store, tmp_path / "a.graphml", "graphml", overwrite=False)
        assert [path.name for path in tmp_path.iterdir() if "graphml" in path.name] == []


text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r"), min_size=1, max_size=8
).filter(lambda t: "\ufffe" not in t and "\uffff" not in t and t.strip() and not t.startswith('"'))
name = st.one_of(st.sampled_from("abc"), text, st.sampled_from(HOSTILE))
value = st.one_of(
    st.integers().map(Value.of),
    st.floats(allow_nan=False).map(Value.of),
    st.booleans().map(Value.of),
    text.map(Value.of),
    text.map(lambda text: Value(text=text, datatype="rdf:langString", language="de")),
    st.tuples(st.integers(), text).map(lambda both: Value.of(both[0], both[1])),
)


@pytest.mark.parametrize("format", ALL)
def test_any_base_comes_back(format: str) -> None:
    @examples(12)
    @given(
        st.lists(
            st.tuples(name, name, name, st.none() | st.floats(0, 1)), min_size=1, max_size=6, unique_by=lambda f: f[:3]
        ),
        st.lists(st.tuples(text, text, text, text), max_size=3),
        st.lists(st.tuples(name, value), max_size=4),
    )
    def law(facts: list[Any], said: list[Any], values: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder, made(Path(folder)) as store:
            store.add([fact[:3] for fact in facts], confidence=[fact[3] for fact in facts])
            entities = store.entity_names()
            for entity, (label, alias, kind, description) in zip(entities, said, strict=False):
                store.naming.describe(
                    "entity", entity, label=label, aliases=[alias], kind=kind, description=description
                )
            relation_like = set(store.relation_names()) | set(entities)
            for by, one in values:
                if by not in relation_like:  # one name for two things has one description in a file
                    store.values.set(entities[0], by, [one])
            both = set(store.relation_names()) & set(entities)
            if not both:
                assert there_and_back(store, Path(folder), format) == state(store)

    law()


def test_tsv_holds_only_what_is_evidence(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        store.add([("a", "r", "b"), ("a", "r", "c")], confidence=[None, 0.0])
        store.add([("a", "r", "tab\t")], inferred_by="base", probability=0.5)
        assert export(store, tmp_path / "a.tsv", "tsv", overwrite=False) == 1
        assert (tmp_path / "a.tsv").read_text() == "a\tr\tb\n"
        assert export(store, tmp_path / "a.csv", "csv", overwrite=False) == 3


@pytest.mark.parametrize("format", ["graphml", "neo4j", "nt"])
def test_in_the_past_of_a_merge_each_has_its_own_values(tmp_path: Path, format: str) -> None:
    with made(tmp_path) as store, made(tmp_path, "back.kb") as back:
        store.add([("wolf", "eats", "deer"), ("lobo", "eats", "elk")])
        store.values.set_all([("wolf", "legs", Value.of(4)), ("lobo", "legs", Value.of(3))])
        before, moment = state(store)["values"], store.moment
        store.merge("wolf", "lobo")
        target = tmp_path / ("neo" if format == "neo4j" else f"a.{format}")
        export(store, target, format, moment, overwrite=False)
        back.add_table(read_table(target / "relationships.csv" if format == "neo4j" else target))
        assert state(back)["values"] == before
