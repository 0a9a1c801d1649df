"""Facts by the column: the same as one by one, all or nothing."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hmem.errors import DataError
from hmem.knowledge.store import bulk, errors
from hmem.knowledge.store import store as module
from hmem.knowledge.store.postgres import loading as postgres_loading
from hmem.knowledge.store.records import Names3, Written
from hmem.knowledge.store.sqlite import loading
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import DOG, PAW, WOLF, by_name


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as store:
        yield store


@pytest.fixture(params=[0, 10_000], ids=["indexes made anew", "indexes kept"])
def _rebuilding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "FEWEST_TO_REBUILD", request.param)


both_ways = pytest.mark.usefixtures("_rebuilding")


def columns(facts: list[Names3]) -> list[pa.Array]:
    return [pa.array(column, pa.string()) for column in zip(*facts, strict=True)]


def random_facts(count: int, seed: int) -> list[Names3]:
    numbers = np.random.default_rng(seed).integers(0, [60, 5, 60], (count, 3)).tolist()
    return [(f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in numbers]


@both_ways
def test_columns_equal_one_by_one(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "ROWS_AT_ONCE", 100)
    first, second = random_facts(500, 0), random_facts(700, 1)
    with Store.create(tmp_path / "slow.kb") as slow:
        one = [slow.add(facts, source="s", confidence=0.5) for facts in (first, second)]
        many = [store.add_columns(*columns(facts), source="s", confidence=0.5) for facts in (first, second)]
        assert by_name(store) == by_name(slow)
        assert [(each.moment, each.unchanged) for each in many] == [(each.moment, each.unchanged) for each in one]
        assert np.array_equal(np.concatenate([each.changed for each in many]), store.triples())
        assert [(fact.names, fact.source, fact.confidence) for fact in store.listing()] == [
            (fact.names, fact.source, fact.confidence) for fact in slow.listing()
        ]
    assert store.check() == []


def test_names_are_numbered_relations_heads_tails(store: Store) -> None:
    store.add([DOG])
    written = store.add_columns(*columns([PAW, WOLF]))
    assert store.entity_names() == ["dog", "canine", "paw", "wolf"]
    assert store.relation_names() == ["hypernym", "part_of"]
    assert written.changed.tolist() == [[2, 1, 3], [3, 0, 1]]


@both_ways
def test_a_removed_fact_can_come_back(store: Store) -> None:
    store.add([WOLF, DOG])
    store.remove([WOLF])
    written = store.add_columns(*columns([WOLF, DOG, WOLF]), source="again")
    assert (written.moment, written.changed.tolist(), written.unchanged) == (3, [[0, 0, 1]], 2)
    assert by_name(store) == [DOG, WOLF]


@both_ways
def test_nothing_new_makes_no_moment(store: Store) -> None:
    store.add([WOLF])
    written = store.add_columns(*columns([WOLF, WOLF]))
    assert (written.moment, written.changed.tolist(), written.unchanged) == (1, [], 2)
    assert store.moment == 1
    empty = pa.array([], pa.string())
    assert store.add_columns(empty, pa.chunked_array([], pa.string()), empty).moment == 1
    assert store.check() == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_any_column_of_text(store: Store, kind: pa.DataType) -> None:
    facts = [WOLF, DOG, PAW]
    chunked = [pa.chunked_array([column.slice(0, 1), column.slice(1)]).cast(kind) for column in columns(facts)]
    store.add_columns(*chunked)
    assert by_name(store) == facts


def test_a_confidence_for_each_row(store: Store) -> None:
    confidence = pa.array([0.5, None, 0.25, 1], pa.float32())
    store.add_columns(*columns([WOLF, DOG, WOLF, PAW]), confidence=confidence)
    assert [fact.confidence for fact in store.listing()] == [0.5, None, 1.0]
    store.add_columns(*columns([("a", "b", "c"), ("d", "e", "f")]), confidence=[None, 0.125])
    assert [fact.confidence for fact in store.listing(offset=3)] == [None, 0.125]


@pytest.mark.parametrize(
    ("confidence", "reason"),
    [
        (pa.array([0.5]), "received 1 confidences for 2 facts"),
        ([0.5], "received 1 confidences for 2 facts"),
        (pa.array([0.5, 1.5]), r"row 1 \(counted from 0\): a confidence is a number from 0 to 1, received 1.5"),
        (pa.array(["a", "b"]), r"row 0 \(counted from 0\): a confidence is a number from 0 to 1"),
        (7.0, "a confidence is a number from 0 to 1"),
    ],
)
def test_wrong_confidences(store: Store, confidence: object, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        store.add_columns(*columns([WOLF, DOG]), confidence=confidence)


def test_wrong_columns(store: Store) -> None:
    text = pa.array(["a", "b"])
    with pytest.raises(DataError, match="expected a column of text as relations, received int64"):
        store.add_columns(text, pa.array([1, 2]), text)
    with pytest.raises(DataError, match="expected three columns of one length, received 2 heads, 2 relations, 1 tails"):
        store.add_columns(text, text, pa.array(["a"]))
    with pytest.raises(DataError, match=r"row 1 \(counted from 0\): expected a tail, received nothing"):
        store.add_columns(text, text, pa.array(["a", None]))
    with pytest.raises(DataError, match="received empty text"):
        store.add_columns(text, text, pa.array(["a", ""]))
    with pytest.raises(DataError, match="10,001 characters"):
        store.add_columns(text, text, pa.array(["a", "x" * 10_001]))
    with pytest.raises(DataError, match="NUL character"):
        store.add_columns(text, text, pa.array(["a", "x\0"]))
    latin = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xe9\xe9"))
    with pytest.raises(DataError, match="expected UTF-8 text as entity"):
        store.add_columns(latin, pa.array(["r"]), latin)
    assert store.count()["entities"] == store.count()["relations"] == store.moment == 0


@both_ways
def test_progress_is_told_and_can_stop_it_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(postgres_loading, "ROWS_AT_ONCE", 2)
    facts = [(f"e{i}", "r", "e") for i in range(5)]
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        assert store.count()["facts"] == done  # who writes may look at what is written so far
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.add_columns(*columns(facts), progress=stop)
    assert (store.moment, store.entity_names(), by_name(store)) == (0, [], [])
    store.add_columns(*columns(facts), progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 5), (4, 5), (5, 5)]


@both_ways
def test_others_see_nothing_of_it_until_it_is_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "ROWS_AT_ONCE", 100)
    store.add([WOLF])
    with Store.open(store.path) as other:
        version = other.version

        def look(done: int, total: int) -> None:
            assert by_name(other) == [WOLF]
            assert (other.moment, other.version, other.entity_names()) == (1, version, ["wolf", "canine"])

        store.add_columns(*columns(random_facts(1000, 2)), progress=look)
        assert other.version != version
        assert len(other.triples()) == store.count()["facts"]
        assert other.moment == 2


def test_many_facts_take_the_quick_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANY", 3)
    store.add([PAW, WOLF, DOG], confidence=[0.5, None, 1.0], source="me")
    assert store.entity_names() == ["paw", "wolf", "dog", "canine"]  # the heads first
    assert [(fact.names, fact.confidence, fact.source) for fact in store.listing()] == [
        (PAW, 0.5, "me"),
        (WOLF, None, "me"),
        (DOG, 1.0, "me"),
    ]


def test_names_are_found_whether_looked_up_or_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add(random_facts(500, 0))
    for look_up in (0, 10**6):  # the first of them looks up each name
        monkeypatch.setattr(bulk, "LOOK_UP", look_up)
        new = f"new {look_up}"
        written = store.add_columns(*columns([("e1", "r1", new), (new, new, "e2")]))
        assert (written.new_entities, written.new_relations) == ([new], [new])
        assert written.changed.tolist()[0][0] == store.entity_names().index("e1")
        assert by_name(store)[-2:] == [("e1", "r1", new), (new, new, "e2")]
    assert store.check() == []


def table(facts: list[Names3]) -> pa.Table:
    return pa.table(dict(zip(("head", "relation", "tail"), columns(facts), strict=True)))


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART", 100)
    monkeypatch.setattr(module, "PAUSE", 0)


@pytest.mark.usefixtures("_small_parts")
def test_in_parts_is_the_same_in_several_writes(store: Store, tmp_path: Path) -> None:
    facts, told = random_facts(350, 0), list[tuple[int, int]]()
    labels = [("e1", "http://www.w3.org/2000/01/rdf-schema#label", '"the first"@en')]
    with Store.create(tmp_path / "whole.kb") as whole:
        expected = whole.add_table(table(facts + labels))
        steps = store.add_in_parts(table(facts + labels), source="s", progress=lambda *each: told.append(each))
        writes = list(steps)
        assert sorted(by_name(store)) == sorted(by_name(whole))
    joined = Written.joined(writes)
    assert (joined.moment, len(joined.changed), joined.unchanged) == (5, len(expected.changed), expected.unchanged)
    assert sorted(joined.new_entities) == sorted(expected.new_entities)
    assert store.naming.description("entity", "e1").label == "the first"
    assert told[-1] == (350, 350)
    assert store.check() == []
    empty = Written.joined(list(store.add_in_parts(table(facts).slice(0, 0))))
    assert (empty.moment, len(empty.changed)) == (5, 0)


@pytest.mark.usefixtures("_small_parts")
def test_others_write_between_parts_and_what_was_broken_off_is_finished(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = list(dict.fromkeys(random_facts(350, 0)))
    monkeypatch.setattr(errors, "BUSY_SECONDS", 0.01)  # none of them may have to wait
    with Store.open(store.path) as other:
        steps = store.add_in_parts(table(facts))
        for number in range(2):
            next(steps)
            other.add([("they", "wrote", f"{number}")])
        steps.close()
        assert len(store.triples()) == 202
        rest = Written.joined(list(store.add_in_parts(table(facts))))
    assert (len(rest.changed), rest.unchanged) == (len(facts) - 200, 200)
    assert set(by_name(store)) == {*facts, ("they", "wrote", "0"), ("they", "wrote", "1")}
    assert store.check() == []
