"""Lines are counted as an editor counts them, and bytes that are no text are found where they stand."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given

from hmem.errors import DataError
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write, fragments, fuzz, triples


def error_of(path: Path) -> str:
    with pytest.raises(DataError) as error, open_text(path) as stream:
        list(Lines(stream, path))
    return str(error.value)


def test_lf_crlf_and_cr_each_end_a_line(write: Write) -> None:
    path = write("a.txt", "a\nb\r\nc\rd\u2028e\x0bf\n\n")
    with open_text(path) as stream:
        lines = Lines(stream, path)
        assert [(line, lines.number) for line in lines] == [
            ("a\n", 1),
            ("b\r\n", 2),
            ("c\r", 3),
            ("d\u2028e\x0bf\n", 4),
            ("\n", 5),
        ]


@fuzz
@given(text=fragments)
def test_lines_put_together_are_the_text(folder: Path, text: str) -> None:
    path = folder / "a.txt"
    path.write_bytes(text.encode())
    with open_text(path) as stream:
        lines = Lines(stream, path)
        joined = "".join(lines)
    assert joined == text.removeprefix("\ufeff")
    assert lines.offset == len(joined.encode())
    assert lines.number == len(joined.encode().splitlines())


def test_undecodable_bytes_are_named_with_line_and_byte(write: Write) -> None:
    path = write("a.tsv", b"a\tr\tb\n\nb\tr\xe9l\tc\n")
    assert error_of(path) == f"{path}:3: byte 4 of the line is 0xe9, which is not UTF-8; expected UTF-8 text"


def test_nul_bytes_are_named_with_their_line(write: Write) -> None:
    for before, line in [(b"", 1), (b"a\n", 2), (b"a\r\n\r\nb", 3), ((b"x" * 200 + b"\n") * 6000, 6001)]:
        path = write("a.tsv", before + b"\0")
        assert error_of(path) == f"{path}:{line}: expected UTF-8 text, found a NUL byte; is this a binary file?"


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"PK\x03\x04", "a zip archive (as .xlsx, .docx and .npz files are)"),
        (b"\x7fELF\x02", "a program"),
        (b"\xfd7zXZ\0", "xz-compressed (known are .gz, .bz2 and .zst)"),
    ],
)
def test_binary_files_are_known_by_their_first_bytes(write: Write, start: bytes, kind: str) -> None:
    for content in (start, gzip.compress(start)):
        path = write("a.tsv", content)
        assert error_of(path) == f"{path}: expected UTF-8 text, found {kind}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt.gz"])
def test_text_of_spreadsheets_in_utf_16_is_read(tmp_path: Path, encoding: str, name: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    between = "," if name == "a.csv" else "\t"
    content = f"{mark}head,relation,tail\r\nÄnne,kennt,Bob 😀\r\nBob,kennt,Änne\r\n".replace(",", between).encode(
        encoding
    )
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert triples(read_table(path)) == [("Änne", "kennt", "Bob 😀"), ("Bob", "kennt", "Änne")]
    path = tmp_path / "broken.tsv"
    path.write_bytes(b"\xff\xfea\0\t")
    assert error_of(path) == f"{path}: not sound UTF-16 text; save it as UTF-8"
