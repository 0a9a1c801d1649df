from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import StoreError, UnknownNameError
from hmem.graph.descriptions import Description
from hmem.knowledge.store.store import Store
from hmem.serve.name_index import Named, NameIndex, Said, Totals
from tests.knowledge.living import TOY_FACTS
from tests.laws import examples


def degrees(facts: set[tuple[str, str, str]]) -> dict[str, int]:
    names = {name for head, _, tail in facts for name in (head, tail)}
    return {name: sum(name in (head, tail) for head, _, tail in facts) for name in names}


def test_counts_follow_what_others_write(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.kb") as writer, Store.open(tmp_path / "a.kb", read_only=True) as reader:
        name_index = NameIndex(reader)
        assert name_index.entities("", 10) == []
        assert name_index.relations() == []
        writer.add([("a", "r", "b"), ("a", "r", "a")])
        assert name_index.entities("", 10) == [Named("a", 2), Named("b", 1)]
        assert name_index.relations() == [Named("r", 2)]
        writer.remove([("a", "r", "b")])
        assert name_index.entities("", 10) == [Named("a", 1), Named("b", 0)]
        assert (name_index.facts_of("a"), name_index.facts_of("b"), name_index.facts_of("c")) == (1, 0, None)


def test_labels_as_of_a_moment_need_no_look_at_the_store(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.kb") as writer:
        reader = Store.open(tmp_path / "a.kb", read_only=True)
        writer.add([("a", "r", "b")])
        name_index = NameIndex(reader)
        writer.naming.describe("entity", "a", label="A")
        assert not name_index.labels(["a"], as_of=1).entities
        assert name_index.labels(["a"], as_of=2).entities == {"a": "A"}
        reader.close()
        assert name_index.labels_of([("b", "r", "a")], as_of=2).entities == {"a": "A"}
        with pytest.raises(StoreError):
            name_index.labels(["a"], as_of=3)


FACT = st.tuples(st.sampled_from("abc"), st.sampled_from("rs"), st.sampled_from("abc"))


@examples(15)
@given(writes=st.lists(st.tuples(st.booleans(), st.lists(FACT, min_size=1, max_size=3)), max_size=6))
def test_counts_are_those_of_the_facts_whatever_was_written(
    writes: list[tuple[bool, list[tuple[str, str, str]]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("base") / "a.kb"
    with Store.create(path) as writer, Store.open(path, read_only=True) as reader:
        name_index = NameIndex(reader)
        facts: set[tuple[str, str, str]] = set()
        for adds, some in writes:
            if adds:
                writer.add(some)
                facts |= set(some)
            elif present := [each for each in some if each in facts]:
                writer.remove(present)
                facts -= set(present)
            found = {each.name: each.facts for each in name_index.entities("", 10) if each.facts}
            assert found == degrees(facts)
            assert {each.name: each.facts for each in name_index.relations() if each.facts} == {
                name: count for name in "rs" if (count := sum(relation == name for _, relation, _ in facts))
            }


def test_names_and_facts_by_number(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.kb") as store:
        store.add(TOY_FACTS)
        name_index = NameIndex(store)
        assert name_index.named(store.triples()) == TOY_FACTS
        assert name_index.totals == Totals(len(TOY_FACTS), len(degrees(set(TOY_FACTS))), 4, 1)
        store.remove(TOY_FACTS[:2])
        name_index.refresh()
        assert (name_index.totals.facts, name_index.totals.moment) == (len(TOY_FACTS) - 2, 2)
        assert name_index.facts_of("dog.n.01") is not None
        assert name_index.facts_of("hypernym") is None
        assert name_index.find("relation", "hypernym") == "hypernym"
        with pytest.raises(UnknownNameError, match='no relation "dog'):
            name_index.find("relation", "dog.n.01")
        assert name_index.closest("relation", "hypernim") == ["hypernym", "hyponym"]
        assert name_index.closest("entity", "timber wolf")[0] == "timber_wolf.n.01"
        assert name_index.closest("entity", "q" * 10_000) == []


def test_the_very_name_comes_first(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.kb") as store:
        store.add([("!!", "r", "a-b"), ("a b", "r", "ab"), ("ab", "r", "x"), ("ab", "r", "y")])
        name_index = NameIndex(store)
        assert [each.name for each in name_index.entities("a-b", 3)] == ["a-b", "ab", "a b"]
        assert [each.name for each in name_index.entities("!!", 1)] == ["!!"]
        assert [each.name for each in name_index.entities("!", 1)] == ["!!"]


def test_labels_aliases_and_descriptions_are_found(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.kb") as store:
        store.add([("Q1", "P1", "Q2"), ("Q3", "P1", "Q2"), ("wolf", "P1", "Q1")])
        name_index = NameIndex(store)
        assert name_index.entities("grey", 5) == []
        said = "A large canine of northern forests"
        store.naming.describe("entity", "Q1", label="Grey wolf", aliases=["Canis lupus"], description=said)
        store.naming.describe("relation", "P1", label="lives with")
        for typed in ("grey w", "LUPUS", "canis", "northern", "forests canine"):
            assert name_index.entities(typed, 1)[0].name == "Q1", typed
        assert [each.name for each in name_index.entities("wolf", 5)] == ["wolf", "Q1"]
        assert name_index.find("entity", "grey wolf") == "Q1"
        assert name_index.find("relation", "Lives with") == "P1"
        assert name_index.labels_of([("Q1", "P1", "Q2")]) == Said({"Q1": "Grey wolf"}, {"P1": "lives with"})
        assert name_index.closest("entity", "gray wolf") == ["Grey wolf", "wolf"]
        store.naming.describe("entity", "Q1", label="Timber wolf", aliases=[], description="")
        assert name_index.entities("lupus", 5) == name_index.entities("northern", 5) == []
        assert name_index.describe("Q1").said == Description(id="Q1", label="Timber wolf")
