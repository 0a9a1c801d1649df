"""Labels, aliases, kinds and descriptions: kept with their history, and found in the order that is promised."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hmem.errors import AmbiguousNameError, DataError, UnknownNameError
from hmem.graph.descriptions import Description, Labels
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import finish, start

FACTS = [("Q1", "P1", "Q2"), ("Q3", "P1", "Q2"), ("Mercury", "P1", "Q1")]
WOLF = Description(id="Q1", label="Wolf", aliases=("Canis lupus",), kind="animal", description="It howls.")
EATS = Description(id="P1", label="eats", inverse="is eaten by")


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as made:
        made.add(FACTS)
        yield made


def test_what_is_said_is_kept(store: Store) -> None:
    done = store.naming.describe_all([WOLF, EATS, Description(id="nobody", label="x")], source="me")
    assert (done.moment, done.changed, done.unchanged, done.unknown) == (2, 2, 0, ["nobody"])
    store.close()
    with Store.open(store.path, read_only=True) as again:
        assert again.naming.description("entity", "Q1") == WOLF
        assert again.naming.description("relation", "P1") == EATS
        assert again.naming.description("entity", "Q2") == Description(id="Q2")
        assert again.naming.labels_of([("Q1", "P1", "Q2")]) == Labels({"Q1": "Wolf"}, {"P1": "eats"})
        assert again.check() == []


def test_saying_the_same_again_changes_nothing(store: Store) -> None:
    store.naming.describe_all([WOLF])
    done = store.naming.describe_all([WOLF])
    assert (done.moment, done.changed, done.unchanged) == (2, 0, 1)
    assert not store.naming.describe("entity", "Q1", label="Wolf", aliases=["Canis lupus"])
    assert store.moment == 2


def test_another_label_takes_the_place_of_the_first_and_aliases_add_up(store: Store) -> None:
    store.naming.describe_all([WOLF])
    store.naming.describe_all([Description(id="Q1", label="Grey wolf", aliases=("lobo",))])
    found = store.naming.description("entity", "Q1")
    assert (found.label, found.aliases, found.kind) == ("Grey wolf", ("Canis lupus", "lobo"), "animal")
    assert store.naming.get("entity", "Wolf") is None
    assert store.naming.describe("entity", "lobo", aliases=["timber wolf"], kind="")
    found = store.naming.description("entity", "Q1")
    assert (found.aliases, found.kind, found.description) == (("timber wolf",), None, "It howls.")
    with store._connection.reading() as db:  # nothing that was said is lost
        rows = db.execute("SELECT field, text, added, removed FROM entity_text ORDER BY id").fetchall()
    assert ("label", "Wolf", 2, 3) in rows
    assert ("alias", "lobo", 3, 4) in rows
    assert store.check() == []


def test_an_id_comes_first_then_a_label_then_an_alias_and_case_counts_until_the_end(store: Store) -> None:
    store.naming.describe("entity", "Q1", label="Mercury", aliases=["planet"])
    assert store.naming.find("entity", "Mercury") == "Mercury"  # the id, though it is a label too
    assert store.naming.find("entity", "MERCURY") == "Q1"
    store.naming.describe("entity", "Q2", aliases=["Mercury", "MERCURY"])
    assert store.naming.find("entity", "MERCURY") == "Q2"  # this very alias, before a label in another case
    assert store.naming.find("entity", "mercury") == "Q1"  # without case, a label before an alias
    store.naming.describe("entity", "Q3", label="planet")
    assert store.naming.find("entity", "planet") == "Q3"  # a label, before an alias
    assert store.naming.find("entity", "  PLANET ") == "Q3"


def test_a_label_that_several_have_asks_which(store: Store) -> None:
    rows = [Description(id="Q1", label="Bank", kind="river side"), Description(id="Q3", label="Bank")]
    store.naming.describe_all(rows)
    said = r'"Bank" is the name of 2 entities: Q1 \(river side\), Q3; say which by its id'
    for ask in (
        lambda: store.naming.find("entity", "Bank"),
        lambda: list(store.listing(head="Bank")),
        lambda: store.remove([("Bank", "P1", "Q2")]),
        lambda: store.add([("Bank", "P1", "Q2")], by_label=True),
    ):
        with pytest.raises(AmbiguousNameError, match=said) as error:
            ask()
        assert error.value.choices == ("Q1", "Q3")
    store.naming.describe("entity", "Q3", label="Bench")
    assert store.naming.find("entity", "bank") == "Q1"


def test_facts_are_found_and_removed_by_label_and_added_by_it_if_asked(store: Store) -> None:
    store.naming.describe_all([WOLF, EATS])
    assert [fact.names for fact in store.listing(head="wolf", relation="Eats")] == [FACTS[0]]
    assert store.add([("Wolf", "eats", "Q3")], by_label=True).new_entities == []
    assert store.contains("Q1", "P1", "Q3")
    assert len(store.remove([("Canis lupus", "eats", "Q3")]).changed) == 1
    assert store.add([("Wolf", "eats", "Q3")]).new_entities == ["Wolf"]  # an import means what it says
    with pytest.raises(UnknownNameError) as error:
        store.naming.find("entity", "Canis lupos")
    assert error.value.suggestions[0] == "Canis lupus"


def test_kinds_are_counted(store: Store) -> None:
    kinds = {"Q1": "animal", "Q2": "plant", "Q3": "animal"}
    store.naming.describe_all([Description(id=each, kind=kind) for each, kind in kinds.items()])
    assert list(store.naming.kinds().items()) == [("animal", 2), ("plant", 1)]


def test_what_cannot_be_said_changes_nothing(store: Store) -> None:
    with pytest.raises(DataError, match="NUL"):
        store.naming.describe_all([Description(id="Q1", label="fine"), Description(id="Q2", label="a\0b")])
    with pytest.raises(DataError, match="nothing is said of an entity by 'inverse'"):
        store.naming.describe("entity", "Q1", inverse="x")
    assert store.naming.description("entity", "Q1") == Description(id="Q1")
    assert store.moment == 1


def test_what_is_said_since_a_moment(store: Store) -> None:
    store.naming.describe_all([WOLF])
    store.naming.describe("entity", "Q2", kind="animal")
    assert list(store.naming.changed_since("entity", 2).values()) == [Description(id="Q2", kind="animal")]
    store.naming.describe("entity", "Q1", aliases=[])
    assert set(store.naming.changed_since("entity", 3)) == {store.entity_names().index("Q1")}


def test_many_are_described_as_one_is(store: Store, tmp_path: Path) -> None:
    names = [f"e{number}" for number in range(1500)]
    store.add([(name, "P1", "Q1") for name in names])
    done = store.naming.describe_all([Description(id=name, label=name.upper()) for name in [*names, "other"]])
    assert (done.changed, done.unknown) == (1500, ["other"])
    assert store.naming.find("entity", "E1499") == "e1499"


def test_rdf_labels_are_names_and_no_facts(store: Store) -> None:
    import pyarrow as pa

    label, kind = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    rows = [("u:a", label, '"A"@en'), ("u:a", "u:knows", "u:b"), ("u:b", kind, "u:Person"), ("u:knows", label, '"k"')]
    store.add_table(pa.table(dict(zip(("head", "relation", "tail"), zip(*rows, strict=True), strict=True))))
    assert store.naming.description("entity", "u:a").label == "A"
    assert store.naming.description("entity", "u:b").kind == "Person"
    assert store.naming.description("relation", "u:knows").label == "k"
    assert "u:knows" in store.relation_names()
    assert label not in store.relation_names()
    assert store.contains("u:b", kind, "u:Person")


def test_processes_that_describe_at_once_take_turns(store: Store) -> None:
    script = """
        with Store.open(argv[0]) as store:
            for number in range(20):
                store.naming.describe("entity", "Q1", label=f"{argv[1]} {number}")
    """
    for each in [start(script, store.path, name) for name in "abc"]:
        finish(each)
    assert store.moment == 61
    assert store.check() == []
