"""The canonical text of a split, which checksums are taken of.

UTF-8, one fact a line, `head<tab>relation<tab>tail<newline>`, in the order of the source; held-out entities one name a
line. The same sum then serves the gzip files of a data folder, the text in a public archive and the cache.
"""

import gzip
import hashlib
import io
import os
import secrets
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path

from hmem.errors import DataError
from hmem.graph.readers.files import open_file

TRIPLE = "hrt"  # head, relation, tail
DATED = "hrtd"  # and a date, which then comes first
NAME = "n"  # one name a line, as in a list of held-out entities
COMPRESSION = 6  # a third of the time of 9, for 2 % more bytes


def canonical_text(raw: bytes, columns: str = TRIPLE) -> bytes:
    """The text of `raw` with line ends, blank lines, spaces around names and the order of columns made uniform.

    `columns` is the order in `raw`, such as "rht", or NAME for one name a line. Raises ValueError, saying which line,
    where there are more or fewer names in it.
    """
    order = [columns.index(letter) for letter in sorted(columns)]  # h, r, t is also the alphabet's order
    lines: list[str] = []
    for number, line in enumerate(raw.decode("utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) == 1 and columns != NAME:
            fields = line.split()  # GraIL's own reader takes any white space
        if len(fields) != len(order):
            raise ValueError(f"line {number}: expected {len(order)} fields, found {len(fields)}")
        lines.append("\t".join(fields[position] for position in order) + "\n")
    return "".join(lines).encode()


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def sha256_of_file(path: Path, columns: str = TRIPLE) -> str:
    """The checksum of a split's canonical text, from a plain or gzipped text file."""
    with open_file(path) as file:
        raw = file.read()
    try:
        return sha256(canonical_text(gzip.decompress(raw) if path.suffix == ".gz" else raw, columns))
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"expected tab-separated text to take a checksum of; {error}", path=path) from error


def pack(text: bytes) -> bytes:
    """`text` compressed, without a name or a time: the same text gives the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=COMPRESSION, mtime=0) as file:
        file.write(text)
    return packed.getvalue()


def write_folder(target: Path, texts: Mapping[str, bytes]) -> None:
    """Make the folder `target` with one `SPLIT.tsv.gz` for each text; it appears complete or not at all.

    Where another process has just made the same folder, theirs stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{target.name}.{secrets.token_hex(4)}.tmp"
    try:
        temporary.mkdir()
        for split, text in texts.items():
            (temporary / f"{split}.tsv.gz").write_bytes(pack(text))
        try:
            os.replace(temporary, target)
        except OSError:
            if any(not (target / f"{split}.tsv.gz").is_file() for split in texts):
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
