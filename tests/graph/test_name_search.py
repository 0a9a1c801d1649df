"""Names are found in any case and punctuation, by their beginning, and misspelt."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.name_search import closest, letters, misspelt, same_letters

WORDNET = ["timber_wolf.n.01", "wolf.n.01", "timber.n.01", "canine.n.02", "paw.n.01"]


@pytest.fixture(params=["rapidfuzz", "difflib"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "difflib":
        monkeypatch.setitem(sys.modules, "rapidfuzz", None)  # as on a machine that does not have it


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    "typed", ["timberwolf", "Timber Wolf", "timber-wolf", "TIMBER_WOLF.N.01", "timbr_wolf.n.01", "tmiber wolf n 01"]
)
def test_letters_count_more_than_case_and_punctuation(typed: str) -> None:
    assert closest(typed, WORDNET)[0] == "timber_wolf.n.01"


@pytest.mark.usefixtures("either_way")
def test_the_same_letters_come_before_a_beginning_and_that_before_a_likeness() -> None:
    names = ["Wolf_pup", "wold", "wolf-hound", "WOLF", "w.o.l.f", "cat"]
    assert closest("wolf", names, 9) == ["WOLF", "w.o.l.f", "Wolf_pup", "wolf-hound", "wold"]
    assert closest("wolf", names, 2) == ["WOLF", "w.o.l.f"]
    assert closest("wolf", iter(names), 1) == ["WOLF"]


@pytest.mark.usefixtures("either_way")
def test_how_much_alike_is_enough() -> None:
    assert closest("spy_kid", ["spy_kit", "spy_game", "alien", "kitten"]) == ["spy_kit"]


@pytest.mark.parametrize("typed", ["", "?", "☂", " ", "\n", "x" * 201])
def test_nothing_is_like_a_name_without_letters_or_a_very_long_one(typed: str) -> None:
    names = ["?", "☂", "wolf", "x" * 201, "x" * 300]
    assert closest(typed, names) == misspelt(typed, names) == []


@pytest.mark.usefixtures("either_way")
def test_a_name_that_may_be_a_misspelling_of_another() -> None:
    relations = ["_hypernym", "_hyponym", "_instance_hypernym", "_has_part"]
    assert misspelt("_hypernim", relations) == ["_hypernym"]
    assert misspelt("Hypernym", relations) == ["_hypernym"]
    assert "_hypernym" not in misspelt("_hypernym", relations)
    assert misspelt("has", relations) == misspelt("eats", relations) == []


def test_many_names_are_compared_even_without_rapidfuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"entity_{number}" for number in range(30_000)]
    assert closest("entiy_29999", names, 1) == ["entity_29999"]
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    assert closest("Entity 2999", names, 2) == ["entity_2999", "entity_29990"]
    assert closest("entiy_29999", names) == []  # too many for difflib


@given(st.text(), st.lists(st.text()))
def test_names_with_the_same_letters(name: str, others: list[str]) -> None:
    def slowly(text: str) -> str:
        return "".join(character for character in text.casefold() if character.isalnum())

    assert letters(name) == slowly(name)
    wanted = slowly(name)
    expected = [other for other in [*others, name.upper()] if wanted and other != name and slowly(other) == wanted]
    assert same_letters(name, [*others, name.upper(), name]) == expected


@given(st.lists(st.text(max_size=30), min_size=1, unique=True), st.data())
def test_a_name_is_the_closest_to_itself(names: list[str], data: st.DataObject) -> None:
    asked = data.draw(st.sampled_from(names))
    found = closest(asked, names, len(names))
    assert set(found) <= set(names)
    assert len(set(found)) == len(found)
    assert (asked in found) == bool(letters(asked))
