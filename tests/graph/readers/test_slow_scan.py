"""Every bad row is one error that names file, line, what was found and what was expected."""

import pytest

from hmem.errors import DataError
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write

GOOD = "a\tr\tb\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD + "a\tr\n", ":2: expected 3 tab-separated fields, found 2"),
        (GOOD + "\n \n\r\na\tr\tb\tc\n" + GOOD, ":5: expected 3 tab-separated fields, found 4"),
        (GOOD + GOOD + "abc", ":3: expected 3 tab-separated fields, found 1"),
        (GOOD + "\tr\tb\n", ":2: expected a head in field 1 of 3, found it empty"),
        (GOOD + "a\t\tb\n", ":2: expected a relation in field 2 of 3, found it empty"),
        (GOOD + "a\tr\t\n", ":2: expected a tail in field 3 of 3, found it empty"),
        ("tail\thead\trelation\nb\t\tr\n", ":2: expected a head in field 2 of 3, found it empty"),
        ("\n\nhead\trelation\ttail\n\n", ": expected rows of head, relation and tail, found only a heading"),
        ("id\thead\trelation\ttail\na\tr\tb\n", ":2: expected 4 tab-separated fields, found 3"),
        (GOOD * 5000 + "a\tb", ":5001: expected 3 tab-separated fields, found 2"),
    ],
)
def test_bad_rows(write: Write, content: str, message: str) -> None:
    path = write("a.tsv", content)
    with pytest.raises(DataError) as error:
        read_table(path)
    assert str(error.value) == f"{path}{message}"


def test_bad_rows_of_other_delimiters(write: Write) -> None:
    for delimiter, name in [(",", "comma"), (";", "semicolon"), ("|", "pipe"), (" ", "space"), (":", "':'")]:
        path = write("a.dat", delimiter.join("arb") + "\n" + delimiter.join("ab"))
        with pytest.raises(DataError) as error:
            read_table(path, delimiter=delimiter)
        assert str(error.value) == f"{path}:2: expected 3 {name}-separated fields, found 2"


def test_runs_of_spaces_do_not_hide_a_missing_field(write: Write) -> None:
    path = write("a.txt", "a 1 r b\na  r b\n")
    with pytest.raises(DataError) as error:
        read_table(path, columns=(0, 2, 3))
    assert str(error.value) == f"{path}:2: expected 4 space-separated fields, found 3"


def test_a_nul_byte_deep_in_a_file(write: Write) -> None:
    path = write("a.tsv", (b"a\tr\t" + b"b" * 200 + b"\n") * 6000 + b"a\tr\t\0\n")
    with pytest.raises(DataError) as error:
        read_table(path)
    assert str(error.value) == f"{path}:6001: expected UTF-8 text, found a NUL byte; is this a binary file?"


def test_rows_after_a_quoted_line_break_keep_their_line(write: Write) -> None:
    path = write("a.csv", '"a\n\nb",r,c\nd,e\n')
    with pytest.raises(DataError) as error:
        read_table(path)
    assert str(error.value) == f"{path}:4: expected 3 comma-separated fields, found 2"


@pytest.mark.parametrize(
    ("row", "bad", "columns", "byte"),
    [
        (b"a\tr\tb\n", b"a\tr\t\xff\n", None, 5),
        (b"a\tr\tb\tc\n", b"a\tr\tb\t\xff\n", (0, 1, 2), 7),  # in a column that is not read
        (b"a\tr\tb\n", b"a\tr\t\xc3", None, 5),  # cut in the middle of a character
    ],
)
def test_undecodable_bytes_deep_in_a_file(
    write: Write, row: bytes, bad: bytes, columns: tuple[int, int, int] | None, byte: int
) -> None:
    path = write("a.tsv", row * 999 + bad)
    with pytest.raises(DataError, match=rf"^{path}:1000: byte {byte} of the line is 0x(ff|c3), which is not UTF-8"):
        read_table(path, columns=columns)
