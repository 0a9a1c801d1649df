"""Headings and mappings of columns."""

import re
from pathlib import Path

import pytest

from hmem.errors import ConfigError, DataError
from hmem.graph.readers.columns import Columns, check_columns, find_columns, find_qualifiers, heading
from hmem.graph.readers.files import Place

TABLE = Place(Path("t"))


@pytest.mark.parametrize(
    ("names", "positions"),
    [
        ("head relation tail", (0, 1, 2)),
        ("HEAD Relation tail", (0, 1, 2)),
        ("h r t", (0, 1, 2)),
        ("subject predicate object", (0, 1, 2)),
        ("S P O", (0, 1, 2)),
        ("source relation target", (0, 1, 2)),
        ("source target relation", (0, 2, 1)),
        ("from to type", (0, 2, 1)),
        ("tail relation head", (2, 1, 0)),
        ("id from type to weight", (1, 2, 3)),
        ("head relation type tail", (0, 1, 3)),
        (":START_ID :TYPE :END_ID", (0, 1, 2)),
        ("#head relation tail", (0, 1, 2)),
        ("source interaction target", (0, 1, 2)),
        ("subject verb object", (0, 1, 2)),
        ("entity1 link entity2", (0, 1, 2)),
        ("head_id relation_type tail_id", (0, 1, 2)),
        ("Head-Entity Relation-Name Tail-Entity", (0, 1, 2)),
        ("head_id head relation tail_id tail", (1, 2, 4)),
        ("_id relation _name", (0, 1, 2)),
        ("from label type to", None),
        ("from to source target type", None),
        ("head head relation tail", None),
        ("head relation relation", None),
        ("a r b", None),
        ("head relation", None),
        ("head eats tail", None),
        ("", None),
    ],
)
def test_headings(names: str, positions: tuple[int, int, int] | None) -> None:
    assert heading(names.split()) == positions
    assert heading([name.replace("-", " ") for name in names.split()]) == positions


def test_columns_by_name_and_position() -> None:
    assert find_columns(["x", "y", "z"], 3, ("z", "x", 1), TABLE) == (2, 0, 1)
    assert find_columns(None, 4, (3, 0, 1), TABLE) == (3, 0, 1)
    assert find_columns(["tail", "relation", "head"], 3, None, TABLE) == (2, 1, 0)
    assert find_columns(["x", "y", "z"], 3, None, TABLE) == (0, 1, 2)
    assert find_columns(None, 4, None, TABLE) is None
    assert find_columns(["x", "y"], 2, None, TABLE) is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((0, 1), "columns=(0, 1) must name three different columns: the head, the relation, the tail"),
        ((0, 1, 0), "columns=(0, 1, 0) must name three different columns: the head, the relation, the tail"),
        ("hrt", "columns='hrt' must name three different columns: the head, the relation, the tail"),
        (
            (0, 1, 2, 3, 4, 5),
            "columns=(0, 1, 2, 3, 4, 5) must name three different columns: the head, the relation, the tail",
        ),
        ((-1, 0, 1), "columns=(-1, 0, 1) must count the columns from 0"),
    ],
)
def test_impossible_columns(columns: Columns, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        check_columns(columns)


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ((0, 1, 3), DataError, "t: no column 3; there are 3, counted from 0"),
        (("from", "type", "too"), DataError, 't: no column "too" among "from", "type", "to"; did you mean to?'),
        (("from", "zzz", "to"), DataError, 't: no column "zzz" among "from", "type", "to"'),
        (("from", 0, "to"), ConfigError, "columns=('from', 0, 'to') must name three different columns"),
    ],
)
def test_columns_that_are_not_there(columns: Columns, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        find_columns(["from", "type", "to"], 3, columns, TABLE)


def test_names_without_a_heading_and_doubled_names() -> None:
    with pytest.raises(ConfigError, match='header=False says that columns have no names, but "a" is one; give'):
        find_columns(None, 3, ("a", "b", "c"), TABLE)
    with pytest.raises(DataError, match='t: 2 columns are named "a"; give the position instead'):
        find_columns(["a", "b", "a"], 3, ("a", "b", 2), TABLE)
    many = [f"c{i}" for i in range(10)]
    with pytest.raises(DataError, match=r'"c7" and 2 more$'):
        find_columns(many, 10, ("x", 1, 2), TABLE)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("head relation tail valid_from valid_until confidence", {"valid_from": 3, "valid_until": 4, "confidence": 5}),
        ("Start-Date h r t UNTIL", {"valid_from": 0, "valid_until": 4}),
        ("from type to start_time end_time", {"valid_from": 3, "valid_until": 4}),
        ("h r t since valid_from", {"valid_from": 4}),  # the clearer word
        ("start type end", {}),
        ("h r t since since", {}),
        ("h r t probability", {}),  # of what?
        ("h r t probability inferred_by", {"inferred_by": 4, "probability": 3}),
    ],
)
def test_columns_that_qualify_facts(names: str, found: dict[str, int]) -> None:
    words = names.split()
    assert find_qualifiers(words, len(words), None, TABLE) == found
    assert find_qualifiers(words, len(words), (0, 1, 2), TABLE) == {}


def test_columns_of_days_by_name_or_position() -> None:
    assert find_qualifiers(None, 5, (0, 1, 2, 4), TABLE) == {"valid_from": 4}
    assert find_qualifiers(["a", "b", "c", "d", "e"], 5, (0, 1, 2, "e", "d"), TABLE) == {
        "valid_from": 4,
        "valid_until": 3,
    }
    assert find_qualifiers(None, 5, None, TABLE) == {}
    with pytest.raises(DataError, match="t: no column 5; there are 5, counted from 0"):
        find_qualifiers(None, 5, (0, 1, 2, 5), TABLE)


def test_of_three_columns_the_middle_one_tells() -> None:
    assert heading(["Person", "Relation", "Other"]) == (0, 1, 2)
    assert heading(["to", "predicate", "from"]) == (2, 1, 0)
    assert heading(["relation", "Person", "Other"]) is None
