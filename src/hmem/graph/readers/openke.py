"""OpenKE's id files: a count on the first line, then one triple per line as the ids of head, tail and relation."""

from array import array
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from hmem.errors import DataError
from hmem.graph.readers.compression import bare_path
from hmem.graph.readers.files import open_file
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.table import table_of_ids

_NAME_FILES = ("entity2id.txt", "relation2id.txt")


def is_openke(path: Path) -> bool:
    """Whether a file has a name such as OpenKE gives: train2id.txt, test2id.txt.gz ..."""
    return bare_path(path).name.endswith("2id.txt")


def read_openke(path: Path) -> pa.Table:
    """The triples of a file such as train2id.txt, named by entity2id.txt and relation2id.txt in the same folder."""
    if bare_path(path).name in _NAME_FILES:
        raise DataError(f"{path}: expected triples such as those of train2id.txt, found a list of names")
    open_file(path).close()  # if this one is missing, say so before missing the names
    heads, tails, kinds = array("i"), array("i"), array("i")
    entities, relations = (_read_names(_beside(path, name)) for name in _NAME_FILES)
    for where, line in _counted_lines(path, "triples"):
        fields = line.split()
        if len(fields) != 3:
            raise DataError(f"{where}: expected 3 ids (head, tail, relation), found {len(fields)}")
        heads.append(_id(fields[0], len(entities), f"{where}: expected the head's id"))
        tails.append(_id(fields[1], len(entities), f"{where}: expected the tail's id"))
        kinds.append(_id(fields[2], len(relations), f"{where}: expected the relation's id"))
    if not heads:
        raise DataError(f"{path}: expected triples, found none")
    return table_of_ids([(heads, entities), (kinds, relations), (tails, entities)])


def _beside(path: Path, name: str) -> Path:
    """The file of names beside `path`: plain, or compressed as `path` is."""
    plain, packed = path.with_name(name), path.with_name(name + path.suffix)
    return packed if path != bare_path(path) and packed.exists() and not plain.exists() else plain


def _read_names(path: Path) -> pa.Array:
    """The names of a file such as entity2id.txt in the order of their ids; names may contain spaces."""
    entries = list(_counted_lines(path, "names"))
    names: dict[int, str] = {}
    place_of: dict[int | str, str] = {}  # where each id and each name was seen
    for where, line in entries:
        name, _, text = line.rpartition("\t") if "\t" in line else line.rstrip().rpartition(" ")
        if not name:
            raise DataError(f"{where}: expected a name and its id, found {line!r}")
        identity = _id(text, len(entries), f"{where}: expected the name's id")
        for seen in (identity, name):
            if place_of.setdefault(seen, where) != where:
                raise DataError(
                    f"{where}: expected every name and id once, found {seen!r} here and at {place_of[seen]}"
                )
        names[identity] = name
    return pa.array([names[identity] for identity in range(len(names))], pa.string())


def _counted_lines(path: Path, what: str) -> Iterator[tuple[str, str]]:
    """The lines after the first, which says how many there are, each with its place; blank ones are skipped."""
    with open_text(path) as stream:
        lines = Lines(stream, path)
        filled = ((f"{path}:{lines.number}", line.rstrip("\r\n")) for line in lines if line.strip())
        where, line = next(filled, (str(path), ""))
        promised = _number(line.strip())
        if promised is None:
            raise DataError(f"{where}: expected the number of {what}, found {line!r}")
        found = 0
        for found, entry in enumerate(filled, 1):  # noqa: B007
            yield entry
        if found != promised:
            raise DataError(f"{where}: expected {promised} {what} as this line says, found {found}")


def _id(text: str, count: int, expected: str) -> int:
    number = _number(text.strip())
    if number is None or number >= count:
        raise DataError(f"{expected}, from 0 to {count - 1}, found {text!r}")
    return number


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
