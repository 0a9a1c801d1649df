"""The CSV files of Neo4j's import: relationships, and beside them nodes with what is known of them.

    :START_ID,:END_ID,:TYPE,confidence:double        in relationships.csv
    :ID,:LABEL,label:string,aliases:string[]         in nodes.csv, in the same folder

A relationship is a fact. Of a node its id counts, its first `:LABEL`, which is its kind, and columns that read like a
label, aliases or a description; all others are values. Lists are split at semicolons.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pyarrow as pa

from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.readers.compression import bare_path
from hmem.graph.readers.entities import WORDS
from hmem.graph.readers.files import Place
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rdf_descriptions import ALIAS, DESCRIPTION, KIND, LABEL
from hmem.graph.readers.rdf_names import KINDS, name_of_value
from hmem.graph.readers.rows import rows
from hmem.graph.readers.table import StatementBuilder
from hmem.graph.values import BOOLEAN, DATE, DATETIME, DOUBLE, INTEGER, STRING, Value

NODES_FILE, RELATIONSHIPS_FILE = "nodes.csv", "relationships.csv"
BETWEEN = ";"  # the values of a list
TYPES = {INTEGER: "long", DOUBLE: "double", BOOLEAN: "boolean", DATE: "date", DATETIME: "datetime"}
_DATATYPES = {
    **{name: datatype for datatype, name in TYPES.items()},
    **dict.fromkeys(("int", "short", "byte"), INTEGER),
    "float": DOUBLE,
    "localdatetime": DATETIME,
}
_NAMING = {"label": LABEL, "aliases": ALIAS, "description": DESCRIPTION}


class Column(NamedTuple):
    """A heading: the name of a property, its type, and whether there are several in a field."""

    name: str
    type: str
    is_list: bool

    @classmethod
    def of(cls, heading: str) -> "Column":
        name, _, kind = heading.rpartition(":") if ":" in heading else (heading, "", "string")
        kind = kind.partition("(")[0].partition("{")[0]
        return cls(name.strip(), kind.removesuffix("[]").strip(), kind.endswith("[]"))


def is_neo4j(path: Path) -> bool:
    """Whether this is a CSV file of relationships, by its heading."""
    if bare_path(path).suffix.lower() != ".csv" or not path.is_file():
        return False
    with open_text(path) as stream:
        start = stream.peek(4096)[:4096]
    return b":START_ID" in start and b":END_ID" in start


def read_neo4j(path: Path) -> pa.Table:
    """The facts of a file of relationships, and what the nodes beside it say, as an RDF file would."""
    found = StatementBuilder()
    beside = path.with_name(path.name.replace("relationships", "nodes", 1))
    if beside != path and beside.exists():
        for node, field, column in _fields(beside, ("ID",)):
            _tell(found, node[0], field, column)
    for ends, said in _relationships(path):
        found.add(*ends, **said)
    if not len(found):
        raise Place(path).error(expected="relationships", found="none")
    return found.finish()


def _tell(found: StatementBuilder, node: str, field: str, column: Column) -> None:
    """What one field says of a node."""
    word = WORDS.get(column.name.casefold())
    if column.type == "LABEL" or word == "kind":
        kind = field.partition(BETWEEN)[0]
        found.add(node, KIND, KINDS + quote(kind, safe=""))
        return
    for text in filter(None, field.split(BETWEEN) if column.is_list else [field]):
        if word in _NAMING:
            found.add(node, _NAMING[str(word)], f'"{text}"')
        elif word is None and column.name:
            value = Value(text=text, datatype=_DATATYPES.get(column.type.casefold(), STRING))
            found.add(node, column.name, name_of_value(value))


def _relationships(path: Path) -> Iterator[tuple[tuple[str, str, str], dict[str, str]]]:
    """The three names of each fact, and what qualifies it."""
    row: tuple[str, ...] = ()
    said: dict[str, str] = {}
    for ends, field, column in _fields(path, ("START_ID", "TYPE", "END_ID"), always=True):
        if column.type == "START_ID":
            if row:
                yield (row[0], row[1], row[2]), said
            row, said = ends, {}
        elif column.name in QUALIFIERS and field:
            said[column.name] = field
    if row:
        yield (row[0], row[1], row[2]), said


def _fields(path: Path, wanted: tuple[str, ...], always: bool = False) -> Iterator[tuple[tuple[str, ...], str, Column]]:
    """Each field of each row that says something, with the fields of the wanted types; with `always` the first too."""
    with open_text(path) as stream:
        columns: list[Column] = []
        for row in rows(Lines(stream, path), ",", True):
            if row.blank:
                continue
            place = Place(path, row.number)
            if not columns:
                columns = [Column.of(heading) for heading in row.fields]
                types = [column.type for column in columns]
                if any(types.count(each) != 1 for each in wanted):
                    raise place.error(
                        expected=f"one column of each of {', '.join(f':{each}' for each in wanted)}", found=row.fields
                    )
                places = [types.index(each) for each in wanted]
                first = columns[places[0]]
                continue
            if len(row.fields) != len(columns):
                raise place.error(expected=f"{len(columns)} comma-separated fields", found=len(row.fields))
            key = tuple(row.fields[each] for each in places)
            if "" in key:
                raise place.error(expected=f"a value for :{wanted[key.index('')]}", found="it empty")
            if always:
                yield key, key[0], first
            for field, column in zip(row.fields, columns, strict=True):
                if field and column.type not in wanted:
                    yield key, field, column
