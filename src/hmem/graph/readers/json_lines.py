"""Facts in JSON: an object a line, or one list of them.

The fields of an object are found like the columns of a table, by their names: head, relation and tail, or others with
the same meaning, and those that qualify a fact. A fact may also be a list of three names.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from hmem.errors import shown
from hmem.graph.readers.columns import Columns, find_columns, find_qualifiers
from hmem.graph.readers.files import Place
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.table import StatementBuilder
from hmem.graph.readers.tuples import is_unicode
from hmem.graph.triples import PARTS

EXPECTED = 'objects such as {"head": …, "relation": …, "tail": …}, one a line or all in one list'


def is_list(path: Path) -> bool:
    """Whether the text of a file begins as a list in JSON does."""
    with open_text(path) as stream:
        return stream.peek(8192).lstrip()[:1] == b"["


def read_json_lines(path: Path, columns: Columns | None) -> pa.Table:
    """The triples of a file; `columns` name the fields of the head, the relation and the tail."""
    facts = StatementBuilder()
    names: Sequence[str] = ()  # of the fields of the object before, which are those of most
    for place, row in _rows(path):
        if isinstance(row, dict):
            if tuple(row) != names:
                names = tuple(row)
                found = find_columns(names, len(names), columns, place)
                if found is None:
                    raise place.error(expected=EXPECTED, found=shown(json.dumps(row, ensure_ascii=False)))
                positions = found
                said = find_qualifiers(names, len(names), columns, place)
            cells = list(row.values())
            triple = [cells[position] for position in positions]
            more = {name: None if cells[at] is None else str(cells[at]) for name, at in said.items()}
        elif isinstance(row, list) and len(row) == 3 and columns is None:
            triple, more = row, {}
        else:
            raise place.error(expected=EXPECTED, found=shown(json.dumps(row, ensure_ascii=False)))
        head, relation, tail = (_name(cell, part, place) for cell, part in zip(triple, PARTS, strict=True))
        facts.add(head, relation, tail, **more)
    if not len(facts):
        raise Place(path).error(expected=EXPECTED, found="none")
    return facts.finish().replace_schema_metadata(None)  # a name that begins with a quote is a name


def _name(cell: object, part: str, place: Place) -> str:
    """A name as it is; a whole number may be one."""
    name = str(cell) if isinstance(cell, int) and not isinstance(cell, bool) else cell
    if not isinstance(name, str) or not name or not is_unicode(name):
        raise place.error(expected=f"text as {part}", found=shown(json.dumps(cell)))
    return name


def _rows(path: Path) -> Iterator[tuple[Place, Any]]:
    if is_list(path) and not _is_fact_in_first_line(path):
        with open_text(path) as stream:
            found = _parsed("".join(Lines(stream, path)), Place(path))
        yield from ((Place(path, kind=f"row {number}"), row) for number, row in enumerate(found))
        return
    with open_text(path) as stream:
        lines = Lines(stream, path)
        for line in lines:
            if line.strip():
                place = Place(path, lines.number)
                yield place, _parsed(line, place)


def _is_fact_in_first_line(path: Path) -> bool:
    with open_text(path) as stream:
        first = next((line for line in Lines(stream, path) if line.strip()), "")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return len(row) == 3 and not any(isinstance(each, dict | list) for each in row)


def _parsed(text: str, place: Place) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON: {str(error) or 'too deep'}; expected {EXPECTED}") from None
