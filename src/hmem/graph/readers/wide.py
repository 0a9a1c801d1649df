"""Tables with a row for each entity: its name, and in each other column what it has in the relation of that name."""

from pathlib import Path

import pyarrow as pa

from hmem.graph.readers.files import Place
from hmem.graph.readers.layout import guess_delimiter
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rows import fields_by, rows
from hmem.graph.readers.table import TableBuilder

SEPARATOR = "|"  # between several names in one cell


def read_wide(path: Path, delimiter: str | None) -> pa.Table:
    """A fact for each name in a cell, and none for an empty one. The first column has the names of the entities."""
    delimiter = guess_delimiter(path, "txt", most=True) if delimiter is None else delimiter
    facts, names = TableBuilder(), None
    with open_text(path) as stream:
        for row in rows(Lines(stream, path), delimiter, delimiter != "\t"):
            if row.blank:
                continue
            place, cells = Place(path, row.number), [cell.strip() for cell in row.fields]
            if names is None:
                names = cells
                if len(names) < 2 or not all(names[1:]) or len(set(names)) < len(names):
                    raise place.error(expected="a heading with a different name for each column", found=row.fields)
                continue
            if len(cells) != len(names):
                raise place.error(expected=fields_by(len(names), delimiter), found=len(cells))
            if not cells[0]:
                raise place.error(expected=f"the name of an entity as {names[0] or 'first column'}", found="it empty")
            for relation, cell in zip(names[1:], cells[1:], strict=True):
                for tail in filter(None, map(str.strip, cell.split(SEPARATOR))):
                    facts.add(cells[0], relation, tail)
    if not len(facts):
        raise Place(path).error(expected="a heading, and rows with the name of an entity first", found="no fact")
    return facts.finish()
