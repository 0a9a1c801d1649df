"""Two entities made one, and any write undone: whatever is stored, nothing is doubled and everything comes back."""

from collections.abc import Iterator
from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import DataError
from hmem.graph.values import Value
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.laws import examples

State = tuple[object, ...]


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as store:
        store.add([("wolf", "eats", "deer"), ("wolf", "eats", "hare"), ("pup of", "r", "r")], source="book")
        store.add([("lobo", "eats", "deer"), ("lobo", "eats", "elk")], source="web", confidence=0.5, valid_from="2019")
        store.add([("lobo", "same as", "wolf"), ("cub", "child of", "lobo"), ("lobo", "bites", "lobo")], source="web")
        store.naming.describe("entity", "wolf", label="Wolf", kind="animal")
        store.naming.describe(
            "entity", "lobo", label="Lobo", aliases=["Wolf", "grey"], kind="beast", description="howls"
        )
        store.values.set("wolf", "legs", [Value.of(4)])
        store.values.set("lobo", "legs", [Value.of(4), Value.of(3)])
        yield store


def state(store: Store) -> State:
    """All that is stored now, without numbers and times."""
    facts = {(*fact.names, fact.confidence, fact.valid_from, fact.inferred_by) for fact in store.listing()}
    said = {
        (kind, *(sorted(value) if isinstance(value, tuple) else value for value in described))
        for kind in ("entity", "relation")
        for each in store.naming.changed_since(kind, 0).values()
        for described in [(each.id, each.label, str(sorted(each.aliases)), each.kind, each.description)]
    }
    values = {(value.entity, value.property, value.text) for value in store.values.listing()}
    return facts, {each for each in said if set(each[2:]) != {None, "[]"}}, values


def test_a_merge(store: Store) -> None:
    done = store.merge("wolf", "Lobo")
    assert (done.kept, done.other, done.moved, done.stored_before, done.dropped) == ("wolf", "lobo", 3, 1, 1)
    assert (done.values, done.aliases) == (1, ("Lobo", "grey", "lobo"))
    assert {fact.names for fact in store.listing()} == {
        ("wolf", "eats", "deer"),
        ("wolf", "eats", "hare"),
        ("wolf", "eats", "elk"),
        ("cub", "child of", "wolf"),
        ("wolf", "bites", "wolf"),
        ("pup of", "r", "r"),
    }
    (elk,) = store.listing(tail="elk")
    assert (elk.confidence, elk.valid_from, elk.source) == (0.5, date(2019, 1, 1), "merge of Lobo")
    said = store.naming.description("entity", "wolf")
    assert (said.label, said.kind, said.description) == ("Wolf", "animal", "howls")
    assert [value.text for value in store.values.listing("wolf")] == ["4", "3"]
    assert store.check() == []


def test_the_old_names_find_what_was_kept(store: Store) -> None:
    store.merge("wolf", "lobo")
    for name in ("lobo", "Lobo", "LOBO", "grey", "Wolf", "wolf"):
        assert store.naming.find("entity", name) == "wolf"
    store.add([("lobo", "eats", "fish")])  # by id: it is there again
    assert store.naming.find("entity", "lobo") == "lobo"


def test_a_merge_is_one_write_and_one_undo(store: Store) -> None:
    before, moment = state(store), store.moment
    done = store.merge("wolf", "lobo")
    assert done.moment == store.moment == moment + 1
    undone = store.undo(done.moment)
    assert (undone.moment, undone.left) == (moment + 2, 0)
    assert state(store) == before
    assert {fact.names for fact in store.listing(as_of=moment)} == {fact.names for fact in store.listing()}
    store.undo(undone.moment)
    assert store.naming.find("entity", "lobo") == "wolf"
    assert store.check() == []


def test_what_was_asserted_takes_the_place_of_what_was_concluded(store: Store) -> None:
    store.add([("wolf", "eats", "elk")], inferred_by="a model", probability=0.9)
    store.merge("wolf", "lobo")
    (elk,) = store.listing(tail="elk")
    assert (elk.inferred_by, elk.confidence) == (None, 0.5)


def test_a_later_write_is_left_alone(store: Store) -> None:
    moment = store.add([("fox", "eats", "hen"), ("fox", "eats", "goose")]).moment
    store.remove([("fox", "eats", "hen")])
    undone = store.undo(moment)
    assert (undone.removed, undone.restored, undone.left) == (1, 0, 1)
    assert not list(store.listing(head="fox"))
    store.naming.describe("entity", "wolf", label="A")
    first = store.moment
    store.naming.describe("entity", "wolf", label="B")
    assert store.undo(first).left == 2
    assert store.naming.description("entity", "wolf").label == "B"


def test_what_a_later_write_changed_stays_as_it_is(store: Store) -> None:
    new = ("a", "r", "b")
    first = store.add([new]).moment
    store.remove([new])
    store.add([new])
    undone = store.undo(first + 1)
    assert (undone.moment, undone.removed, undone.restored, undone.left) == (first + 2, 0, 0, 1)
    store.remove([new])
    undone = store.undo(first + 1)
    assert (undone.moment, undone.removed, undone.restored, undone.left) == (first + 3, 0, 0, 1)
    assert not store.contains(*new)
    for label in ("one", "two", ""):
        store.naming.describe("entity", "a", label=label)
    assert store.undo(first + 5).restored == 0  # by which "one" became "two"
    assert store.naming.description("entity", "a").label is None


def test_undoing_what_is_undone_changes_nothing(store: Store) -> None:
    moment = store.add([("fox", "eats", "hen")]).moment
    store.undo(moment)
    last = store.moment
    assert (store.undo(moment).removed, store.moment) == (0, last)


