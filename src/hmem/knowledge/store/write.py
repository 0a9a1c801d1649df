"""Facts into the file and out of the present, a few at a time.

Every function here is called inside one writing transaction: it does all of its work or none.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from hmem.errors import DataError
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import Triples, as_triples, is_among
from hmem.knowledge.store.database import Database, Kind
from hmem.knowledge.store.errors import DamageError
from hmem.knowledge.store.read import find_id, last_moment
from hmem.knowledge.store.records import Names3, Written, to_date
from hmem.knowledge.store.texts import id_of, number_of

FACT_COLUMNS = ("head", "relation", "tail", "added", *QUALIFIERS)
INSERT_FACT = f"INSERT INTO fact ({', '.join(FACT_COLUMNS)}) VALUES ({', '.join('?' * len(FACT_COLUMNS))})"
INFERRED = list(QUALIFIERS).index("inferred_by")
END_FACT = "UPDATE fact SET removed = ? WHERE id = ?"


def new_moment(db: Database, source: str | None) -> int:
    """The moment of this write. Time never runs backwards, even where the clock does, so "as of" has one answer."""
    match db.execute("SELECT id, at FROM moment ORDER BY id DESC LIMIT 1").fetchone() or (0, 0):
        case (int(last), int(last_at)):
            at = max(time.time_ns() // 1000, last_at + 1)
            db.execute("INSERT INTO moment (id, at, source) VALUES (?, ?, ?)", (last + 1, at, source))
            return last + 1
    raise DamageError("a moment has a time that is none")


class Write:
    """One write, whose moment is made when the first thing changes."""

    def __init__(self, db: Database, source: str | None) -> None:
        self.db, self._source = db, source
        self._moment: int | None = None
        self.before = last_moment(db)  # the moment of the last write before

    def moment(self) -> int:
        if self._moment is None:
            self._moment = new_moment(self.db, self._source)
        return self._moment

    @property
    def last(self) -> int:
        """The moment of this write, or the last one before if nothing was changed."""
        return self.before if self._moment is None else self._moment


def add(db: Database, facts: Sequence[Names3], source: str | None, qualifiers: Qualifiers, by_label: bool) -> Written:
    """Store those facts that are not there; what is there already keeps its source, its times and all else.

    Only what a model inferred is ended, and stored anew in the same moment, when it is asserted or inferred again.
    """
    write, changed, kept = Write(db, source), list[tuple[int, int, int]](), 0
    entities, relations = (Numbering(db, kind, number_of if by_label else find_id) for kind in ("entity", "relation"))
    rows = zip(*qualifiers.lists(0, len(facts)), strict=True)
    for (head, relation, tail), said in zip(facts, rows, strict=True):
        fact = entities.number(head), relations.number(relation), entities.number(tail)
        present = _present(db, fact)
        if present is not None:
            number, added, *is_said = present
            if is_said[INFERRED] is None or added > write.before or list(said) == is_said:
                kept += any(new is not None and new != old for new, old in zip(said, is_said, strict=True))
                continue
        if present is not None:
            db.execute(END_FACT, (write.moment(), number))
        db.execute(INSERT_FACT, (*fact, write.moment(), *said))
        changed.append(fact)
    return Written(
        moment=write.last,
        changed=as_triples(changed),
        unchanged=len(facts) - len(changed),
        kept=kept,
        new_entities=entities.new,
        new_relations=relations.new,
    )


def revise(
    db: Database, facts: Sequence[Names3], source: str | None, qualifiers: Qualifiers, cleared: Sequence[str]
) -> Written:
    """Say other things of stored facts: each that changes is ended and stored anew in one moment.

    What is not given stays, and what is `cleared` is said no more. A name that is not in the file is an
    UnknownNameError, and a fact that is not there is merely counted.
    """
    write, changed = Write(db, source), list[tuple[int, int, int]]()
    rows = zip(*qualifiers.lists(0, len(facts)), strict=True)
    for (head, relation, tail), said in zip(facts, rows, strict=True):
        fact = id_of(db, "entity", head), id_of(db, "relation", relation), id_of(db, "entity", tail)
        present = _present(db, fact)
        if present is None or present[1] > write.before:
            continue
        number, _, *is_said = present
        wanted = [old if new is None else new for new, old in zip(said, is_said, strict=True)]
        wanted = [None if name in cleared else value for name, value in zip(QUALIFIERS, wanted, strict=True)]
        if wanted == is_said:
            continue
        _refuse_backwards(wanted)
        db.execute(END_FACT, (write.moment(), number))
        db.execute(INSERT_FACT, (*fact, write.moment(), *wanted))
        changed.append(fact)
    return Written(moment=write.last, changed=as_triples(changed), unchanged=len(facts) - len(changed))


def withdraw(db: Database, source: str | None, model: str | None, below: float | None) -> Written:
    """End what models inferred: all of it, or that of one model, or what is less likely than `below`."""
    conditions, values = ["inferred_by IS NOT NULL AND removed IS NULL"], list[object]()
    if model is not None:
        conditions.append("(inferred_by = ? OR substr(inferred_by, 1, length(?) + 1) = ? || '@')")
        values += [model] * 3
    if below is not None:
        conditions.append("probability < ?")
        values.append(below)
    chosen = f"SELECT id, head, relation, tail FROM fact WHERE {' AND '.join(conditions)} ORDER BY id"
    rows, write = db.execute(chosen, values).fetchall(), Write(db, source)
    db.executemany(END_FACT, [(write.moment(), row[0]) for row in rows])
    return Written(moment=write.last, changed=as_triples([row[1:] for row in rows]), unchanged=0)


def remove(db: Database, facts: Sequence[Names3], source: str | None) -> Written:
    """End those facts that are there; a name that is not in the file is an UnknownNameError, and nothing is removed."""
    write, changed = Write(db, source), list[tuple[int, int, int]]()
    for head, relation, tail in facts:
        fact = id_of(db, "entity", head), id_of(db, "relation", relation), id_of(db, "entity", tail)
        present = _present(db, fact)
        if present is not None:
            db.execute(END_FACT, (write.moment(), present[0]))
            changed.append(fact)
    return Written(moment=write.last, changed=as_triples(changed), unchanged=len(facts) - len(changed))


def superseded(db: Database, facts: Triples, qualifiers: Qualifiers) -> tuple[list[int], Triples]:
    """What a model inferred and some facts assert, or infer otherwise: the numbers of the rows, and the facts."""
    inferred = db.execute(
        f"SELECT id, head, relation, tail, {', '.join(QUALIFIERS)} FROM fact"
        " WHERE inferred_by IS NOT NULL AND removed IS NULL ORDER BY id"
    ).fetchall()
    again = is_among(facts, as_triples([row[1:4] for row in inferred]))
    given = zip(*qualifiers.select(again).lists(0, len(facts)), strict=True)
    said = dict(zip(map(tuple, facts[again].tolist()), given, strict=True))
    ended = [row for row in inferred if said.get(row[1:4], row[4:]) != row[4:]]
    return [row[0] for row in ended], as_triples([row[1:4] for row in ended])


def set_meta(db: Database, values: dict[str, str | None]) -> None:
    for key, value in values.items():
        if value is None:
            db.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            set_one = (
                "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            )
            db.execute(set_one, (key, value))


Find = Callable[[Database, Kind, str], int | None]


class Numbering:
    """The numbers of the names in one write, and which of them are new."""

    def __init__(self, db: Database, kind: Kind, find: Find = find_id) -> None:
        self._db, self._kind, self._find = db, kind, find
        self._seen: dict[str, int] = {}
        self.new: list[str] = []

    def number(self, name: str) -> int:
        """The number of a name; a new one takes the next. It has something said of it, since that is new too."""
        number = self._seen.get(name)
        if number is None:
            number = self._find(self._db, self._kind, name)
            if number is None:
                (number,) = self._db.execute(f"SELECT coalesce(max(id), -1) + 1 FROM {self._kind}").fetchone()
                self._db.execute(f"INSERT INTO {self._kind} (id, name) VALUES (?, ?)", (number, name))
                self.new.append(name)
            self._seen[name] = number
        return number


def _present(db: Database, fact: tuple[int, int, int]) -> tuple[Any, ...] | None:
    """The number of a current fact, the moment that added it, and its qualifiers."""
    row: tuple[Any, ...] | None = db.execute(
        f"""SELECT id, added, {", ".join(QUALIFIERS)} FROM fact
        WHERE head = ? AND relation = ? AND tail = ? AND removed IS NULL""",
        fact,
    ).fetchone()
    return row


def _refuse_backwards(said: Sequence[Any]) -> None:
    """A DataError if a fact would end before it begins."""
    first, last = said[list(QUALIFIERS).index("valid_from")], said[list(QUALIFIERS).index("valid_until")]
    if first is not None and last is not None and last < first:
        raise DataError(f"it would end on {to_date(last)}, before it begins on {to_date(first)}")
