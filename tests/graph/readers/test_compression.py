"""Compressed content is found by its first bytes, and damage to it is reported."""

import bz2
import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hmem.errors import DataError
from hmem.graph.readers import compression
from hmem.graph.readers.compression import bare_path, open_bytes
from hmem.graph.readers.read import read_table
from tests.graph.readers.helpers import Write

CONTENT = b"".join(b"%d\tr\t%d\n" % (i, random.Random(i).getrandbits(60)) for i in range(3000))


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


compressors = pytest.mark.parametrize(
    ("suffix", "codec", "compress"),
    [(".gz", "gzip", gzip.compress), (".bz2", "bz2", bz2.compress), (".zst", "zstd", zstd)],
)
Compress = Callable[[bytes], bytes]


@compressors
def test_content_is_decompressed_whatever_the_name(write: Write, suffix: str, codec: str, compress: Compress) -> None:
    for name in ("a.tsv" + suffix, "a.tsv" + suffix.upper(), "a.tsv"):
        with open_bytes(write(name, compress(CONTENT))) as stream:
            assert stream.read() == CONTENT


@compressors
def test_members_one_after_the_other(write: Write, suffix: str, codec: str, compress: Compress) -> None:
    with open_bytes(write("a" + suffix, compress(b"a\n") + compress(b"") + compress(b"b\n"))) as stream:
        assert stream.read() == b"a\nb\n"


@compressors
def test_a_stream_cut_short(write: Write, suffix: str, codec: str, compress: Compress) -> None:
    path = write("a.tsv" + suffix, compress(CONTENT)[:-20])
    with pytest.raises(DataError) as error:
        read_table(path)
    assert str(error.value).startswith(f"{path}: the {codec} data is corrupt or cut short: ")


@compressors
def test_a_corrupt_stream(write: Write, suffix: str, codec: str, compress: Compress) -> None:
    data = bytearray(compress(CONTENT))
    data[14:40] = b"\xff" * 26
    path = write("a.tsv" + suffix, bytes(data))
    with pytest.raises(DataError, match=f"a.tsv{suffix}: the {codec} data is corrupt or cut short: "):
        read_table(path)


def test_damage_far_into_a_large_file(write: Write) -> None:
    packed = gzip.compress(CONTENT * 30, compresslevel=1)  # 2 MB, so the start of the file reads well
    path = write("a.tsv.gz", packed[:-20])
    with pytest.raises(DataError) as error:
        read_table(path)
    assert str(error.value) == f"{path}: the gzip data is corrupt or cut short: Truncated compressed stream"


@compressors
def test_a_name_that_promises_what_the_content_is_not(
    write: Write, suffix: str, codec: str, compress: Compress
) -> None:
    path = write("a.tsv" + suffix, "a\tr\tb\n")
    with pytest.raises(DataError) as error:
        read_table(path)
    assert str(error.value) == f"{path}: the name says {codec}, but the content does not begin as {codec} does"


@compressors
def test_empty_content(write: Write, suffix: str, codec: str, compress: Compress) -> None:
    for content in (b"", compress(b"")):
        with pytest.raises(DataError, match="expected rows of head, relation and tail, found an empty file"):
            read_table(write("a.tsv" + suffix, content))


def test_text_may_begin_like_bzip2(write: Write) -> None:
    assert read_table(write("a.tsv", "BZh9\tr\tb\n")).num_rows == 1


def test_bare_path() -> None:
    assert bare_path(Path("x/a.tsv.gz")) == Path("x/a.tsv")
    assert bare_path(Path("x/a.tsv")) == Path("x/a.tsv")


def test_a_text_that_grows_without_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "FREE", 1_000)
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tr\tb\n" * 400_000))
    with pytest.raises(DataError, match=r"a\.tsv\.gz: it becomes more than \d+ times as long when it is unpacked"):
        read_table(path)
