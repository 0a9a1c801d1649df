"""Names as they are typed: what is taken, what is suggested, and what is not guessed."""

import pytest

from hmem.cli.names import find
from hmem.errors import UnknownNameError
from hmem.graph.names import Names

ENTITIES = Names("entity", ["timber_wolf.n.01", "wolf.n.01", "wolf_pup.n.01", "Wolf.n.01", "☃", "!", "x" * 300])


@pytest.mark.parametrize("name", ["timber_wolf.n.01", "Wolf.n.01", "☃", "!", "x" * 300])
def test_a_name_that_exists_is_taken_as_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert find(ENTITIES, name) == name
    assert capsys.readouterr() == ("", "")


def test_another_case_or_punctuation_is_taken_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert find(ENTITIES, "Timber Wolf, N. 01") == "timber_wolf.n.01"
    assert capsys.readouterr() == ("", 'entity "Timber Wolf, N. 01": taken for timber_wolf.n.01\n')


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("timberwolf", 'no entity "timberwolf"; did you mean timber_wolf.n.01?'),
        ("WOLF.n.01", 'no entity "WOLF.n.01"; did you mean Wolf.n.01 or wolf.n.01?'),
        ("wolf_pup", 'no entity "wolf_pup"; did you mean wolf_pup.n.01?'),
        ("wulf_pup.n.01", 'no entity "wulf_pup.n.01"; did you mean wolf_pup.n.01'),
        ("qqq", 'no entity "qqq"'),
        ("?", 'no entity "?"'),
        ("a\nb", 'no entity "a\\nb"'),
        ("y" * 5000, f'no entity "{"y" * 77}..."'),
        ("", 'no entity ""'),
    ],
)
def test_anything_else_is_an_error_of_one_line(typed: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as error:
        find(ENTITIES, typed)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_few_relations_are_listed_where_none_is_alike() -> None:
    with pytest.raises(UnknownNameError, match=r'^no relation "xyzzy"; there are eats, is_a$'):
        find(Names("relation", ["eats", "is_a"]), "xyzzy")
    with pytest.raises(UnknownNameError, match=r'^no relation "xyzzy"$'):
        find(Names("relation", [f"r{number}" for number in range(21)]), "xyzzy")
    with pytest.raises(UnknownNameError, match=r'^no relation "xyzzy"$'):
        find(Names("relation"), "xyzzy")


@pytest.mark.parametrize("typed", ["?", "!!", "☂", "  "])
def test_nothing_is_like_a_name_without_letters(typed: str) -> None:
    with pytest.raises(UnknownNameError) as error:
        find(ENTITIES, typed)
    assert "did you mean" not in str(error.value)
