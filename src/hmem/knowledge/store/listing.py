"""Facts with their history: source and time of what was added, and of what was removed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hmem.graph.days import Stretch
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.triples import Triples
from hmem.knowledge.store.database import ALL, Connection, Database
from hmem.knowledge.store.evidence import held
from hmem.knowledge.store.read import last_fact
from hmem.knowledge.store.records import FACT, StoredFact, from_row
from hmem.knowledge.store.texts import id_of
from hmem.knowledge.store.validation import check_name

PAGE = 4096

# CROSS JOIN keeps SQLite to this order: the facts first, then their names and moments by number.
SELECT = """
    SELECT fact.id, h.name, r.name, t.name, a.at, a.source, QUALIFIERS, x.at, x.source
    FROM fact CROSS JOIN entity AS h CROSS JOIN relation AS r CROSS JOIN entity AS t CROSS JOIN moment AS a
    LEFT JOIN moment AS x ON x.id = fact.removed
    WHERE h.id = fact.head AND r.id = fact.relation AND t.id = fact.tail AND a.id = fact.added
""".replace("QUALIFIERS", ", ".join(f"fact.{name}" for name in QUALIFIERS))
LATEST_FIRST = "ORDER BY coalesce(fact.removed, fact.added) DESC, fact.id DESC"
LAST_TO_COME_OR_GO = """
    SELECT id FROM (SELECT id FROM fact ORDER BY id DESC LIMIT ?) AS came
    UNION SELECT id FROM (SELECT id FROM fact WHERE removed IS NOT NULL ORDER BY removed DESC, id DESC LIMIT ?) AS went
"""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which facts are asked for: those with the given ends and relation, where None is any, and perhaps of a time."""

    head: int | None = None
    relation: int | None = None
    tail: int | None = None
    at: Stretch | None = None  # held on one of these days
    inferred: bool | None = None  # by a model, or asserted; None for both

    @classmethod
    def find(cls, db: Database, head: str | None, relation: str | None, tail: str | None) -> "Pattern":
        """The same by id, label or alias; a name that is not in the file is an UnknownNameError."""
        return cls(
            None if head is None else id_of(db, "entity", check_name("head", head)),
            None if relation is None else id_of(db, "relation", check_name("relation", relation)),
            None if tail is None else id_of(db, "entity", check_name("tail", tail)),
        )

    def conditions(self) -> tuple[list[str], list[int]]:
        given = {"head": self.head, "relation": self.relation, "tail": self.tail}
        chosen = {column: value for column, value in given.items() if value is not None}
        conditions = [f"fact.{column} = ?" for column in chosen]
        if self.at is not None:
            conditions.append(held(self.at))
        if self.inferred is not None:
            conditions.append(f"fact.inferred_by IS {'NOT ' if self.inferred else ''}NULL")
        return conditions, list(chosen.values())


@dataclass(frozen=True, slots=True)
class Listing:
    """The facts of a pattern as of one moment, to be read page by page.

    Nothing is held between two pages, neither memory nor a lock: what was true at a past moment does not change, so
    the pages fit together whatever is written meanwhile.
    """

    connection: Connection
    pattern: Pattern
    moment: int
    newest_first: bool

    def read(self, limit: int | None, offset: int) -> Iterator[StoredFact]:
        highest = self.connection.read(last_fact, self.moment)
        after = highest + 1 if self.newest_first else 0
        left = highest if limit is None else limit
        while left > 0:
            facts, last = self.connection.read(self._page, highest, after, min(left, PAGE), offset)
            yield from facts
            if len(facts) < PAGE:
                return
            after, left, offset = last, left - len(facts), 0

    def _page(self, db: Database, highest: int, after: int, limit: int, offset: int) -> tuple[list[StoredFact], int]:
        """Some facts behind one, and the number of the last of them."""
        conditions, values = self.pattern.conditions()
        number = "fact.id" if self.pattern.head is None else "+fact.id"  # the plus keeps SQLite to the index by head
        conditions.append(f"{number} <= ? AND (fact.removed IS NULL OR fact.removed > ?)")
        conditions.append(f"{number} {'<' if self.newest_first else '>'} ?")
        order = "DESC" if self.newest_first else "ASC"
        rows = db.execute(
            f"{SELECT} AND {' AND '.join(conditions)} ORDER BY fact.id {order} LIMIT ? OFFSET ?",
            (*values, highest, self.moment, after, limit, offset),
        ).fetchall()
        # As it was at that moment: without a removal that came later.
        return [_stored((*row[:-2], None, None)) for row in rows], rows[-1][0] if rows else after


def history(db: Database, pattern: Pattern, limit: int | None) -> list[StoredFact]:
    """All that ever happened to the facts of a pattern, the latest first."""
    conditions, values = pattern.conditions()
    most = ALL if limit is None else limit
    if conditions or limit is None:
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        latest = f"SELECT id FROM fact {where} {LATEST_FIRST} LIMIT ?"  # names are looked up for these only
    else:  # they are among the last that came and the last that went, which need no search
        latest, values = LAST_TO_COME_OR_GO, [limit]
    rows = db.execute(f"{SELECT} AND fact.id IN ({latest}) {LATEST_FIRST} LIMIT ?", (*values, most, most))
    return [_stored(row) for row in rows]


def details(db: Database, triples: Triples) -> list[StoredFact]:
    """Current facts given by number, in that order, with source and time; those not stored are left out."""
    asked = f"{SELECT} AND fact.head = ? AND fact.relation = ? AND fact.tail = ? AND fact.removed IS NULL"
    found = (db.execute(asked, triple).fetchone() for triple in triples.tolist())
    return [_stored(row) for row in found if row is not None]


def _stored(row: Sequence[Any]) -> StoredFact:
    return from_row(StoredFact, FACT, row[1:])
