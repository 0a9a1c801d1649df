import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.serve import search
from hmem.serve.search import Search, letters_without_accents

NAMES = [
    "wolf.n.01",
    "timber_wolf.n.01",
    "wolf_pup.n.01",
    "werewolf.n.01",
    "Wolfgang Amadeus",
    "golf.n.01",
    "42",
    "\N{SNOWMAN}",
    "狼",
]


def made(names: list[str]) -> Search:
    found = Search()
    found.extend(names)
    return found


def find(typed: str, names: list[str] = NAMES, limit: int = 20, weights: list[int] | None = None) -> list[str]:
    return [names[number] for number in made(names).find(typed, weights or [0] * len(names), limit)]


def test_the_better_the_match_the_earlier() -> None:
    assert find("wolf")[:5] == ["Wolfgang Amadeus", "wolf.n.01", "wolf_pup.n.01", "timber_wolf.n.01", "werewolf.n.01"]
    assert find("wolf n 01")[0] == "wolf.n.01"  # the whole name
    assert find("amadeus")[0] == "Wolfgang Amadeus"
    assert find("ewol")[0] == "werewolf.n.01"


def test_of_equally_good_ones_the_weightiest_comes_first() -> None:
    assert find("wolf", weights=[1, 9, 5, 9, 0, 0, 0, 0, 0])[:3] == ["wolf_pup.n.01", "wolf.n.01", "Wolfgang Amadeus"]


@pytest.mark.parametrize("typed", ["TIMBER wolf", "timber-wolf", "timberwolf.", "  timber_wolf"])
def test_case_and_punctuation_do_not_count(typed: str) -> None:
    assert find(typed, limit=1) == ["timber_wolf.n.01"]


@pytest.mark.parametrize("typed", ["tmber_wolf", "timbre wolf", "timber wlf"])
def test_what_is_misspelt_is_found(typed: str) -> None:
    assert find(typed)[0] == "timber_wolf.n.01"


@pytest.mark.parametrize("typed", ["wlof", "wofl", "wlf", "wollf", "wulf", "owlf", "wölf", "WÓLF"])
def test_one_slip_in_a_short_word_is_forgiven(typed: str) -> None:
    assert find(typed)[0] in ("Wolfgang Amadeus", "wolf.n.01")
    assert {"wolf.n.01", "timber_wolf.n.01"} <= set(find(typed))


def test_a_slip_comes_after_what_is_found_as_it_was_typed() -> None:
    names = ["bird.n.01", "bread.n.01", "brad", "dog.n.01"]
    assert find("brd", names) == ["bird.n.01", "brad", "bread.n.01"]
    assert find("bra", names)[0] == "brad"
    assert find("birf", names)[0] == "bird.n.01"
    assert find("bd", names) == []  # too little to tell


def test_of_misspelt_words_the_most_alike_comes_first() -> None:
    names = ["carnation", "carnivore.n.01", "omnivore.n.01"]
    assert find("carnivroe", names, weights=[9, 0, 9]) == ["carnivore.n.01"]
    assert find("carnio", names, weights=[9, 0, 9]) == ["carnivore.n.01", "carnation"]


SLIPS = ["left out", "swapped", "wrong"]


@given(word=st.text("abc", min_size=4, max_size=8), at=st.integers(0, 7), kind=st.sampled_from(SLIPS))
def test_a_slip_anywhere_but_at_the_beginning_is_found(word: str, at: int, kind: str) -> None:
    at = 1 + at % (len(word) - 2)
    typed = {
        "left out": word[:at] + word[at + 1 :],
        "swapped": word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        "wrong": word[:at] + "z" + word[at + 1 :],
    }[kind]
    assert find(typed, [word]) == [word]


def test_other_scripts_and_none() -> None:
    assert find("狼") == ["狼"]
    assert find("\N{SNOWMAN}") == ["\N{SNOWMAN}"]
    assert find("") == []
    assert find("!?") == []
    assert find("wolf", []) == []


def test_names_that_come_later_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK", 2)
    growing = Search()
    for place, name in enumerate(NAMES):
        growing.extend([name])
        assert len(growing) == place + 1
        for typed in ("wolf", "timbr wolf", "4"):
            assert growing.find(typed, [0] * (place + 1), 5) == made(NAMES[: place + 1]).find(
                typed, [0] * (place + 1), 5
            )


def rank(typed: str, name: str) -> int:
    """The slow and obvious version: 0 for the whole name, 1 for its beginning, 2 for that of a word, 3 for any part."""
    wanted, words = letters_without_accents(typed), search.words(name)
    if letters_without_accents(name) == wanted:
        return 0
    if letters_without_accents(name).startswith(wanted):
        return 1
    if any(word.startswith(wanted) for word in words):
        return 2
    return 3 if wanted in letters_without_accents(name) or any(wanted in word for word in words) else 4


TEXT = st.text("ab._ ß\n", max_size=8)


@given(names=st.lists(TEXT, unique=True, max_size=12), typed=TEXT.filter(lambda text: any(map(str.isalnum, text))))
def test_finding_agrees_with_looking_at_every_name(names: list[str], typed: str) -> None:
    found = made(names).find(typed, [0] * len(names), 50)
    assert len(set(found)) == len(found)
    parts = [number for number in range(len(names)) if rank(typed, names[number]) < 4]
    expected = sorted(parts, key=lambda number: (rank(typed, names[number]), names[number]))
    assert found[: len(parts)] == expected


def test_a_single_letter_is_enough_and_cheap_matches_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"a{number}" for number in range(100)]
    monkeypatch.setattr(search, "MOST_OF_A_KIND", 30)
    assert len(made(names).find("a", np.zeros(100, dtype=np.int64), 20)) == 20
