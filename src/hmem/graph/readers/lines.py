"""The physical lines of a text file, and what shows that a file is not text."""

import io
from collections.abc import Iterator
from pathlib import Path

from hmem.errors import DataError
from hmem.graph.readers.compression import open_bytes
from hmem.graph.readers.files import BUFFER

BOM = b"\xef\xbb\xbf"
LONGEST = 1 << 24  # bytes of a line, of a row in quotes, or of a literal; pyoxigraph has the same limit
_NOT_TEXT = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF89a": "a GIF picture",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive (as .xlsx, .docx and .npz files are)",
    b"\x7fELF": "a program",
    b"\xfd7zXZ": "xz-compressed (known are .gz, .bz2 and .zst)",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x89HDF": "an HDF5 file",
}
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # as spreadsheets write "Unicode text"


def open_text(path: Path) -> io.BufferedReader:
    """The text of `path` in UTF-8, after its byte-order mark if it has one; plainly binary content is a DataError."""
    stream = open_bytes(path)
    try:
        if stream.peek(2).startswith(UTF16):
            stream = io.BufferedReader(_Recoded(stream, path), BUFFER)
        start = stream.peek(8192)
        kind = next((kind for magic, kind in _NOT_TEXT.items() if start.startswith(magic)), None)
        if kind is not None:
            raise DataError(path=path, expected="UTF-8 text", found=kind)
        if b"\0" in start:
            before = start[: start.index(b"\0")]
            raise _nul(path, max(1, len(before.splitlines()) + before.endswith((b"\n", b"\r"))))
        if start.startswith(BOM):
            stream.read(len(BOM))
    except DataError:
        stream.close()
        raise
    return stream


class _Recoded(io.RawIOBase):
    """UTF-16 with a byte-order mark as UTF-8 without."""

    def __init__(self, stream: io.BufferedReader, path: Path) -> None:
        self._text = io.TextIOWrapper(stream, encoding="utf-16", newline="")
        self._path, self._rest = path, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # Python 3.12 has Buffer
        if not self._rest:
            try:
                self._rest = self._text.read(BUFFER).encode()
            except UnicodeError:
                raise DataError("not sound UTF-16 text; save it as UTF-8", path=self._path) from None
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        self._text.close()
        super().close()


class Lines:
    """The lines of a text, decoded one at a time, with their ends; `number` and `offset` say how far it has read.

    LF, CRLF and CR alone each end a line, as in spreadsheets and in pyarrow.
    """

    def __init__(self, stream: io.BufferedReader, path: Path, number: int = 0) -> None:
        self.path = path
        self.number = number  # of the line read last, counted from 1
        self.offset = 0  # bytes read
        self._lines = self._split(stream)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        self.offset += len(line)
        if b"\0" in line:
            raise _nul(self.path, self.number)
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} of the line is 0x{line[error.start]:02x}"
            problem = f"{byte}, which is not UTF-8; expected UTF-8 text"
            raise DataError(problem, path=self.path, line=self.number) from None

    def _split(self, stream: io.BufferedReader) -> Iterator[bytes]:
        rest = b""
        while chunk := stream.readline(BUFFER):
            *whole, rest = (rest + chunk).splitlines(keepends=True)
            yield from whole
            if rest.endswith(b"\n"):  # else it may go on, if only by the second half of CRLF
                yield rest
                rest = b""
            elif len(rest) > LONGEST:
                found = f"more than {LONGEST:,} bytes without a line break"
                raise DataError(path=self.path, line=self.number + 1, expected="lines of text", found=found)
        if rest:
            yield rest


def _nul(path: Path, number: int) -> DataError:
    return DataError("expected UTF-8 text, found a NUL byte; is this a binary file?", path=path, line=number)
