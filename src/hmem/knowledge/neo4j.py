"""A base as the two CSV files that `neo4j-admin database import` takes: nodes and relationships.

    neo4j-admin database import full --nodes=nodes.csv --relationships=relationships.csv

Lists are split at semicolons there, and a semicolon in a text cannot be told from one.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain

from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.readers.neo4j import BETWEEN, TYPES
from hmem.knowledge.store.store import Store

_TYPES = {"confidence": "double", "probability": "double", "valid_from": "date", "valid_until": "date"}


def nodes(store: Store, as_of: datetime | int | None = None) -> Iterator[str]:
    """The rows of entities; what they are called is that of now."""
    types: dict[str, str] = {}
    values = store.values.by_entity(as_of)
    for value in chain.from_iterable(values.values()):
        kind = TYPES.get(value.datatype, "string")
        types[value.property] = kind if types.get(value.property, kind) == kind else "string"
    yield _row(
        [":ID", ":LABEL", "label:string", "aliases:string[]", "description:string"]
        + [f"{name}:{kind}[]" for name, kind in types.items()]
    )
    for each in store.naming.entities(as_of):
        said: dict[str, list[str]] = {}
        for value in values.get(each.id, ()):
            said.setdefault(value.property, []).append(value.text)
        own = [each.id, each.kind or "", each.label or "", BETWEEN.join(each.aliases), each.description or ""]
        yield _row([*own, *(BETWEEN.join(said.get(name, ())) for name in types)])


def relationships(store: Store, as_of: datetime | int | None = None) -> Iterator[str]:
    """The rows of facts."""
    yield _row([":START_ID", ":END_ID", ":TYPE", *(f"{name}:{_TYPES.get(name, 'string')}" for name in QUALIFIERS)])
    for (head, relation, tail), said in store.facts(as_of):
        yield _row([head, tail, relation, *(str(said.get(name, "")) for name in QUALIFIERS)])


def _row(fields: Sequence[str]) -> str:
    """A line of RFC 4180. Line breaks may stand in quotes; a field that is empty is nothing."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(fields)
    return text.getvalue()
