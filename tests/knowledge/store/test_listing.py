"""Listings tell the whole story of the facts asked for, page by page, as they were when the listing was begun."""

from collections.abc import Iterator
from datetime import date
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmem.errors import DataError, UnknownNameError
from hmem.graph.triples import as_triples
from hmem.knowledge.store import listing as module
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import DOG, PAW, WOLF

ALL: list[Names3] = [(head, relation, tail) for head, relation, tail in product("abc", "rs", "abcd")]
GONE = [fact for fact in ALL if fact[0] == fact[2]]
LEFT = [fact for fact in ALL if fact not in GONE]


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as store:
        yield store


@pytest.fixture(scope="module")
def letters(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as store:
        store.add(ALL)
        store.remove(GONE)
        yield store


end = st.sampled_from("abcd") | st.none()


@given(end, st.sampled_from("rs") | st.none(), end, st.integers(0, 20) | st.none(), st.integers(0, 5), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_pattern_limit_and_order(
    letters: Store, head: str | None, relation: str | None, tail: str | None, limit: int | None, skip: int, back: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAGE", 3)
        found = letters.listing(head=head, relation=relation, tail=tail, limit=limit, offset=skip, newest_first=back)
        names = [fact.names for fact in found]
    pattern = (head, relation, tail)
    fits = [
        fact
        for fact in (LEFT[::-1] if back else LEFT)
        if all(wanted in (None, name) for wanted, name in zip(pattern, fact, strict=True))
    ]
    assert names == fits[skip:][:limit]


def test_a_listing_is_that_of_the_moment_it_was_asked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    store.add(ALL)
    found = store.listing()
    seen = [next(found).names for _ in range(3)]
    store.remove(ALL[::2])
    store.add([WOLF])
    store.compact()
    rest = list(found)
    assert seen + [fact.names for fact in rest] == ALL
    assert all(fact.removed_at is None for fact in rest)


def test_unknown_names_are_refused_before_the_first_line(store: Store) -> None:
    store.add([WOLF])
    with pytest.raises(UnknownNameError, match='no entity "wulf"'):
        store.listing(head="wulf")
    with pytest.raises(UnknownNameError, match='no relation "wolf"'):
        store.history(relation="wolf")
    with pytest.raises(DataError, match="half a surrogate pair"):
        store.listing(tail="\udc80")


def test_the_history_tells_who_and_when(store: Store) -> None:
    store.add([WOLF, DOG], source="book", confidence=[0.75, None])
    store.remove([WOLF], source="editor")
    store.add([PAW])
    store.add([WOLF], source="second edition")
    history = store.history()
    assert [(fact.names, fact.source, fact.confidence, fact.removed_by) for fact in history] == [
        (WOLF, "second edition", None, None),
        (PAW, None, None, None),
        (WOLF, "book", 0.75, "editor"),
        (DOG, "book", None, None),
    ]
    again, paw, old, dog = history
    assert old.added_at == dog.added_at
    assert old.removed_at is not None
    assert dog.added_at < old.removed_at < paw.added_at < again.added_at
    assert (again.removed_at, dog.removed_at) == (None, None)
    assert store.history(head="wolf") == [again, old]
    assert store.history(tail="wolf") == [paw]
    assert store.history(limit=2) == [again, paw]
    assert store.history(limit=3, relation="hypernym") == [again, old, dog]


def test_each_form_of_a_fact_keeps_what_was_said_of_it(store: Store) -> None:
    store.add([WOLF, DOG], valid_from=["2019-05", None], valid_until=2020)
    store.remove([WOLF])
    store.add([WOLF], inferred_by="base", probability=0.75)
    assert store.add([DOG], valid_from=2001).kept == 1  # stored already: it stays as it is
    again, old, dog = store.history()
    assert (again.valid_from, again.inferred_by, again.probability) == (None, "base", 0.75)
    assert (old.valid_from, old.valid_until, old.inferred_by) == (date(2019, 5, 1), date(2020, 12, 31), None)
    assert (dog.valid_from, dog.valid_until) == (None, date(2020, 12, 31))
    assert list(store.listing()) == [dog, again]
    assert [fact.valid_from for fact in store.listing(as_of=1)] == [date(2019, 5, 1), None]
    assert store.table(1, qualified=True).to_pylist()[0]["valid_from"] == date(2019, 5, 1)
    assert store.table(qualified=True).column("probability").to_pylist() == [None, 0.75]
    assert store.table().column_names == ["head", "relation", "tail"]
    assert store.check() == []


def test_a_part_of_the_history_is_its_beginning(store: Store) -> None:
    for start in range(0, len(ALL), 5):
        store.add(ALL[start : start + 5])
        store.remove(ALL[start // 2 : start + 2 : 2])
    store.add(ALL)
    history = store.history()
    assert len(history) > len(ALL)
    for limit in range(len(history) + 2):
        assert store.history(limit=limit) == history[:limit]
    times = [fact.removed_at or fact.added_at for fact in history]
    assert times == sorted(times, reverse=True)


def test_details_of_facts_by_number(store: Store) -> None:
    numbers = store.add([WOLF, DOG, PAW], source="me").changed
    store.remove([DOG])
    assert [fact.names for fact in store.details(numbers[[2, 0]])] == [PAW, WOLF]
    assert [fact.names for fact in store.details(numbers)] == [WOLF, PAW]  # the dog is not there any more
    assert store.details(as_triples([])) == []
    assert store.details(as_triples([[99, 0, 99]])) == []


def test_what_nobody_knows_is_not_said_of_a_fact(store: Store) -> None:
    for add in (store.add, store.revise):
        with pytest.raises(DataError, match="nothing is said of a fact by 'valid_form'"):
            add([WOLF], valid_form=2001)  # type: ignore[call-arg]
