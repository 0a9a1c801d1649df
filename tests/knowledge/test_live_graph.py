from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from hmem.graph.names import Vocabulary
from hmem.knowledge import live_graph as module
from hmem.knowledge.live_graph import BLOCK, LiveGraph
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store
from tests.laws import examples
from tests.oracles_graph import SetGraph

TRAINED = Vocabulary(["ada", "bob", "cat"], ["likes", "knows"])
PEOPLE = ["ada", "bob", "cat", "dan", "eve", "fay"]
RELATIONS = ["likes", "knows", "owes"]  # the model was not trained with the last
FACTS = st.tuples(st.sampled_from(PEOPLE), st.sampled_from(RELATIONS), st.sampled_from(PEOPLE))
STEPS = st.lists(st.tuples(st.booleans(), FACTS), max_size=25)
LAW = examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "people.kb") as made:
        yield made


def taken(live: LiveGraph) -> set[int] | None:
    """What was touched since this was last asked."""
    touched, live.touched = live.touched, set()
    return touched


def apply(store: Store, steps: list[tuple[bool, Names3]]) -> None:
    """Add or remove; what cannot be removed is not."""
    for is_added, fact in steps:
        if is_added:
            store.add([fact])
        elif {fact[0], fact[2]} <= set(store.entity_names()) and fact[1] in store.relation_names():
            store.remove([fact])


def edges(live: LiveGraph) -> dict[str, list[tuple[int, int]]]:
    """Of every entity, as (role, filler)."""
    found = {}
    for entity, name in enumerate(live.entities.names):
        roles, fillers = live.graph.edges_of(entity)
        found[name] = list(zip(roles.tolist(), fillers.tolist(), strict=True))
    return found


def expected(live: LiveGraph) -> dict[str, list[tuple[int, int]]]:
    """The same, straight from a listing of the store."""
    entities, relations = live.entities.names, live.relations.names
    usable = [fact.names for fact in live.store.listing() if fact.relation in TRAINED.relations]
    facts = [(entities.id_of(head), relations.id_of(relation), entities.id_of(tail)) for head, relation, tail in usable]
    graph = SetGraph(facts, len(TRAINED.relations))
    return {name: graph.edges_of(entity) for entity, name in enumerate(entities)}


def test_a_models_names_come_first_and_unseen_ones_in_the_order_of_arrival(store: Store) -> None:
    store.add([("eve", "owes", "bob"), ("dan", "likes", "ada"), ("bob", "knows", "bob")])
    live = LiveGraph(store, TRAINED)
    assert list(live.entities.names) == ["ada", "bob", "cat", "eve", "dan"]
    assert list(live.relations.names) == ["likes", "knows", "owes"]
    store.add([("fay", "minds", "eve")])
    live.refresh()
    assert list(live.entities.names) == ["ada", "bob", "cat", "eve", "dan", "fay"]
    assert list(live.relations.names) == ["likes", "knows", "owes", "minds"]
    assert list(TRAINED.entities) == ["ada", "bob", "cat"]


@given(before=STEPS, after=st.lists(STEPS, max_size=3))
@LAW
def test_whatever_is_written_the_edges_are_those_of_the_stored_facts(
    tmp_path_factory: pytest.TempPathFactory, before: list[tuple[bool, Names3]], after: list[list[tuple[bool, Names3]]]
) -> None:
    path = tmp_path_factory.mktemp("live") / "people.kb"
    with Store.create(path) as mine, Store.open(path) as theirs:
        apply(mine, before)
        live = LiveGraph(mine, TRAINED)
        assert edges(live) == expected(live)
        for turn, steps in enumerate(after):
            apply(theirs if turn % 2 else mine, steps)
            live.refresh()
            assert edges(live) == expected(live)
            again = LiveGraph(mine, TRAINED)
            assert (edges(again), again.width, again.moment) == (edges(live), live.width, live.moment)
            assert again.unseen().tolist() == live.unseen().tolist()


def test_many_changes_at_once_are_indexed_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ONE_BY_ONE", 2)
    store.add([("ada", "likes", "bob")])
    live = LiveGraph(store, TRAINED)
    taken(live)
    store.add([("dan", "likes", "bob"), ("eve", "knows", "dan"), ("ada", "knows", "eve")])
    live.refresh()
    assert not live.graph.is_changed
    assert taken(live) is None, "every entity may have changed"
    assert edges(live) == expected(live)
    store.remove([("dan", "likes", "bob")])
    live.refresh()
    assert live.graph.is_changed
    assert edges(live) == expected(live)


def test_what_changed_one_by_one_is_indexed_with_the_rest_in_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many writes there were, only so many entities are read in the slower way."""
    monkeypatch.setattr(module, "MOST_CHANGED", 4)
    live = LiveGraph(store, TRAINED)
    slowly = []
    for number in range(12):
        store.add([(f"n{number}", "likes", f"n{number + 1}")])
        live.refresh()
        slowly.append(len(live.graph.changed()))
        assert edges(live) == expected(live)
    assert 2 < max(slowly) <= 5
    assert taken(live) is None
    store.remove([("n0", "likes", "n1"), ("n5", "likes", "n6"), ("n9", "likes", "n10")])
    live.refresh()
    assert not live.graph.is_changed
    assert len(taken(live) or ()) == 6, "only these have other facts, however they are indexed"
    assert edges(live) == expected(live)


def test_room_is_made_in_blocks_and_given_back(store: Store) -> None:
    live = LiveGraph(store, TRAINED)
    assert live.width == 3
    store.add([("ada", "likes", "bob"), ("dan", "owes", "bob")])
    live.refresh()
    assert live.width == 3, "dan has no fact that the model could use"
    store.add([("dan", "likes", "bob")])
    live.refresh()
    assert (live.width, live.unseen().tolist()) == (3 + BLOCK, [3])
    crowd = [(f"n{number}", "knows", "ada") for number in range(BLOCK)]
    store.add(crowd)
    live.refresh()
    assert live.width == 3 + 2 * BLOCK
    store.remove(crowd[-1:])
    live.refresh()
    assert live.width == 3 + BLOCK
    store.remove([*crowd[:-1], ("dan", "likes", "bob")])
    live.refresh()
    assert (live.width, live.unseen().tolist()) == (3, [])


def test_it_tells_which_entities_have_other_facts(store: Store) -> None:
    live = LiveGraph(store, TRAINED)
    assert taken(live) is None
    assert taken(live) == set()
    store.add([("ada", "likes", "dan"), ("eve", "owes", "bob")])
    live.refresh()
    assert taken(live) == {0, 3}
    store.remove([("ada", "likes", "dan")])
    live.refresh()
    assert taken(live) == {0, 3}


def test_a_refresh_without_news_reads_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add([("ada", "likes", "bob")])
    live = LiveGraph(store, TRAINED)
    monkeypatch.setattr(Store, "changes_since", lambda *_: pytest.fail("nothing has changed"))
    live.refresh()
    numbers = iter(range(1000, 2000))
    monkeypatch.setattr(Store, "version", property(lambda store: next(numbers)))
    live.refresh()


def test_a_fact_can_be_left_out_for_a_while(store: Store) -> None:
    store.add([("ada", "likes", "dan"), ("ada", "knows", "bob")])
    live = LiveGraph(store, TRAINED)
    taken(live)
    before, width = edges(live), live.width
    with suppress(RuntimeError), live.without(0, 0, 3):
        assert not live.graph.contains(0, 0, 3)
        assert live.width == 3
        assert taken(live) == {0, 3}
        raise RuntimeError("whatever happens in the middle")
    assert (edges(live), live.width) == (before, width)
    assert taken(live) == {0, 3}
