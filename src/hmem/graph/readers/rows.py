"""The slow and obvious way to split text into rows; what the fast path means is defined here."""

from collections.abc import Iterator
from typing import NamedTuple

from hmem.graph.readers.files import Place
from hmem.graph.readers.lines import LONGEST, Lines

_NAMED_DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe", " ": "space"}


class TextRow(NamedTuple):
    number: int  # of the physical line on which it begins
    fields: list[str]
    blank: bool  # nothing but whitespace on the line, and not even three names made of it


def fields_by(number: int, delimiter: str) -> str:
    """What a row should have: "3 tab-separated fields"."""
    return f"{number} {_delimiter_name(delimiter)}-separated fields"


def _delimiter_name(delimiter: str) -> str:
    return _NAMED_DELIMITERS.get(delimiter, repr(delimiter))


def rows(lines: Lines, delimiter: str, quoted: bool) -> Iterator[TextRow]:
    """Each row of the text, blank lines too; one row is one line unless a quoted field holds a line break."""
    for line in lines:
        number = lines.number
        fields = _split_quoted(line, lines, delimiter) if quoted else split(line, delimiter)
        yield TextRow(number, fields, blank=not line.strip() and (len(fields) < 3 or "" in fields))


def split(line: str, delimiter: str) -> list[str]:
    """The fields of a line without quoting; runs of spaces count as one delimiter, other delimiters singly."""
    fields = line.rstrip("\r\n").split(delimiter)
    return [field for field in fields if field] if delimiter == " " else fields


def _split_quoted(line: str, lines: Lines, delimiter: str) -> list[str]:
    """The fields of the row that begins with `line`, by RFC 4180.

    A field that begins with a quote ends at the next single quote; a doubled quote inside it stands for one, and
    line breaks inside it belong to it. Quotes within an unquoted field are ordinary characters.
    """
    number = lines.number
    fields: list[str] = []
    position = 0
    while True:
        if line.startswith('"', position):
            field, line, position = _quoted_field(line, lines, position + 1, number)
            fields.append(field)
            after = line[position : position + 1]
            if after in ("", "\r", "\n"):
                return fields
            if after != delimiter:
                raise Place(lines.path, number).error(
                    f"expected a {_delimiter_name(delimiter)} after a closing quote, found {after!r}; "
                    "a quote inside a quoted field must be doubled"
                )
            position += 1
        else:
            end = line.find(delimiter, position)
            if end < 0:
                return [*fields, line[position:].rstrip("\r\n")]
            fields.append(line[position:end])
            position = end + 1


def _quoted_field(line: str, lines: Lines, position: int, number: int) -> tuple[str, str, int]:
    """The field whose text begins at `position`, the line on which it ends, and the position after its quote."""
    parts: list[str] = []
    begun = lines.offset
    while True:
        end = line.find('"', position)
        if end < 0:  # the field goes on in the next line
            parts.append(line[position:])
            following = next(lines, None)
            if following is None:
                raise Place(lines.path, number).error("a quote is opened in this row and never closed")
            if lines.offset - begun > LONGEST:
                raise Place(lines.path, number).error(
                    f"a quoted field has more than {LONGEST:,} bytes; is a quote missing?"
                )
            line, position = following, 0
        elif line.startswith('"', end + 1):
            parts.append(line[position : end + 1])
            position = end + 2
        else:
            parts.append(line[position:end])
            return "".join(parts), line, end + 1
