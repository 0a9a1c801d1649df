"""Delimiters and headings are found, and what was found can be overruled."""

import pytest

from hmem.errors import ConfigError, DataError
from hmem.graph.readers.layout import Layout, find_layout
from tests.graph.readers.helpers import Write


@pytest.mark.parametrize(
    ("kind", "first", "delimiter", "quoted"),
    [
        ("tsv", "a\tr\tb", "\t", False),
        ("tsv", "a,r,b\tr\tb", "\t", False),
        ("csv", "a,r,b", ",", True),
        ("csv", "Paris, France;r;b", ";", True),
        ("csv", '"a,b,c";r;b', ";", True),
        ("csv", "a\tr\tb", "\t", True),
        ("txt", "a\tr\tb", "\t", False),
        ("txt", "a,r,b", ",", True),
        ("txt", "a, b, c\tr\tb\t1", "\t", False),
        ("txt", "a;r;b", ";", True),
        ("txt", "a|r|b", "|", False),
        ("txt", "a   r b", " ", False),
        ("txt", "a,b r c", " ", False),
        ("txt", "\n \n\na,r,b", ",", True),
        ("txt", "a,r,b c,d,e,f", ",", True),
    ],
)
def test_delimiters_are_told_from_kind_and_first_row(
    write: Write, kind: str, first: str, delimiter: str, quoted: bool
) -> None:
    layout = find_layout(write("a", first + "\nx\n"), kind, None, None, columns=(0, 1, 2))
    assert (layout.delimiter, layout.quoted) == (delimiter, quoted)


def test_a_heading_is_left_out_of_the_rows(write: Write) -> None:
    path = write("a.csv", '\ufeff\r\n \r\ntail,"head",relation\r\na,r,b\r\n')
    assert find_layout(path, "csv", None, None, None) == Layout(
        delimiter=",", quoted=True, width=3, columns=(1, 2, 0), said={}, offset=27, lines=3
    )
    as_row = find_layout(path, "csv", None, False, None)
    assert (as_row.columns, as_row.offset, as_row.lines) == ((0, 1, 2), 0, 0)


def test_a_heading_of_unknown_words_must_be_announced(write: Write) -> None:
    path = write("a.csv", "x,y,z\na,r,b\n")
    assert find_layout(path, "csv", None, None, None).lines == 0
    assert find_layout(path, "csv", None, True, None).lines == 1
    assert find_layout(path, "csv", None, None, ("y", "x", "z")).lines == 1
    assert find_layout(path, "csv", None, None, ("y", "x", "z")).columns == (1, 0, 2)
    assert find_layout(path, "csv", None, None, (1, 0, 2)).lines == 0


def test_too_many_columns_need_a_choice(write: Write) -> None:
    path = write("a.csv", "\na,r,b,0.5\n")
    with pytest.raises(DataError) as error:
        find_layout(path, "csv", None, None, None)
    assert str(error.value) == (
        f"{path}:2: expected 3 comma-separated fields, found 4; name the three to read, for instance: columns=(0, 1, 2)"
    )
    assert find_layout(path, "csv", None, None, (0, 1, 2)).width == 4


ANOTHER = "it has three with another delimiter: delimiter="


@pytest.mark.parametrize(
    ("kind", "first", "expected"),
    [
        ("tsv", "a b c", f"expected 3 tab-separated fields, found 1; {ANOTHER}' '"),
        ("tsv", "a;b c;d", f"expected 3 tab-separated fields, found 1; {ANOTHER}';'"),
        ("tsv", "a b c d", "expected 3 tab-separated fields, found 1"),
        ("csv", "a b c", f"expected 3 comma-separated fields, found 1; {ANOTHER}' '"),
        ("txt", "a b", "expected 3 space-separated fields, found 2"),
        ("txt", "a,b", "expected 3 comma-separated fields, found 2"),
        ("txt", "ab", "expected 3 tab-separated fields, found 1"),
    ],
)
def test_too_few_columns(write: Write, kind: str, first: str, expected: str) -> None:
    path = write("a", first)
    with pytest.raises(DataError) as error:
        find_layout(path, kind, None, None, None)
    assert str(error.value) == f"{path}:1: {expected}"


@pytest.mark.parametrize("content", ["", "\n", " \r\n\t\n", "\ufeff", "\ufeff\n"])
def test_empty_files(write: Write, content: str) -> None:
    for kind in ("tsv", "csv", "txt"):
        path = write("a", content)
        with pytest.raises(DataError) as error:
            find_layout(path, kind, None, None, None)
        assert str(error.value) == f"{path}: expected rows of head, relation and tail, found an empty file"


def test_impossible_delimiters(write: Write) -> None:
    path = write("a.csv", "a,r,b\n")
    for delimiter in ("", "::", "\n", "\0"):
        with pytest.raises(ConfigError) as error:
            find_layout(path, "csv", delimiter, None, None)
        assert str(error.value) == f"delimiter={delimiter!r} must be a single character, and no line break"
    with pytest.raises(ConfigError, match=r"cannot be a quote in CSV; without quoting: format='tsv'$"):
        find_layout(path, "csv", '"', None, None)
