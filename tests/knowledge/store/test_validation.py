"""Any text is kept as it is, or refused with the reason."""

import pytest

from hmem.errors import DataError
from hmem.knowledge.store.validation import (
    LONGEST_NAME,
    check_fact,
    check_facts,
    check_name,
    check_source,
)


@pytest.mark.parametrize(
    "name", [" ", "a", "'; DROP TABLE fact; --", "a\tb\nc\r", "\N{WOLF FACE}", "\u00e9", "e\u0301", "x" * 10_000]
)
def test_text_is_kept_as_it_is(name: str) -> None:
    assert check_name("head", name) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "expected a tail, received empty text"),
        ("x" * 10_001, "10,001 characters; at most 10,000"),
        ("half \ud83d a wolf", "half a surrogate pair"),
        ("\udc80", "half a surrogate pair"),
        ("nul\0", "NUL character"),
        (7, r"expected text as tail, received 7 \(int\)"),
        (None, r"received None \(NoneType\)"),
        (b"wolf", "received b'wolf'"),
    ],
)
def test_what_would_not_come_back_is_refused(name: object, reason: str) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        check_name("tail", name)
    assert len(str(caught.value)) < 250
    str(caught.value).encode()  # printable, whatever the name was


@pytest.mark.parametrize("fact", ["abc", ("a", "b"), ("a", "b", "c", "d"), 7, None, b"abc"])
def test_a_fact_has_three_parts(fact: object) -> None:
    with pytest.raises(DataError, match=r"expected facts as \(head, relation, tail\)"):
        check_fact(fact)


def test_the_wrong_part_is_named() -> None:
    with pytest.raises(DataError, match="expected a relation"):
        check_facts([("a", "b", "c"), ("a", "", "c")])
    assert check_facts(iter([["a", "b", "c"]])) == [("a", "b", "c")]


def test_a_source_is_a_name_or_nothing() -> None:
    assert check_source(None) is None
    assert check_source("me") == "me"
    with pytest.raises(DataError, match="expected a source"):
        check_source("")
    assert LONGEST_NAME == 10_000
