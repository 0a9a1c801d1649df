"""Tables of entities beside the facts: labels, aliases, kinds and descriptions.

| file | read as |
|---|---|
| TSV, CSV or Parquet with a heading | id, label, kind, description, inverse, aliases with `|` between; in any order |
| text without a heading | id, label, alias, alias, … as Wikidata's label files are, any number in a row |
| RDF | what it says by rdfs:label, skos:prefLabel, skos:altLabel, rdf:type, schema:description and rdfs:comment |

Several rows about one id add up. Text that is empty says nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hmem.errors import ConfigError, DataError
from hmem.graph.descriptions import Description, joined
from hmem.graph.readers.compression import bare_path, open_bytes
from hmem.graph.readers.files import Place
from hmem.graph.readers.lines import Lines, open_text
from hmem.graph.readers.rdf import RDF_FORMATS
from hmem.graph.readers.rdf_descriptions import read_rdf_descriptions
from hmem.graph.readers.rows import rows

FIELDS = ("id", "label", "kind", "description", "aliases", "inverse")
SEPARATOR = "|"  # between the aliases in one field
_WORDS = {
    **{name: name for name in FIELDS},
    **dict.fromkeys(("entity", "entity_id", "node", "node_id", "identifier", "iri", "uri", "qid", "relation"), "id"),
    **dict.fromkeys(("name", "title", "preflabel", "pref_label", "entity_label"), "label"),
    **dict.fromkeys(("type", "class", "category"), "kind"),
    **dict.fromkeys(("comment", "summary", "definition"), "description"),
    **dict.fromkeys(("alias", "altlabel", "alt_label", "synonyms", "synonym", "also_known_as"), "aliases"),
    **dict.fromkeys(("inverse_label", "inverse_name"), "inverse"),
}
Fields = list[str | None]  # what each column says; None for one that is not read


def read_entities(
    path: Path, *, format: str | None = None, columns: Sequence[str] | None = None, languages: Sequence[str] = ("en",)
) -> list[Description]:
    """What a file says about entities and relations, one row for each id.

    `columns` say what stands in the columns of a file without heading, "" where one is not wanted. Of the languages of
    an RDF file the first of `languages` gives the label, then text without language, then any other.
    """
    format = bare_path(path).suffix.lower().removeprefix(".") if format is None else format
    if format in RDF_FORMATS:
        return read_rdf_descriptions(path, format, languages)
    given = None if columns is None else _given(columns)
    found = joined(_parquet(path, given) if format == "parquet" else _text(path, format, given))
    if not found:
        raise DataError(path=path, expected="rows that describe entities", found="none")
    return found


def fields_of(names: Sequence[str]) -> Fields | None:
    """What the columns say if `names` read like the heading of a table of entities; each thing is said once."""
    words = [re.sub(r"[\s-]+", "_", name.strip().lstrip("#:").strip().lower()) for name in names]
    exact: Fields = [word if word in FIELDS else None for word in words]
    fields: Fields = [
        own or (meant if (meant := _WORDS.get(word)) not in exact else None)
        for own, word in zip(exact, words, strict=True)
    ]
    if "id" not in fields and fields.count("label") == 1:  # the names are the ids
        fields[fields.index("label")] = "id"
    known = [field for field in fields if field is not None]
    is_heading = "id" in known and len(known) > 1 and len(set(known)) == len(known)
    return fields if is_heading else None


def _given(columns: Sequence[str]) -> Fields:
    wrong = next((name for name in columns if name and name not in FIELDS), None)
    if wrong is not None or "id" not in columns:
        problem = f"{{option}} says what the columns are: id, and any of {', '.join(FIELDS[1:])}"
        raise ConfigError(problem, option="columns", found=tuple(columns))
    return [name or None for name in columns]


def _text(path: Path, format: str, given: Fields | None) -> Iterator[Description]:
    """The rows of delimited text, with quotes in CSV only."""
    delimiter = "," if format == "csv" else "\t"
    fields: Fields | None = given
    with open_text(path) as stream:
        is_first = True
        for row in rows(Lines(stream, path), delimiter, format == "csv"):
            if row.blank:
                continue
            named = fields_of(row.fields) if is_first else None
            is_first = False
            if named is not None:
                fields = given or named
                continue
            place = Place(path, row.number)
            if fields is None:
                yield _label_row(row.fields, place)
            elif len(row.fields) < len(fields):
                raise place.error(expected=f"{len(fields)} fields", found=len(row.fields))
            else:
                yield _described(fields, row.fields, place)


def _parquet(path: Path, given: Fields | None) -> Iterator[Description]:
    place = Place(path)
    with open_bytes(path) as stream:
        try:
            table = pq.read_table(stream if stream.seekable() else pa.BufferReader(stream.read()))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise place.error(f"not a sound Parquet file: {' '.join(str(error).split())}") from None
    fields = given or fields_of(table.column_names)
    if fields is None:
        raise place.error(expected=f"a column id, and some of {', '.join(FIELDS[1:])}", found=table.column_names)
    chosen = [(field, column) for field, column in zip(fields, table.columns, strict=False) if field is not None]
    for number, values in enumerate(zip(*(column.to_pylist() for _, column in chosen), strict=True)):
        texts = [_as_text(value) for value in values]
        yield _described([field for field, _ in chosen], texts, Place(path, kind=f"row {number}"))


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
