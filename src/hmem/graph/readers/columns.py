"""Which columns of a table are the head, the relation and the tail, and which say when a fact held and how surely."""

import re
from collections.abc import Sequence

from hmem.errors import ConfigError, Hint
from hmem.graph.name_search import closest
from hmem.graph.readers.files import Place

# The columns of the head, the relation and the tail, each by name or by position counted from 0; behind them, if they
# are to be read, those of the first and of the last day.
Columns = Sequence[str | int]
Positions = tuple[int, int, int]

CHOOSE_COLUMNS = Hint(
    text="name the three to read, for instance",
    option="columns",
    value=(0, 1, 2),
    command="hmem facts import KB FILE --columns 0,1,2, or, if a row is all about one entity, --format wide",
)

_ENDS = {
    "head": "tail",
    "subject": "object",
    "source": "target",
    "from": "to",
    "start": "end",
    "src": "dst",
    "subj": "obj",
    "lhs": "rhs",
    "entity1": "entity2",
    "entity_1": "entity_2",
    "node1": "node2",
    "e1": "e2",
}
_RELATIONS = ("relation", "predicate")  # either wins over the other words
_OTHER_RELATIONS = ("rel", "pred", "relationship", "property", "edge", "link", "verb", "interaction", "label", "type")
_ADDITION = re.compile(r"(?<=.)_(id|name|entity|node|type|label)$")  # head_id is a head
_QUALIFIERS = {  # by the words that name them, the clearest first
    "valid_from": ("valid_from", "valid_since", "start_date", "start_time", "begin_date", "from_date", "since"),
    "valid_until": ("valid_until", "valid_to", "end_date", "end_time", "until_date", "to_date", "until"),
    "confidence": ("confidence",),
    "inferred_by": ("inferred_by",),
    "probability": ("probability",),
}
_INITIALS = (("h", "r", "t"), ("s", "p", "o"))


RELATIONS = (*_RELATIONS, *_OTHER_RELATIONS)  # the first of them that there is


def check_columns(columns: Columns) -> None:
    """Refuse, before any file is opened, what can never name three columns, and perhaps those of two days."""
    if isinstance(columns, str) or not 3 <= len(columns) <= 5 or len(set(columns)) != len(columns):
        raise _refuse("must name three different columns: the head, the relation, the tail", columns)
    if any(isinstance(column, int) and column < 0 for column in columns):
        raise _refuse("must count the columns from 0", columns)


def heading(names: Sequence[str]) -> Positions | None:
    """Where the head, the relation and the tail stand, if `names` read like the heading of a table of triples.

    These are, in any case and any order: head/tail, subject/object, source/target, from/to and the like together with
    relation, predicate, type and the like; h/r/t; s/p/o; and of three columns any with relation or predicate in the
    middle. Other columns may stand between them. Two candidates for one place are no heading, save that relation and
    predicate win over the vaguer words, and head over head_id.
    """
    words = _words(names)
    if len(set(words)) == 3 == len(words) and words[1] in _RELATIONS:
        return _heading(words) or (0, 1, 2)
    return _heading(words) or _heading([_ADDITION.sub("", word) for word in words])


def find_qualifiers(names: Sequence[str] | None, width: int, columns: Columns | None, where: Place) -> dict[str, int]:
    """Where the columns stand that qualify facts: recognized in the heading, or those of days among `columns`.

    What a model inferred is told by both its columns or none: a probability alone may be of anything.
    """
    if columns is not None:
        days = zip(("valid_from", "valid_until"), columns[3:], strict=False)
        return {name: _position(column, names, width, where) for name, column in days}
    if names is None:
        return {}
    words = _words(names)
    present = ((name, [word for word in known if words.count(word) == 1]) for name, known in _QUALIFIERS.items())
    found = {name: words.index(known[0]) for name, known in present if known}
    if not {"inferred_by", "probability"} <= found.keys():
        found = {name: place for name, place in found.items() if name not in ("inferred_by", "probability")}
    return found


def _words(names: Sequence[str]) -> list[str]:
    return [re.sub(r"[\s-]+", "_", name.strip().lstrip("#:").strip().lower()) for name in names]


def _heading(words: list[str]) -> Positions | None:
    found = [three for three in _INITIALS if set(three) <= set(words)]
    ends = [(head, tail) for head, tail in _ENDS.items() if head in words and tail in words]
    relations = [word for word in _RELATIONS if word in words] or [word for word in _OTHER_RELATIONS if word in words]
    if len(relations) == 1:
        found += [(head, relations[0], tail) for head, tail in ends]
    if len(found) != 1 or any(words.count(word) > 1 for word in found[0]):
        return None
    head, relation, tail = found[0]
    return words.index(head), words.index(relation), words.index(tail)


def find_columns(names: Sequence[str] | None, width: int, columns: Columns | None, where: Place) -> Positions | None:
    """The positions of the three columns, or None where only `columns` could tell.

    Without `columns`, the heading decides, or else exactly three columns are taken in their order. `names` is None
    for a table without heading; an error names `where`.
    """
    if columns is None:
        named = heading(names) if names is not None else None
        return named or ((0, 1, 2) if width == 3 else None)
    head, relation, tail = (_position(column, names, width, where) for column in columns[:3])
    if len({head, relation, tail}) < 3:
        raise _refuse("must name three different columns", columns)
    return head, relation, tail


def _position(column: str | int, names: Sequence[str] | None, width: int, where: Place) -> int:
    if isinstance(column, int):
        if column >= width:
            raise where.error(f"no column {column}; there are {width}, counted from 0")
        return column
    if names is None:
        problem = f'{{option}} says that columns have no names, but "{column}" is one; give its position'
        raise ConfigError(problem, option="header", found=False)
    if names.count(column) > 1:
        raise where.error(f'{names.count(column)} columns are named "{column}"; give the position instead')
    if column not in names:
        problem = f'no column "{column}" among {_listed(names)}'
        raise where.error(problem, suggestions=closest(column, names, 1))
    return names.index(column)


def _refuse(problem: str, columns: Columns) -> ConfigError:
    return ConfigError(f"{{option}} {problem}", option="columns", found=columns)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
