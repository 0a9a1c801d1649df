"""Names are numbered in order, found again, and suggested when mistyped."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmem.errors import UnknownNameError
from hmem.graph.names import Names, Vocabulary

WORDNET = ["timber_wolf.n.01", "wolf.n.01", "timber.n.01", "canine.n.02", "paw.n.01"]

unique_names = st.lists(st.text(), unique=True, max_size=8)
both_forms = pytest.mark.parametrize("in_arrow", [False, True])


def make(names: list[str], in_arrow: bool) -> Names:
    return Names("entity", pa.array(names, pa.string()) if in_arrow else names)


def message_of(names: Names, name: str) -> str:
    with pytest.raises(UnknownNameError) as caught:
        names.id_of(name)
    return str(caught.value)


@both_forms
def test_a_mistyped_name_gets_the_closest_ones(in_arrow: bool) -> None:
    assert message_of(make(WORDNET, in_arrow), "timberwolf") == (
        'no entity "timberwolf"; did you mean timber_wolf.n.01 or timber.n.01?'
    )


def test_no_more_suggestions_than_asked_for() -> None:
    assert Names("entity", WORDNET).closest("timberwolf", count=1) == ["timber_wolf.n.01"]


def test_the_style_guide_example() -> None:
    assert message_of(Names("entity", ["spy_game", "alien", "spy_kids"]), "spy_kid") == (
        'no entity "spy_kid"; did you mean spy_kids?'
    )


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert message_of(Names("relation", ["hypernym"]), "qqq") == 'no relation "qqq"'
    assert message_of(Names("relation"), "hypernym") == 'no relation "hypernym"'
    assert message_of(Names("relation", ["hypernym"]), "") == 'no relation ""'


def test_a_very_long_name_is_cut_short() -> None:
    names = Names("entity", ["a" * 300])
    assert message_of(names, "a" * 301) == f'no entity "{"a" * 77}..."'  # and is not worth a search
    assert message_of(names, "a" * 200) == f'no entity "{"a" * 77}..."; did you mean {"a" * 300}?'


@given(unique_names, st.text())
def test_any_text_can_be_asked_for(names: list[str], asked: str) -> None:
    stored = Names("entity", names)
    assert set(stored.closest(asked)) <= set(names)
    if asked in names:
        assert stored.id_of(asked) == names.index(asked)
    else:
        assert message_of(stored, asked).startswith('no entity "')


@given(unique_names, st.booleans())
def test_names_and_ids_are_inverse(names: list[str], in_arrow: bool) -> None:
    stored = make(names, in_arrow)
    assert len(stored) == len(names)
    assert [stored[position] for position in range(len(names))] == names
    assert list(stored) == names
    assert stored.ids_of(names).tolist() == list(range(len(names)))
    assert stored.ids_of(names).dtype == "int64"
    assert all(name in stored for name in names)


@given(unique_names, st.lists(st.text(max_size=3), max_size=8), st.booleans())
def test_add_numbers_new_names_and_keeps_old_ids(names: list[str], more: list[str], in_arrow: bool) -> None:
    stored = make(names, in_arrow)
    expected = dict.fromkeys(names + more)  # a dict keeps the order of first appearance
    ids = [stored.add(name) for name in more]
    assert list(stored) == list(expected)
    assert ids == [list(expected).index(name) for name in more]
    assert stored.to_arrow().to_pylist() == list(expected)
    assert [stored.get(name) for name in names] == list(range(len(names)))


@given(unique_names)
def test_both_forms_agree(names: list[str]) -> None:
    plain, lazy = make(names, False), make(names, True)
    assert plain == lazy
    assert plain.to_arrow() == lazy.to_arrow()
    assert plain.to_list() == lazy.to_list()
    assert len(plain) == len(lazy)
    assert repr(plain) == repr(lazy)


@given(unique_names, st.booleans())
def test_extending_leaves_the_original_alone(names: list[str], in_arrow: bool) -> None:
    stored = make(names, in_arrow)
    longer = stored.extended(pa.array(["\x00new", "\x00newer"]))
    assert list(longer) == [*names, "\x00new", "\x00newer"]
    assert list(stored) == names


def test_a_name_that_is_not_there() -> None:
    assert Names("entity", ["a"]).get("b") is None
    assert "b" not in Names("entity", ["a"])


def test_vocabularies_are_equal_when_their_names_are() -> None:
    arrow = Names("entity", pa.array(["a", "b"]))
    assert Vocabulary(["a", "b"], ["r"]) == Vocabulary(arrow, ["r"])
    assert Vocabulary(["a", "b"], ["r"]) != Vocabulary(["b", "a"], ["r"])
    assert Vocabulary(["a"], ["r"]) != Vocabulary(["a"], ["s"])
    assert Vocabulary() != "vocabulary"
    assert repr(Vocabulary(["a", "b"], ["r"])) == "Vocabulary(2 entities, 1 relations)"


def test_kinds_show_in_messages() -> None:
    vocab = Vocabulary(["a"], ["r"])
    assert (vocab.entities.kind, vocab.relations.kind) == ("entity", "relation")
