"""OpenKE's id files: a count on the first line, then one triple per line as the ids of head, tail and relation."""

from array import array
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from hmem.errors import DataError
from hmem.graph.readers.compression import bare_path
from hmem.graph.readers.files import Place, open_file
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.table import table_of_ids

_NAME_FILES = ("entity2id.txt", "relation2id.txt")


def is_openke(path: Path) -> bool:
    """Whether a file has a name such as OpenKE gives: train2id.txt, test2id.txt.gz ..."""
    return bare_path(path).name.endswith("2id.txt")


def read_openke(path: Path) -> pa.Table:
    """The triples of a file such as train2id.txt, named by entity2id.txt and relation2id.txt in the same folder."""
    if bare_path(path).name in _NAME_FILES:
        raise DataError(path=path, expected="triples such as those of train2id.txt", found="a list of names")
    open_file(path).close()  # if this one is missing, say so before missing the names
    heads, tails, kinds = array("i"), array("i"), array("i")
    entities, relations = (_read_names(_beside(path, name)) for name in _NAME_FILES)
    for place, line in _counted_lines(path, "triples"):
        fields = line.split()
        if len(fields) != 3:
            raise place.error(expected="3 ids (head, tail, relation)", found=len(fields))
        heads.append(_id(fields[0], len(entities), "the head's id", place))
        tails.append(_id(fields[1], len(entities), "the tail's id", place))
        kinds.append(_id(fields[2], len(relations), "the relation's id", place))
    if not heads:
        raise DataError(path=path, expected="triples", found="none")
    return table_of_ids([(heads, entities), (kinds, relations), (tails, entities)])


def _beside(path: Path, name: str) -> Path:
    """The file of names beside `path`: plain, or compressed as `path` is."""
    plain, packed = path.with_name(name), path.with_name(name + path.suffix)
    return packed if path != bare_path(path) and packed.exists() and not plain.exists() else plain


def _read_names(path: Path) -> pa.Array:
    """The names of a file such as entity2id.txt in the order of their ids; names may contain spaces."""
    entries = list(_counted_lines(path, "names"))
    names: dict[int, str] = {}
    line_of: dict[int | str, int | None] = {}  # where each id and each name was seen
    for place, line in entries:
        name, _, text = line.rpartition("\t") if "\t" in line else line.rstrip().rpartition(" ")
        if not name:
            raise place.error(expected="a name and its id", found=repr(line))
        identity = _id(text, len(entries), "the name's id", place)
        for seen in (identity, name):
            if line_of.setdefault(seen, place.line) != place.line:
                found = f"{seen!r} here and in line {line_of[seen]}"
                raise place.error(expected="every name and id once", found=found)
        names[identity] = name
    return pa.array([names[identity] for identity in range(len(names))], pa.string())


def _counted_lines(path: Path, what: str) -> Iterator[tuple[Place, str]]:
    """The lines after the first, which says how many there are, each with its place; blank ones are skipped."""
    with open_text(path) as stream:
        lines = Lines(stream, path)
        filled = ((Place(path, lines.number), line.rstrip("\r\n")) for line in lines if line.strip())
        first, line = next(filled, (Place(path), ""))
        promised = _number(line.strip())
        if promised is None:
            raise first.error(expected=f"the number of {what}", found=repr(line))
        found = 0
        for found, entry in enumerate(filled, 1):  # noqa: B007
            yield entry
        if found != promised:
            raise first.error(expected=f"{promised} {what} as this line says", found=found)


def _id(text: str, count: int, what: str, place: Place) -> int:
    number = _number(text.strip())
    if number is None or number >= count:
        raise place.error(expected=f"{what}, from 0 to {count - 1}", found=repr(text))
    return number


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
