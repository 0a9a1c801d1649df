"""The quick check of quotes agrees with a plain walk through the text."""

from hypothesis import given
from hypothesis import strategies as st

from hmem.graph.readers.quotes import QuoteCheck
from tests.graph.readers.helpers import fragments, fuzz


def is_plain(text: str, delimiter: str) -> bool:
    """Walk through the text: every quote opens a field, closes one, or is doubled inside one."""
    inside = False
    i = 0
    while i < len(text):
        if text[i] == '"' and not inside:
            if i > 0 and text[i - 1] not in delimiter + "\r\n":
                return False
            inside = True
        elif text[i] == '"' and text[i + 1 : i + 2] == '"':
            i += 1
        elif text[i] == '"':
            if text[i + 1 : i + 2] not in ("", delimiter, "\r", "\n"):
                return False
            inside = False
        i += 1
    return not inside


def check(text: str, delimiter: str, block: int) -> bool:
    data = text.encode()
    checker = QuoteCheck(delimiter)
    for start in range(0, len(data), block):
        checker.feed(data[start : start + block])
    checker.feed(b"")  # as a stream gives at its end
    return checker.passes()


@fuzz
@given(text=fragments, block=st.integers(1, 20))
def test_quotes_are_judged_alike_in_any_blocks(text: str, block: int) -> None:
    assert check(text, ",", block) == is_plain(text, ",")


def test_plain_and_doubtful_quotes() -> None:
    for text in ('"a","b"', '"a""b",c', '"",x', '"a\nb"', 'a,"""",b', '"a"\r\n"b"'):
        assert check(text, ",", 3)
    for text in ('"a"b', 'a"b', '"a', '"a"""b', '5",x', '"a" ,b'):
        assert not check(text, ",", 3)
