"""The slow splitter, which defines what a row is."""

from pathlib import Path

import pytest

from hmem.errors import DataError
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rows import TextRow, fields_by, rows, split
from tests.graph.readers.helpers import Write


def rows_of(path: Path, delimiter: str, quoted: bool) -> list[TextRow]:
    with open_text(path) as stream:
        return list(rows(Lines(stream, path), delimiter, quoted))


def test_split() -> None:
    assert split(' a\t"b \tc\r\n', "\t") == [" a", '"b ', "c"]
    assert split("a\t\tc", "\t") == ["a", "", "c"]
    assert split("  a  b\tc d \n", " ") == ["a", "b\tc", "d"]


def test_quoted_fields(write: Write) -> None:
    path = write("a.csv", '"a,b","c""d",e"f\r\n"x\r\ny","",\n\n z \n')
    assert rows_of(path, ",", True) == [
        TextRow(1, ["a,b", 'c"d', 'e"f'], blank=False),
        TextRow(2, ["x\r\ny", "", ""], blank=False),
        TextRow(4, [""], blank=True),
        TextRow(5, [" z "], blank=False),
    ]


def test_blank_is_whitespace_that_is_not_three_names(write: Write) -> None:
    path = write("a.tsv", "\n \n\t\t\n \t\n \t \t \n\u3000\na\t\t\n")
    assert [row.blank for row in rows_of(path, "\t", False)] == [True, True, True, True, False, True, False]


def test_text_after_a_closing_quote(write: Write) -> None:
    path = write("a.csv", 'a,b,c\n"x\ny"z,b,c\n')
    with pytest.raises(DataError) as error:
        rows_of(path, ",", True)
    assert str(error.value) == (
        f"{path}:2: expected a comma after a closing quote, found 'z'; a quote inside a quoted field must be doubled"
    )


def test_a_quote_never_closed(write: Write) -> None:
    path = write("a.csv", 'a,b,c\n"x,b,c\nd,e,f\n')
    with pytest.raises(DataError) as error:
        rows_of(path, ",", True)
    assert str(error.value) == f"{path}:2: a quote is opened in this row and never closed"


def test_delimiters_have_names() -> None:
    names = ("tab", "comma", "semicolon", "pipe", "space", "':'")
    assert [fields_by(3, delimiter) for delimiter in "\t,;| :"] == [f"3 {name}-separated fields" for name in names]
