"""Entities that may be one: what leads to a pair, what speaks against it, and how much work it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hmem.graph.values import Value
from hmem.knowledge import duplicates, shared_facts
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.duplicates import Finder
from hmem.knowledge.store.store import Store

OTHERS = [
    "Ada Byron",
    "Blaise",
    "Carnot",
    "Dirac",
    "Euler",
    "Fermat",
    "Gauss",
    "Hertz",
    "Ising",
    "Joule",
    "Kelvingrove",
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "a.kb") as store:
        store.add([(name, "born in", f"town {place}") for place, name in enumerate(OTHERS)])
        store.add([(name, "studied", "physics") for name in OTHERS])
        yield store


def found(store: Store) -> list[tuple[str, str]]:
    return [(pair.kept, pair.other) for pair in Finder(store).best(5)]


def test_a_misspelt_name_and_a_rare_fact_in_common(store: Store) -> None:
    store.add([("Kelvingrvoe", "wrote", "heat"), ("Kelvingrove", "wrote", "heat")])
    (pair,) = Finder(store).best(5)
    assert (pair.kept, pair.other) == ("Kelvingrove", "Kelvingrvoe")
    assert pair.reasons == (
        'names nearly alike: "Kelvingrove" and "Kelvingrvoe"',
        "both wrote heat, as 2 entities do",
    )


def test_a_shared_alias_is_enough(store: Store) -> None:
    store.add([("Thomson", "taught", "Rayleigh")])
    store.naming.describe("entity", "Kelvingrove", label="Lord Kelvingrove", aliases=["William Thomson"])
    store.naming.describe("entity", "Thomson", label="William Thomson")
    (pair,) = Finder(store).best(5)
    assert {pair.kept, pair.other} == {"Kelvingrove", "Thomson"}
    assert pair.reasons == ('the same name: "William Thomson"',)


def test_ids_are_no_names_where_there_are_labels(store: Store) -> None:
    store.add([("Qabcdefx", "r", "a"), ("Qabcdefy", "r", "b")])
    assert found(store)
    store.naming.describe("entity", "Qabcdefx", label="water")
    store.naming.describe("entity", "Qabcdefy", label="fire")
    assert not found(store)


@pytest.mark.parametrize(
    ("other", "others"),
    [
        ("Kelvingrove 2", ["Kelvingrove 3"]),  # other numbers
        ("west Kelvingrove", ["east Kelvingrove", "east wall", "west wall"]),  # other words, which stand elsewhere too
    ],
)
def test_names_that_only_look_alike(store: Store, other: str, others: list[str]) -> None:
    store.add([(name, "has", f"part {name}") for name in [other, *others]])
    assert not found(store)


def test_what_speaks_against_a_pair(store: Store) -> None:
    store.add([("Kelvingrvoe", "wrote", "heat"), ("Kelvingrove", "wrote", "heat")])
    best = Finder(store).best(5)[0].score
    store.naming.describe("entity", "Kelvingrove", kind="human")
    store.naming.describe("entity", "Kelvingrvoe", kind="unit")
    (pair,) = Finder(store).best(5)
    assert pair.score == pytest.approx(best - duplicates.OTHER_KIND, abs=0.02)
    assert pair.reasons[-1] == "against: they are of different kinds, human and unit"
    store.add([("Kelvingrvoe", "named after", "Kelvingrove")])
    assert not found(store)


def test_a_relation_with_one_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_facts, "FEWEST_ASKED", 5)
    store.add(
        [("Kelvingrvoe", "wrote", "heat"), ("Kelvingrove", "wrote", "heat"), ("Kelvingrvoe", "born in", "town 3")]
    )
    (pair,) = Finder(store).best(5)
    against = "against: different answers where there is one as a rule: born in town 10 and town 3"
    assert pair.reasons[-1] == against


def test_a_rare_value_in_common(store: Store) -> None:
    store.add([("Thomson", "taught", "Rayleigh")])
    for name, size in (("Kelvingrove", 5), ("Thomson", 5), ("Gauss", 7)):
        store.values.set(name, "passport", [Value.of(f"X{size}")])
    store.naming.describe("entity", "Thomson", label="Kelvingrov")
    (pair,) = Finder(store).best(5)
    assert "both passport X5, as 2 entities do" in pair.reasons


def test_nothing_in_nothing(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "a.kb") as kb:
        assert len(kb.duplicates()) == 0
        kb.add("a", "r", "b")
        assert len(kb.duplicates()) == 0


def test_merging_and_undoing_by_the_base(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "a.kb", facts=[("a", "r", "b"), ("c", "r", "d")]) as kb:
        done = kb.merge("a", "c")
        assert [each.tail for each in kb.neighbors("c")] == ["b", "d"]
        assert kb.undo(done.moment).restored == 1
        assert [each.tail for each in kb.neighbors("c")] == ["d"]


def test_what_comes_while_a_base_is_read_is_named_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    names = store.entity_names

    def named_before(start: int = 0) -> list[str]:
        found = names(start)
        store.add([("Kelvingrvoe", "wrote", "heat"), ("Kelvingrove", "wrote", "heat")])
        return found

    monkeypatch.setattr(store, "entity_names", named_before)
    Finder(store).best(5)
