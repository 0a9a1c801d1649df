"""Tables of entities beside the facts: labels, aliases, kinds, descriptions and values.

| file | read as |
|---|---|
| TSV, CSV or Parquet with a heading | id, label, kind, description, inverse, aliases with `|` between; in any order |
| the other columns there | values (`hmem.graph.readers.value_columns`) |
| text without a heading | id, label, alias, alias, … as Wikidata's label files are, any number in a row |
| RDF | what it says by rdfs:label, skos:prefLabel, skos:altLabel, rdf:type, schema:description and rdfs:comment |
| the other literals there | values |

Several rows about one id add up. Text that is empty says nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hmem.errors import ConfigError, DataError
from hmem.graph.descriptions import Description, Told, joined
from hmem.graph.readers.compression import bare_path, open_bytes
from hmem.graph.readers.files import Place
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rdf import RDF_FORMATS
from hmem.graph.readers.rdf_descriptions import read_rdf_descriptions
from hmem.graph.readers.rows import rows
from hmem.graph.readers.value_columns import Heading, read_as, recognized
from hmem.graph.values import Said, Value

FIELDS = ("id", "label", "kind", "description", "aliases", "inverse")
SEPARATOR = "|"  # between the aliases in one field
WORDS = {
    **{name: name for name in FIELDS},
    **dict.fromkeys(("entity", "entity_id", "node", "node_id", "identifier", "iri", "uri", "qid", "relation"), "id"),
    **dict.fromkeys(("name", "title", "preflabel", "pref_label", "entity_label"), "label"),
    **dict.fromkeys(("type", "class", "category"), "kind"),
    **dict.fromkeys(("comment", "summary", "definition"), "description"),
    **dict.fromkeys(("alias", "altlabel", "alt_label", "synonyms", "synonym", "also_known_as"), "aliases"),
    **dict.fromkeys(("inverse_label", "inverse_name"), "inverse"),
}
Fields = list[str | None]  # what each column says; None for one that is not read


def read_entities(path: Path, *, columns: Sequence[str] | None = None, languages: Sequence[str] = ("en",)) -> Told:
    """What a file says about entities and relations, one description for each id, and the values of properties.

    `columns` say what stands in the columns of a file without heading, "" where one is not wanted, and
    `population:int` or `height [m]` where values are. Of the languages of an RDF file the first of `languages` gives
    the label, then text without language, then any other.
    """
    format = bare_path(path).suffix.lower().removeprefix(".")
    if format in RDF_FORMATS:
        return read_rdf_descriptions(path, format, languages)
    given = None if columns is None else _given(columns)
    cells = _Cells()
    found = joined(_parquet(path, given, cells) if format == "parquet" else _text(path, format, given, cells))
    if not found:
        raise DataError(path=path, expected="rows that describe entities", found="none")
    return Told(found, cells.values())


class _Cells:
    """What stands in the columns of values, which are looked at as a whole."""

    def __init__(self) -> None:
        self._columns: dict[Heading, list[tuple[str, object, Place]]] = {}

    def take(self, id: str, headings: Sequence[Heading | None], row: Sequence[object], place: Place) -> None:
        """The values of a row; what is empty says nothing."""
        for heading, cell in zip(headings, row, strict=False):
            if heading is not None:
                some = cell if isinstance(cell, list) else [cell.strip() if isinstance(cell, str) else cell]
                column = self._columns.setdefault(heading, [])
                column.extend((id, each, place) for each in some if each is not None and each != "")

    def values(self) -> list[Said]:
        return [said for heading, column in self._columns.items() for said in self._of(heading, column)]

    @staticmethod
    def _of(heading: Heading, column: Sequence[tuple[str, object, Place]]) -> Iterator[Said]:
        datatype, unit = heading.datatype, heading.unit
        texts = [each for _, each, _ in column if isinstance(each, str)]
        found = iter(recognized(texts, unit) if datatype is None else [])
        for id, cell, place in column:
            if not isinstance(cell, str):  # of a Parquet file, which has types of its own
                plain = cell if isinstance(cell, bool | int | float | Decimal | date) else str(cell)
                yield id, heading.name, Value.of(plain, unit)
            elif datatype is None:
                yield id, heading.name, next(found)
            else:
                value = read_as(cell, datatype, unit)
                if value is None:
                    raise place.error(expected=f"{datatype} as {heading.name}", found=cell)
                yield id, heading.name, value


def fields_of(names: Sequence[str]) -> Fields | None:
    """What the columns say if `names` read like the heading of a table of entities; each thing is said once."""
    words = [re.sub(r"[\s-]+", "_", name.strip().lstrip("#:").strip().lower()) for name in names]
    exact: Fields = [word if word in FIELDS else None for word in words]
    fields: Fields = [
        own or (meant if (meant := WORDS.get(word)) not in exact else None)
        for own, word in zip(exact, words, strict=True)
    ]
    if "id" not in fields and fields.count("label") == 1:  # the names are the ids
        fields[fields.index("label")] = "id"
    known = [field for field in fields if field is not None]
    others = [name for name, field in zip(names, fields, strict=True) if field is None and name.strip()]
    is_telling = len(known) > 1 or (others and "id" in words) or any(Heading.of(name).is_typed for name in others)
    return fields if "id" in known and is_telling and len(set(known)) == len(known) else None


def _headings(names: Sequence[str], fields: Fields) -> list[Heading | None]:
    """The columns that hold values: those that are nothing else, but for such as pandas makes of its index."""
    return [
        Heading.of(name) if field is None and name.strip() and not name.startswith("__") else None
        for name, field in zip(names, fields, strict=False)
    ]


def _given(columns: Sequence[str]) -> Sequence[str]:
    wrong = next((name for name in columns if name and name not in FIELDS and not Heading.of(name).is_typed), None)
    if wrong is not None or "id" not in columns:
        problem = (
            f"{{option}} says what the columns are: id, and any of {', '.join(FIELDS[1:])}; or a value with its type, "
            "such as population:int"
        )
        raise ConfigError(problem, option="columns", found=tuple(columns))
    return columns


def _columns(given: Sequence[str]) -> tuple[Fields, list[Heading | None]]:
    fields: Fields = [name if name in FIELDS else None for name in given]
    return fields, _headings(given, fields)


def _text(path: Path, format: str, given: Sequence[str] | None, cells: _Cells) -> Iterator[Description]:
    """The rows of delimited text, with quotes in CSV only."""
    delimiter = "," if format == "csv" else "\t"
    fields, headings = (None, []) if given is None else _columns(given)
    with open_text(path) as stream:
        is_first = True
        for row in rows(Lines(stream, path), delimiter, format == "csv"):
            if row.blank:
                continue
            named = fields_of(row.fields) if is_first else None
            is_first = False
            if named is not None:
                if given is None:
                    fields, headings = named, _headings(row.fields, named)
                continue
            place = Place(path, row.number)
            if fields is None:
                yield _label_row(row.fields, place)
            elif len(row.fields) < len(fields):
                raise place.error(expected=f"{len(fields)} fields", found=len(row.fields))
            else:
                said = _described(fields, row.fields, place)
                cells.take(said.id, headings, row.fields, place)
                yield said


def _parquet(path: Path, given: Sequence[str] | None, cells: _Cells) -> Iterator[Description]:
    place = Place(path)
    with open_bytes(path) as stream:
        try:
            table = pq.read_table(stream if stream.seekable() else pa.BufferReader(stream.read()))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise place.error(f"not a sound Parquet file: {' '.join(str(error).split())}") from None
    fields = fields_of(table.column_names) if given is None else _columns(given)[0]
    if fields is None:
        raise place.error(expected=f"a column id, and some of {', '.join(FIELDS[1:])}", found=table.column_names)
    headings = _headings(table.column_names if given is None else given, fields)
    rows_of = zip(*(column.to_pylist() for column in table.columns), strict=True)
    for number, values in enumerate(rows_of):
        texts = [_as_text(value) if field is not None else "" for field, value in zip(fields, values, strict=False)]
        place = Place(path, kind=f"row {number}")
        said = _described(fields, texts, place)
        cells.take(said.id, headings, values, place)
        yield said


def _as_text(value: object) -> str:
    """A value of a table; aliases may be a list there."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return SEPARATOR.join(str(each) for each in value)
    return "" if value is None else str(value)


def _described(fields: Fields, texts: Sequence[str], place: Place) -> Description:
    said = {field: text.strip() for field, text in zip(fields, texts, strict=False) if field is not None}
    if not said["id"]:
        raise place.error(expected="an id", found="it empty")
    aliases = tuple(each.strip() for each in said.pop("aliases", "").split(SEPARATOR) if each.strip())
    ids = texts[fields.index("id")]  # as it is in the facts, blanks and all
    return Description(**{**{field: text or None for field, text in said.items()}, "id": ids}, aliases=aliases)  # type: ignore[arg-type]


def _label_row(texts: Sequence[str], place: Place) -> Description:
    """An id, its label, and what else it is called."""
    if len(texts) < 2 or not texts[0]:
        raise place.error(expected="an id and its label, or a heading such as id, label, kind", found=len(texts))
    names = [text.strip() for text in texts[1:] if text.strip()]
    return Description(id=texts[0], label=names[0] if names else None, aliases=tuple(names[1:]))