@pytest.mark.parametrize("moment", [0, 99])
def test_a_write_that_never_was(store: Store, moment: int) -> None:
    with pytest.raises(DataError, match=f"^there was no write {moment}; the last one is 7$"):
        store.undo(moment)


def test_one_entity_is_not_two(store: Store) -> None:
    with pytest.raises(DataError, match="a merge takes two"):
        store.merge("wolf", "Wolf")


names = st.sampled_from("abcd")
facts = st.lists(st.tuples(names, st.sampled_from(["r", "s"]), names), min_size=1, max_size=12)


@examples(10)
@given(facts=facts, data=st.data())
def test_any_merge_renames_and_any_undo_restores(
    engine: Engine, facts: list[tuple[str, str, str]], data: st.DataObject
) -> None:

    with new_base(engine) as place, Store.create(place) as store:
        store.add(facts)
        there = store.entity_names()
        if len(there) < 2:
            return
        kept, other = data.draw(st.permutations(there))[:2]
        before = state(store)
        done = store.merge(kept, other)
        renamed = {
            (kept if h == other else h, r, kept if t == other else t) for h, r, t in facts if {h, t} != {kept, other}
        }
        assert {fact.names for fact in store.listing()} == renamed
        assert len(list(store.listing())) == len(renamed)
        store.undo(done.moment)
        assert state(store) == before


def test_an_entity_has_another_id(store: Store) -> None:
    before, moment = state(store), store.moment
    done = store.rename("Lobo", "grey wolf")
    assert (done.name, done.was, done.moved, done.values, done.moment) == ("grey wolf", "lobo", 5, 2, moment + 1)
    assert store.contains("grey wolf", "bites", "grey wolf")
    assert store.contains("grey wolf", "same as", "wolf")
    said = store.naming.description("entity", "lobo")  # its old id finds it
    assert (said.id, said.label, said.aliases, said.kind) == ("grey wolf", "Lobo", ("Wolf", "grey", "lobo"), "beast")
    assert [value.text for value in store.values.listing("grey wolf")] == ["4", "3"]
    assert store.check() == []
    store.undo(done.moment)
    assert state(store) == before


def test_a_relation_has_another_id_which_may_be_there(store: Store) -> None:
    before = state(store)
    store.add([("lobo", "devours", "elk"), ("lobo", "devours", "cow")])
    store.naming.describe("relation", "devours", label="swallows", inverse="is devoured by")
    done = store.rename("devours", "eats", of="relation")
    assert (done.moved, done.stored_before) == (1, 1)
    assert {fact.relation for fact in store.listing()} == {"eats", "same as", "child of", "bites", "r"}
    said = store.naming.description("relation", "swallows")
    assert (said.id, said.label, said.aliases, said.inverse) == ("eats", "swallows", ("devours",), "is devoured by")
    assert store.naming.find("relation", "devours") == "eats"
    store.undo(done.moment)
    assert store.naming.find("relation", "devours") == "devours"
    store.undo(8, and_later=True)
    assert state(store) == before


def test_names_that_cannot_be_given(store: Store) -> None:
    with pytest.raises(DataError, match=r'^"wolf" is the name of another entity; to make one of the two: '):
        store.rename("lobo", "wolf")
    with pytest.raises(DataError, match=r'^"grey" is the name of another entity'):
        store.rename("wolf", "grey")
    with pytest.raises(DataError, match=r'^"lobo" is called so already$'):
        store.rename("Lobo", "lobo")
    store.naming.describe("relation", "eats", label="devours")
    with pytest.raises(DataError, match=r'^"devours" is the name of another relation$'):
        store.rename("bites", "devours", of="relation")
    assert store.rename("Lobo", "Lobo").name == "Lobo"  # what was its label
    assert store.naming.description("entity", "lobo").label is None


def test_an_entity_is_taken_out_and_comes_back(store: Store) -> None:
    before, moment = state(store), store.moment
    done = store.remove_entity("lobo")
    assert (done.entity, done.facts, done.values, done.moment) == ("lobo", 5, 2, moment + 1)
    assert not list(store.listing(head="lobo"))
    assert not list(store.values.listing("lobo"))
    assert store.naming.description("entity", "lobo").label is None
    assert store.remove_entity("lobo").moment == store.moment == moment + 1
    store.undo(done.moment)
    assert state(store) == before
    assert store.check() == []


@pytest.mark.parametrize("seed", range(5))
def test_everything_is_as_it_was_before_a_write(engine: Engine, seed: int) -> None:
    rng = Random(seed)
    with new_base(engine) as place, Store.create(place) as store:
        states = [state(store)]
        for _ in range(25):
            fact = (rng.choice("abcd"), rng.choice("rs"), rng.choice("abcd"))
            there = store.naming.get("entity", fact[0]) == fact[0]
            match rng.choice(["add", "add", "remove", "revise", "rename", "entity", "label", "undo"]):
                case "add":
                    store.add([fact])
                case "remove" if store.contains(*fact):
                    store.remove([fact])
                case "revise" if store.contains(*fact):
                    store.revise([fact], confidence=rng.random())
                case "rename" if there and store.naming.get("entity", f"new {fact[0]}") is None:
                    store.rename(fact[0], f"new {fact[0]}")
                case "entity" if there:
                    store.remove_entity(fact[0])
                case "label" if there:
                    store.naming.describe("entity", fact[0], label=rng.choice(["one", "two", ""]))
                case "undo" if store.moment:
                    store.undo(rng.randint(1, store.moment))
            states += [state(store)] * (store.moment + 1 - len(states))
        for moment in (store.moment, rng.randint(2, store.moment), 1):
            store.undo(moment, and_later=True)
            assert state(store) == states[moment - 1]
            states += [state(store)] * (store.moment + 1 - len(states))
        assert store.check() == []
