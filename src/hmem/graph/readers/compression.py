"""Files that may be compressed: gzip, bzip2 or Zstandard, recognized by their name and by their first bytes."""

import bz2
import io
import re
from pathlib import Path

import pyarrow as pa

from hmem.errors import DataError
from hmem.graph.readers.files import BUFFER, open_file

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
# Text shrinks to a third or a thirtieth. What shrinks to less than a hundredth may never end when it is unpacked.
FREE, MOST_GROWTH = 1 << 26, 100  # bytes before that counts, and times
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),  # the second ending is that of an empty file
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}


def bare_path(path: Path) -> Path:
    """`path` without a suffix of compression: train.tsv.gz gives train.tsv."""
    return path.with_suffix("") if path.suffix.lower() in CODECS else path


def open_bytes(path: Path) -> io.BufferedReader:
    """The content of `path`, decompressed while it is read.

    A stream that is corrupt or ends early is a DataError, raised by the read that reaches the damage.
    """
    file = open_file(path)
    start = file.peek(10)
    codec = next((name for name, magic in _MAGIC.items() if magic.match(start)), None)
    promised = CODECS.get(path.suffix.lower())
    if start and promised not in (None, codec):
        file.close()
        problem = f"the name says {promised}, but the content does not begin as {promised} does"
        raise DataError(problem, path=path)
    return file if codec is None else io.BufferedReader(_Decompressed(file, path, codec), BUFFER)


class _Decompressed(io.RawIOBase):
    """A decompressing stream whose failures are DataErrors that name the file."""

    def __init__(self, file: io.BufferedReader, path: Path, codec: str) -> None:
        self._file = file
        # pyarrow's bzip2 cannot read an empty member; the standard library has no Zstandard before Python 3.14
        self._stream = bz2.BZ2File(file) if codec == "bz2" else pa.CompressedInputStream(file, codec)
        self._path = path
        self._codec = codec
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # Python 3.12 has Buffer
        try:
            data = self._stream.read(len(buffer))
        except (OSError, EOFError, pa.ArrowException) as error:
            raise DataError(f"the {self._codec} data is corrupt or cut short: {error}", path=self._path) from None
        self._unpacked += len(data)
        if self._unpacked > FREE + MOST_GROWTH * self._file.tell():
            problem = f"it becomes more than {MOST_GROWTH} times as long when it is unpacked"
            raise DataError(problem, path=self._path, hint="if it is what you expect, unpack it yourself")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
