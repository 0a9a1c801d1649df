"""What entities and relations are called and what they are: kept with its history, and found by any of its names.

A name that is typed is an id, or else a label, or else an alias; only if it is none of these does case not count. Every
function here is called inside one transaction.
"""

from collections.abc import Iterable, Iterator, Sequence

from hmem.errors import AmbiguousNameError, shown
from hmem.graph.descriptions import Description, fold
from hmem.graph.name_search import closest
from hmem.graph.names import unknown_name
from hmem.knowledge.store.database import Database, Kind
from hmem.knowledge.store.errors import DamageError
from hmem.knowledge.store.read import find_id, has_rows, last_row, names

FOUND_BY = ("label", "alias")  # in the order in which they count
MOST_CHOICES = 5  # that an error lists
AT_ONCE = 500  # rows that one statement asks for


def number_of(db: Database, kind: Kind, name: str) -> int | None:
    """The number of what has this name as its id, its label or an alias; None for nothing.

    A name that several have alike is an AmbiguousNameError. An id of which nothing is said any more is no longer its
    own if another has it as an alias: so what it was merged into, or renamed, is found by it.
    """
    own = find_id(db, kind, name)
    if own is not None and kind == "property":
        return own
    rows = db.execute(
        f"SELECT {kind}, field, text FROM {kind}_text WHERE folded = ? AND removed IS NULL ORDER BY {kind}",
        (fold(name),),
    ).fetchall()
    if own is not None and (all(number == own for number, *_ in rows) or not is_bare(db, kind, own)):
        return own
    for same_case in (True, False):
        for field in FOUND_BY:
            of_field = {number for number, what, text in rows if what == field and (not same_case or text == name)}
            if len(of_field) == 1:
                return int(of_field.pop())
            if of_field:
                raise _ambiguous(db, kind, name, sorted(of_field))
    return own


def is_bare(db: Database, kind: Kind, number: int) -> bool:
    """Whether nothing at all is said of an entity or with a relation at present."""
    places = [("fact", "relation"), ("relation_text", "relation")]
    if kind == "entity":
        places = [("fact", "head"), ("fact", "tail"), ("value", "entity"), ("entity_text", "entity")]
    return not any(has_rows(db, table, f"{column} = ? AND removed IS NULL", (number,)) for table, column in places)


def id_of(db: Database, kind: Kind, name: str) -> int:
    """The number of a name, or an UnknownNameError with the closest ones."""
    found = number_of(db, kind, name)
    if found is None:
        raise unknown_name(kind, name, closest(name, [*names(db, kind), *called(db, kind)]))
    return found


def called(db: Database, kind: Kind) -> list[str]:
    """All labels and aliases."""
    rows = db.execute(f"SELECT text FROM {kind}_text WHERE folded IS NOT NULL AND removed IS NULL ORDER BY id")
    return list(dict.fromkeys(text for (text,) in rows))


def description(db: Database, kind: Kind, number: int) -> Description:
    """All that is said of one thing at present."""
    (found,) = descriptions(db, kind, [number])
    return found


def descriptions(db: Database, kind: Kind, numbers: Sequence[int]) -> Iterator[Description]:
    """All that is said of some things, in the order given."""
    for start in range(0, len(numbers), AT_ONCE):
        some = numbers[start : start + AT_ONCE]
        said: dict[int, dict[str, list[str]]] = {number: {} for number in some}
        marks = ", ".join("?" * len(some))
        rows = db.execute(
            f"SELECT {kind}, field, text FROM {kind}_text WHERE {kind} IN ({marks}) AND removed IS NULL ORDER BY id",
            some,
        )
        for number, field, text in rows:
            said[number].setdefault(field, []).append(text)
        ids = dict(db.execute(f"SELECT id, name FROM {kind} WHERE id IN ({marks})", some).fetchall())
        yield from (_described(ids, number, said[number]) for number in some)


def labels(db: Database, kind: Kind, ids: Iterable[str]) -> dict[str, str]:
    """The labels of those that have one which differs from the id."""
    if not has_rows(db, f"{kind}_text"):
        return {}
    asked = f"""SELECT text FROM {kind}_text WHERE {kind} = (SELECT id FROM {kind} WHERE name = ?)
        AND field = 'label' AND removed IS NULL"""
    found = {each: db.execute(asked, (each,)).fetchone() for each in dict.fromkeys(ids)}
    return {each: row[0] for each, row in found.items() if row is not None and row[0] != each}


def kinds(db: Database) -> dict[str, int]:
    """The kinds of entities, and how many there are of each, the most frequent first."""
    rows = db.execute(
        """SELECT text, count(*) FROM entity_text WHERE field = 'kind' AND removed IS NULL
        GROUP BY text ORDER BY 2 DESC, 1"""
    )
    return {str(kind): int(count) for kind, count in rows}


def kinds_of(db: Database) -> list[tuple[int, str]]:
    """The entities that have a kind, by number, and the kind of each."""
    return db.execute("SELECT entity, text FROM entity_text WHERE field = 'kind' AND removed IS NULL").fetchall()


def changed_since(db: Database, kind: Kind, moment: int) -> list[int]:
    """The numbers of those of which something else is said now than at a moment."""
    seen = last_row(db, f"{kind}_text", moment)
    rows = db.execute(
        f"""SELECT {kind} FROM {kind}_text WHERE id > ? UNION
        SELECT {kind} FROM {kind}_text WHERE removed > ? ORDER BY 1""",
        (seen, moment),
    )
    return [int(number) for (number,) in rows]


def _described(ids: dict[int, str], number: int, said: dict[str, list[str]]) -> Description:
    if number not in ids or any(len(said.get(field, ())) > 1 for field in ("label", "kind", "description", "inverse")):
        raise DamageError("something is said twice of one thing, or of nothing")
    once = {field: texts[0] for field, texts in said.items() if field != "alias"}
    return Description(id=ids[number], aliases=tuple(said.get("alias", ())), **once)


def _ambiguous(db: Database, kind: Kind, name: str, numbers: Sequence[int]) -> AmbiguousNameError:
    """Which of them? Each with its id and kind."""
    some = list(descriptions(db, kind, numbers[:MOST_CHOICES]))
    choices = [each.id if each.kind is None else f"{each.id} ({each.kind})" for each in some]
    more = f" and {len(numbers) - len(some):,} more" if len(numbers) > len(some) else ""
    problem = f'"{shown(name)}" is the name of {len(numbers):,} {_plural(kind)}: {", ".join(choices)}{more}'
    ids = [each.id for each in some]
    return AmbiguousNameError(problem, option=kind, found=name, hint="say which by its id", choices=ids)


def _plural(kind: Kind) -> str:
    return {"entity": "entities", "relation": "relations", "property": "properties"}[kind]
