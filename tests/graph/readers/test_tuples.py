"""Triples given one by one."""

from typing import Any

import numpy as np
import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import triples

ABC = [("a", "r", "b"), ("b", "r", "c")]


@pytest.mark.parametrize("source", [ABC, tuple(ABC), [list(row) for row in ABC], (row for row in ABC), np.array(ABC)])
def test_any_iterable_of_three_strings(source: Any) -> None:
    assert triples(read_table(source)) == ABC


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (("a", "r"), "expected head, relation and tail, found ('a', 'r')"),
        ("arb", "expected head, relation and tail, found 'arb'"),
        ({"a", "r", "b"}, None),
        (("a", 3, "b"), "expected a string as relation, found 3"),
        (("", "r", "b"), "expected a string as head, found ''"),
        (("a", "r", None), "expected a string as tail, found None"),
        (("a", "r", "\ud800"), "expected Unicode text as tail, found '\\ud800'"),
        (("x" * 100, "r"), f"expected head, relation and tail, found ('{'x' * 75}..."),
    ],
)
def test_bad_rows(item: object, message: str | None) -> None:
    with pytest.raises(DataError) as error:
        read_table([*ABC, item])
    if message is not None:  # a set shows its elements in any order
        assert str(error.value) == f"row 2 (counted from 0): {message}"


def test_no_triples() -> None:
    with pytest.raises(DataError, match=r"^expected tuples of head, relation and tail, found none$"):
        read_table([])
