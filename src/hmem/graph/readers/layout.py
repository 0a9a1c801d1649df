"""How a delimited text file is laid out, found from its name, its first row and what the caller says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hmem.errors import ConfigError, DataError, Hint
from hmem.graph.readers.columns import CHOOSE_COLUMNS, Columns, Positions, find_columns, find_qualifiers, heading
from hmem.graph.readers.files import Place
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rows import TextRow, fields_by, rows, split

# What may separate the fields, by kind of file; the first is assumed where the first row does not tell.
_CANDIDATES = {"tsv": "\t", "csv": ",;|\t", "txt": "\t,;| "}

MOST_COLUMNS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    delimiter: str  # " " means runs of spaces
    quoted: bool  # fields may stand in quotes, by RFC 4180
    width: int  # fields in a row
    columns: Positions  # of the head, the relation and the tail
    said: dict[str, int]  # the columns that qualify the facts
    offset: int  # bytes before the first row, after a byte-order mark
    lines: int  # lines before the first row


def find_layout(path: Path, kind: str, delimiter: str | None, header: bool | None, columns: Columns | None) -> Layout:
    """The layout of `path`, a file of kind "tsv" (no quoting), "csv" (quoting) or "txt" (either, by its delimiter)."""
    if header is None and columns is not None and any(isinstance(column, str) for column in columns):
        header = True
    if delimiter is None:
        delimiter = guess_delimiter(path, kind)
    quoted = kind == "csv" or (kind == "txt" and delimiter in ",;")
    _check_delimiter(delimiter, quoted)
    with open_text(path) as stream:
        lines = Lines(stream, path)
        first = next((row for row in rows(lines, delimiter, quoted) if not row.blank), None)
        if first is None:
            raise DataError(path=path, expected="rows of head, relation and tail", found="an empty file")
        if len(first.fields) > MOST_COLUMNS:
            found = f"{len(first.fields):,} fields in the first row"
            raise Place(path, first.number).error(expected=f"at most {MOST_COLUMNS:,} columns", found=found)
        has_header = heading(first.fields) is not None if header is None else header
        return Layout(
            delimiter=delimiter,
            quoted=quoted,
            width=len(first.fields),
            columns=_find_columns(path, first, delimiter, has_header, columns),
            said=find_qualifiers(
                first.fields if has_header else None, len(first.fields), columns, Place(path, first.number)
            ),
            offset=lines.offset if has_header else 0,
            lines=lines.number if has_header else 0,
        )


def guess_delimiter(path: Path, kind: str, *, most: bool = False) -> str:
    """What splits the first row into three, or with `most` into the most fields, but for spaces."""
    candidates = _CANDIDATES[kind]
    with open_text(path) as stream:
        line = next((line for line in Lines(stream, path) if line.strip()), "")
    if kind == "csv" or most:
        line = re.sub('"[^"]*"', "", line)  # a delimiter inside quotes is none
    if kind == "txt" and "\t" in line and not most:
        return "\t"
    if most:
        return max(candidates.replace(" ", ""), key=line.count)
    present = [candidate for candidate in candidates if candidate in line]
    fitting = [candidate for candidate in present if len(split(line, candidate)) == 3]
    return (fitting or present or candidates)[0]


def _check_delimiter(delimiter: str, quoted: bool) -> None:
    if len(delimiter) != 1 or delimiter in "\r\n\0":
        problem = "{option} must be a single character, and no line break"
        raise ConfigError(problem, option="delimiter", found=delimiter)
    if quoted and delimiter == '"':
        no_quoting = Hint(text="without quoting", option="format", value="tsv")
        raise ConfigError("{option} cannot be a quote in CSV", option="delimiter", found=delimiter, hint=no_quoting)


def _find_columns(path: Path, first: TextRow, delimiter: str, has_header: bool, columns: Columns | None) -> Positions:
    width = len(first.fields)
    names = first.fields if has_header else None
    place = Place(path, first.number)
    found = find_columns(names, width, columns, place)
    if found is None:
        hint = CHOOSE_COLUMNS if width > 3 else _other_delimiter(first.fields) if width == 1 else None
        raise place.error(expected=fields_by(3, delimiter), found=width, hint=hint)
    return found


def _other_delimiter(fields: Sequence[str]) -> Hint | None:
    """The delimiter that would make three fields of a row that has one."""
    for other in _CANDIDATES["txt"]:
        if len(split(fields[0], other)) == 3:
            command = f"hmem facts import KB FILE --delimiter {other!r}"
            return Hint(text="it has three with another delimiter", option="delimiter", value=other, command=command)
    return None
