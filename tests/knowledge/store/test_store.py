"""Facts stored and read back are equal for any text, and the file remembers every moment of its life."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hmem.errors import DataError, StoreError, UnknownNameError
from hmem.graph.names import Names
from hmem.graph.triples import Triples
from hmem.knowledge.store import store as module
from hmem.knowledge.store.records import Names3, StoredFact
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import DOG, PAW, WOLF, Remembering, by_name, hasty
from tests.laws import examples

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)
few = st.tuples(st.sampled_from("abc"), st.sampled_from("rs"), st.sampled_from("abcd"))
writes = st.lists(st.tuples(st.sampled_from(["add", "bulk", "remove"]), st.lists(few, max_size=6)), max_size=12)


@pytest.fixture
def store(engine: Engine) -> Iterator[Store]:
    with new_base(engine) as place, Store.create(place) as store:
        yield store


def test_what_is_added_is_there_after_opening_again(store: Store) -> None:
    written = store.add([WOLF, PAW], source="me")
    assert written.moment == 1
    assert written.changed.tolist() == [[0, 0, 1], [2, 1, 0]]
    assert written.changed.dtype == np.int32
    assert written.unchanged == 0
    store.close()
    with Store.open(store.path) as again:
        assert by_name(again) == [WOLF, PAW]
        assert again.entity_names() == ["wolf", "canine", "paw"]
        assert again.entity_names(2) == ["paw"]
        assert again.relation_names() == ["hypernym", "part_of"]
        assert again.relation_names(1) == ["part_of"]
        assert again.moment == 1
        assert again.triples().dtype == np.int32


@pytest.mark.parametrize("many", [10_000, 1])
def test_a_write_tells_the_names_that_it_brought(store: Store, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(module, "MANY", many)
    done = store.add([WOLF, DOG, WOLF])
    told = set(done.new_entities)
    assert (told, len(done.new_entities), done.new_relations) == ({"wolf", "dog", "canine"}, 3, ["hypernym"])
    with Store.open(store.path) as other:  # names that another one adds meanwhile are not its own
        other.add([("cat", "chases", "mouse")])
        done = store.add([DOG, PAW])
        assert (done.new_entities, done.new_relations) == (["paw"], ["part_of"])
    assert store.add([PAW]).new_entities == store.remove([PAW]).new_entities == []


def test_a_fact_is_stored_once(store: Store) -> None:
    store.add([WOLF], source="first", confidence=0.5)
    again = store.add([WOLF, DOG, DOG], source="second", confidence=1.0)
    assert (again.moment, again.changed.tolist(), again.unchanged) == (2, [[2, 0, 1]], 2)
    assert [(fact.names, fact.source, fact.confidence) for fact in store.listing()] == [
        (WOLF, "first", 0.5),
        (DOG, "second", 1.0),
    ]


def test_a_write_that_changes_nothing_makes_no_moment(store: Store) -> None:
    store.add([WOLF])
    assert store.add([WOLF]).moment == 1
    assert store.add([]).moment == 1
    assert store.remove([]).moment == 1
    store.remove([WOLF])
    nothing = store.remove([WOLF])
    assert (nothing.moment, len(nothing.changed), nothing.unchanged) == (2, 0, 1)
    assert store.moment == 2


def test_removing_an_unknown_name_names_the_closest_and_removes_nothing(store: Store) -> None:
    store.add([WOLF, DOG])
    with pytest.raises(UnknownNameError, match='no entity "wolff"; did you mean wolf'):
        store.remove([DOG, ("wolff", "hypernym", "canine")])
    with pytest.raises(UnknownNameError, match='no relation "hyper"; did you mean hypernym'):
        store.remove([("wolf", "hyper", "canine")])
    assert by_name(store) == [WOLF, DOG]
    assert store.moment == 1


def test_names_keep_their_numbers_when_their_facts_go(store: Store) -> None:
    store.add([WOLF, DOG])
    store.remove([WOLF, DOG])
    assert store.triples().shape == (0, 3)
    store.add([DOG])
    assert store.entity_names() == ["wolf", "canine", "dog"]
    assert store.count()["entities"] == 3


def test_a_refused_fact_leaves_the_others_out_too(store: Store) -> None:
    with pytest.raises(DataError, match="expected a tail"):
        store.add([WOLF, ("dog", "hypernym", "")])
    with pytest.raises(DataError, match="a number from 0 to 1"):
        store.add([WOLF, DOG], confidence=[0.5, 1.5])
    with pytest.raises(DataError, match="expected a source"):
        store.add([WOLF], source="")
    assert store.count()["entities"] == 0
    assert store.moment == 0


@given(facts=st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=5, unique=True))
@examples(15)
@example([("'", '"', "\\"), ("a\tb", "c\nd", "\r\n"), ("\N{WOLF FACE}", "e\u0301", "\u00e9"), (" ", "  ", "\ufeff")])
@example([("x" * 10_000, "\N{WOLF FACE}" * 10_000, "\n" * 10_000)])
@example([("\ufffe", "\U0010ffff", "\ud7ff"), ("a", "A", "\u200b"), ("%", "_", "?"), ("1", "1.0", "NULL")])
def test_any_text_comes_back_byte_for_byte(engine: Engine, facts: list[Names3]) -> None:
    with new_base(engine) as path:
        with Store.create(path) as store:
            assert len(store.add(facts, source=facts[0][0]).changed) == len(facts)
        with Store.open(path, read_only=True) as store:
            assert by_name(store) == facts
            assert [(fact.names, fact.source) for fact in store.listing()] == [(fact, facts[0][0]) for fact in facts]
            assert [fact.names for fact in store.listing(head=facts[-1][0], tail=facts[-1][2])][-1] == facts[-1]


@given(steps=writes)
@examples(25)
@example([("add", [("a", "r", "b")]), ("remove", [("a", "r", "b")]), ("add", [("a", "r", "b")])])
def test_the_file_remembers_every_moment(engine: Engine, steps: list[tuple[str, list[Names3]]]) -> None:
    with new_base(engine) as place, hasty(), Store.create(place) as store:
        store.add([(head, relation, head) for head in "abcd" for relation in "rs"])  # all names, so removal may ask
        store.remove([(head, relation, head) for head in "abcd" for relation in "rs"])
        model, listings = Remembering(), {2: list(store.listing())}
        for kind, facts in steps:
            if kind == "remove":
                written, expected = store.remove(facts), model.remove(facts)
            else:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(module, "MANY", 1 if kind == "bulk" else 10_000)
                    written, expected = store.add(facts), model.add(facts)
            assert names_of(store, written.changed) == expected
            assert written.unchanged == len(facts) - len(expected)
            assert written.moment == store.moment == len(model.states) + 1
            listings[written.moment] = list(store.listing())
        assert_remembers(store, model, listings)


def assert_remembers(store: Store, model: Remembering, listings: dict[int, list[StoredFact]]) -> None:
    """Every past moment can be read, and leads to the present by the changes since."""
    for moment, state in enumerate(model.states, 2):
        assert set(by_name(store, moment)) == state
        assert len(store.triples(moment)) == len(state)
        assert list(store.listing(as_of=moment)) == listings[moment]
        changes = store.changes_since(moment, 2, 1)
        assert (changes.moment, changes.entities, changes.relations) == (store.moment, ["c", "d"], ["s"])
        added, removed = names_of(store, changes.added), names_of(store, changes.removed)
        assert set(added) == model.now - state
        assert set(removed) == state - model.now
        assert (len(added), len(removed)) == (len(set(added)), len(set(removed)))
    everything = store.changes_since(0, 0, 0)
    assert names_of(store, everything.added) == by_name(store)
    assert len(everything.removed) == 0
    assert store.count()["facts"] == len(model.now)
    assert store.count()["removed"] + len(model.now) == len(store.history())
    assert store.check() == []


def names_of(store: Store, triples: Triples) -> list[Names3]:
    entities, relations = store.entity_names(), store.relation_names()
    return [(entities[h], relations[r], entities[t]) for h, r, t in triples.tolist()]


def test_the_graph_as_of_a_time(store: Store) -> None:
    store.add([WOLF])
    store.add([DOG])
    store.remove([WOLF])
    gone = store.history(head="wolf")[0]
    came = store.history(head="dog")[0].added_at
    assert gone.removed_at is not None
    tick = timedelta(microseconds=1)

    def at(time: datetime) -> list[list[int]]:
        rows: list[list[int]] = store.triples(as_of=time).tolist()
        return rows

    assert at(gone.added_at - tick) == []
    assert at(gone.added_at) == [[0, 0, 1]]
    assert at(came - tick) == [[0, 0, 1]]
    assert at(came) == [[0, 0, 1], [2, 0, 1]]
    assert at(gone.removed_at - tick) == [[0, 0, 1], [2, 0, 1]]
    assert at(gone.removed_at) == [[2, 0, 1]]
    assert at(datetime.now(UTC)) == [[2, 0, 1]]
    assert at(came.astimezone().replace(tzinfo=None)) == at(came)  # a time without zone is local time
    assert at(datetime(1960, 1, 1, tzinfo=UTC)) == []
    assert [fact.names for fact in store.listing(as_of=came)] == [WOLF, DOG]


def test_time_does_not_run_backwards(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add([WOLF])
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000)  # the clock is set back to 1970
    store.add([DOG])
    first, second = store.listing()
    assert second.added_at - first.added_at == timedelta(microseconds=1)
    assert store.check() == []


def test_times_are_those_of_the_clock(store: Store) -> None:
    before = datetime.now(UTC)
    store.add([WOLF])
    (fact,) = store.listing()
    assert before <= fact.added_at <= datetime.now(UTC)


def test_notes_are_kept(store: Store) -> None:
    assert store.metas().get("model") is None
    store.set_meta(model="models/zoo", checksum="12'\"34")
    store.set_meta(model="models/zoo2", checksum=None, note="")
    with Store.open(store.path, read_only=True) as other:
        assert (other.metas().get("model"), other.metas().get("checksum"), other.metas().get("note")) == (
            "models/zoo2",
            None,
            "",
        )
    with pytest.raises(DataError, match="value of model"):
        store.set_meta(note="kept?", model="\ud800")
    assert store.metas().get("note") == ""
    assert store.moment == 0
    store.set_meta(note="a" * 1_000_000)
    assert len(store.metas()["note"]) == 1_000_000


def test_all_notes_at_once(store: Store) -> None:
    assert store.metas() == {}
    store.set_meta(model="models/zoo", note="ours")
    assert store.metas() == {"model": "models/zoo", "note": "ours"}


def test_whether_a_fact_is_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Names, "closest", lambda *_: pytest.fail("no close names are looked for"))
    store.add([WOLF, DOG])
    assert store.contains(*WOLF)
    store.remove([WOLF])
    assert not store.contains(*WOLF)
    assert store.contains(*DOG)
    store.add([WOLF])
    assert store.contains(*WOLF)
    for fact in (("canine", "hypernym", "wolf"), ("lynx", "hypernym", "canine"), ("wolf", "eats", "canine")):
        assert not store.contains(*fact)
    with pytest.raises(DataError, match="expected a tail, received empty text"):
        store.contains("wolf", "hypernym", "")


def test_counting(store: Store) -> None:
    empty = store.count()
    assert {key: empty[key] for key in empty if key != "bytes"} == dict.fromkeys(
        ["facts", "entities", "relations", "removed", "values", "moments"], 0
    )
    store.add([WOLF, DOG, PAW])
    store.remove([DOG])
    count = store.count()
    assert {key: count[key] for key in ("facts", "entities", "relations", "removed", "moments")} == {
        "facts": 2,
        "entities": 4,
        "relations": 2,
        "removed": 1,
        "moments": 2,
    }
    assert count["bytes"] > 0
    if isinstance(store.path, Path):
        assert count["bytes"] >= store.path.stat().st_size


def test_compacting_keeps_everything(store: Store) -> None:
    for i in range(50):
        store.add([(f"{i}" * 1000, "r", "x" * 5000)], source=f"source {i}")
    store.remove([("7" * 1000, "r", "x" * 5000)], source="me")
    store.set_meta(model="models/zoo")
    facts, history, count = store.triples(), store.history(), store.count()
    before, after = store.compact()
    assert before == count["bytes"]
    assert after == store.count()["bytes"] < before
    assert np.array_equal(store.triples(), facts)
    assert store.history() == history
    assert store.metas().get("model") == "models/zoo"
    assert store.check() == []
    store.close()
    with Store.open(store.path) as again:
        assert again.history() == history


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    for use in (store.triples, store.check, store.compact, lambda: store.add([WOLF]), lambda: store.version):
        with pytest.raises(StoreError, match=r"zoo.* is closed; open it again"):
            use()


def test_what_is_opened_to_be_read_cannot_be_written(store: Store) -> None:
    store.add([WOLF])
    with Store.open(store.path, read_only=True) as reader:
        assert by_name(reader) == [WOLF]
        assert reader.check() == []
        for write in (
            lambda: reader.add([DOG]),
            lambda: reader.remove([WOLF]),
            lambda: reader.set_meta(a="b"),
            reader.compact,
        ):
            with pytest.raises(StoreError, match="opened to be read only; open it anew to change it: read_only=False"):
                write()
        store.add([DOG])
        assert by_name(reader) == [WOLF, DOG]
        assert repr(reader) == f"Store({str(store.path)!r}, read_only=True)"
    assert repr(store) == f"Store({str(store.path)!r})"
