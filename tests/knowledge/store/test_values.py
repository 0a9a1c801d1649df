"""Values: kept exactly, with their history, and listed as of any moment."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import DataError, UnknownNameError
from hmem.graph.descriptions import Description
from hmem.graph.values import Value
from hmem.knowledge.store import describe, value_rows
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import hasty
from tests.laws import examples

FACTS = [("Q1", "P1", "Q2"), ("Q3", "P1", "Q2")]
TALL = Value.of(0.8, "m")
NAMES = [Value(text="loup", datatype="rdf:langString", language="fr"), Value.of("lobo")]


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as made:
        made.add(FACTS)
        yield made


def said(store: Store, as_of: int | None = None) -> set[tuple[str, str, Value]]:
    return {(row.entity, row.property, row.as_value()) for row in store.values.listing(as_of=as_of)}


def test_what_is_said_is_kept_to_the_letter(store: Store) -> None:
    assert store.values.set("Q1", "height", [TALL], source="me")
    assert store.values.set("Q1", "called", NAMES)
    assert not store.values.set("Q1", "called", NAMES)
    store.close()
    with Store.open(store.path, read_only=True) as again:
        assert said(again) == {("Q1", "height", TALL), *(("Q1", "called", name) for name in NAMES)}
        (row,) = again.values.listing("Q1", "height")
        assert (row.source, row.removed_at) == ("me", None)
        assert (again.count()["values"], again.count()["moments"]) == (3, 3)
        assert again.check() == []


def test_what_is_said_later_takes_the_place_and_the_history_keeps_both(store: Store) -> None:
    store.values.set("Q1", "height", [TALL, Value.of(1)], source="first")
    store.values.set("Q1", "height", [Value.of(1), Value.of(2)], source="second")
    assert said(store) == {("Q1", "height", Value.of(1)), ("Q1", "height", Value.of(2))}
    assert said(store, as_of=2) == {("Q1", "height", TALL), ("Q1", "height", Value.of(1))}
    assert said(store, as_of=1) == set()
    changes = [(row.text, row.source, row.removed_by) for row in store.values.history("Q1")]
    assert changes == [("2", "second", None), ("0.8", "first", "second"), ("1", "first", None)]
    assert store.values.set("Q1", "height", [])
    assert (said(store), store.count()["values"]) == (set(), 0)
    assert store.check() == []


def test_many_are_said_at_once_and_what_no_fact_has_is_left_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("Q1", "legs", Value.of(4)), ("Q3", "legs", Value.of(2)), ("Q9", "legs", Value.of(6))]
    for many in (1, 100):
        monkeypatch.setattr(describe, "MANY", many)
        monkeypatch.setattr(value_rows, "MANY", many)
        done = store.values.set_all(rows, source="table")
        assert (done.unknown, done.added + done.unchanged) == (["Q9"], 2)
    assert done.added == 0
    done = store.values.set_all([("Q1", "legs", Value.of(5))], keep=True)
    assert (done.added, done.removed) == (1, 0)
    assert {row.text for row in store.values.listing("Q1")} == {"4", "5"}


def test_properties_are_found_by_their_labels_and_summed_up(store: Store) -> None:
    store.values.set_all(
        [("Q1", "P7", Value.of(4, "m")), ("Q2", "P7", Value.of(10, "m")), ("Q3", "P7", Value.of(7, "m"))]
    )
    store.values.set("Q1", "note", [Value.of("shy")])
    store.naming.describe_all([Description(id="P7", label="height")])
    assert [row.text for row in store.values.listing(property="height")] == ["4", "10", "7"]
    assert store.values.set("Q2", "Height", [Value.of(11, "m")])
    height, note = store.values.properties()
    assert (height.id, height.label, height.values, height.entities) == ("P7", "height", 3, 3)
    assert (height.datatype, height.unit) == ("xsd:integer", "m")
    assert (height.lowest, height.median, height.highest) == ("4", "7", "11")
    assert (note.lowest, note.datatype) == (None, "xsd:string")


def test_listings_are_read_page_by_page_and_are_of_one_moment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_rows, "PAGE", 2)
    store.values.set("Q1", "n", [Value.of(each) for each in range(5)])
    store.values.set("Q2", "n", [Value.of(7)])
    listing = store.values.listing(property="n")
    assert next(listing).text == "0"
    store.values.set("Q1", "n", [])
    assert [row.text for row in listing] == ["1", "2", "3", "4", "7"]
    assert [row.text for row in store.values.listing()] == ["7"]


def test_who_or_what_is_unknown_is_an_error(store: Store) -> None:
    with pytest.raises(UnknownNameError, match='no entity "Q7"'):
        store.values.set("Q7", "legs", [Value.of(4)])
    with pytest.raises(UnknownNameError, match='no property "legs"'):
        store.values.set("Q1", "legs", [])
    with pytest.raises(DataError, match="expected a property, received empty text"):
        store.values.set("Q1", "", [Value.of(4)])
    with pytest.raises(DataError, match=r"the value .* holds a NUL character"):
        store.values.set("Q1", "p", [Value.of("a\0")])
    assert store.moment == 1
    assert store.values.names() == []


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
VALUES = st.builds(
    Value, text=TEXTS, datatype=st.sampled_from(["xsd:string", "xsd:integer"]), unit=st.sampled_from([None, "m"])
)
STEPS = st.lists(st.tuples(st.sampled_from(["Q1", "Q2"]), st.sampled_from("pq"), st.lists(VALUES, max_size=3)))


@given(steps=STEPS)
@examples(10)
def test_every_moment_is_remembered(engine: Engine, steps: list[tuple[str, str, list[Value]]]) -> None:
    with hasty(), new_base(engine) as place, Store.create(place) as store:
        store.add(FACTS)
        now: set[tuple[str, str, Value]] = set()
        moments = {1: now}
        for entity, name, values in steps:
            if not values and name not in store.values.names():
                continue
            store.values.set(entity, name, values)
            now = {row for row in now if row[:2] != (entity, name)} | {(entity, name, value) for value in values}
            moments[store.moment] = now
        for moment, then in moments.items():
            assert said(store, moment) == then
        assert store.check() == []
