"""A base as GraphML, written as it is read: nodes with what is known of them, then edges with their relation.

What GraphML has no word for stands in attributes of our own namespace, which other programs pass over: datatypes,
languages and units of values. Relations are described in an attribute of the graph, as JSON.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

from hmem.errors import DataError, shown
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.readers.graphml import ABOUT_RELATIONS, DATATYPES, OWN
from hmem.graph.values import Value
from hmem.knowledge.store.database import KINDS
from hmem.knowledge.store.store import Store

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOST_KEPT = 1 << 16  # names as they are written
_NUMBERS = ("confidence", "probability")
_TYPES = {datatype: name for name, datatype in DATATYPES.items() if name not in ("int", "float")}
Sort = tuple[str, str, str | None, str | None]  # property, datatype, language, unit


def graphml(store: Store, as_of: datetime | int | None = None) -> Iterator[str]:
    """The text of the file, piece by piece; what things are called is that of now."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:hmem="{OWN}">\n'
    for name in ("label", "alias", "kind", "description"):
        yield _key(name, "node", name)
    yield _key("relation", "edge", "relation")
    for name in QUALIFIERS:
        yield _key(name, "edge", name, "double" if name in _NUMBERS else "string")
    yield _key("relations", "graph", ABOUT_RELATIONS)
    sorts = _sorts(store, as_of)
    for number, ((name, *own), kind) in enumerate(sorts.items()):
        words = zip(("datatype", "language", "unit"), own, strict=True)
        more = "".join(f" hmem:{word}={_attribute(text)}" for word, text in words if text is not None)
        yield _key(f"v{number}", "node", name, kind, more)
    yield '<graph id="facts" edgedefault="directed">\n'
    yield f"{_data('relations', json.dumps(_relations(store), ensure_ascii=False))}\n"
    yield from _nodes(store, as_of, {sort: f"v{number}" for number, sort in enumerate(sorts)})
    for (head, relation, tail), said in store.facts(as_of):
        about = "".join(_data(name, str(value)) for name, value in said.items())
        named = _data("relation", relation)
        yield f"<edge source={_attribute(head)} target={_attribute(tail)}>{named}{about}</edge>\n"
    yield "</graph>\n</graphml>\n"


def _nodes(store: Store, as_of: datetime | int | None, keys: dict[Sort, str]) -> Iterator[str]:
    values = store.values.by_entity(as_of)
    for each in store.naming.entities(as_of):
        said = [("label", each.label), *(("alias", alias) for alias in each.aliases)]
        said += [("kind", each.kind), ("description", each.description)]
        data = "".join(_data(key, text) for key, text in said if text is not None)
        own = values.get(each.id, ())
        data += "".join(_data(keys[_sort(one.property, one.as_value())], one.text) for one in own)
        yield f"<node id={_attribute(each.id)}>{data}</node>\n"


def _relations(store: Store) -> list[dict[str, object]]:
    """What relations and properties are called."""
    found: list[dict[str, object]] = []
    for kind in KINDS[1:]:
        for each in store.naming.every(kind):
            said: dict[str, object] = {"label": each.label, "aliases": each.aliases, "description": each.description}
            said["inverse"] = each.inverse
            found.append({"id": each.id, **{field: text for field, text in said.items() if text}})
    return found


def _sorts(store: Store, as_of: datetime | int | None) -> dict[Sort, str]:
    """Which attributes the values need, and of which type: a number only if all of them are."""
    found: dict[Sort, str] = {}
    for each in store.values.listing(as_of=as_of):
        value = each.as_value()
        sort, kind = _sort(each.property, value), _TYPES.get(value.datatype, "string")
        is_sound = value.family in ("number", "boolean") and value.text == value.text.strip()
        found[sort] = kind if is_sound and found.get(sort, kind) == kind else "string"
    return found


def _sort(name: str, value: Value) -> Sort:
    return name, value.datatype, value.language, value.unit


def _key(key: str, of: str, name: str, kind: str = "string", more: str = "") -> str:
    return f'<key id="{key}" for="{of}" attr.name={_attribute(name)} attr.type="{kind}"{more}/>\n'


def _data(key: str, text: str) -> str:
    return f'<data key="{key}">{escape(_checked(text), {chr(13): "&#13;"})}</data>'


@lru_cache(MOST_KEPT)  # the same names come again and again
def _attribute(text: str) -> str:
    return quoteattr(_checked(text))


def _checked(text: str) -> str:
    if (wrong := _NO_XML.search(text)) is not None:
        problem = f"{shown(ascii(text))} has the character {ascii(wrong[0])[1:-1]} in it, which no XML can have"
        raise DataError(problem, hint="choose another format")
    return text
