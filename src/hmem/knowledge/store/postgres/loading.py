"""Many facts at once into PostgreSQL."""

from itertools import chain, repeat

import numpy as np
from jaxtyping import Bool

from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import Triples, is_among
from hmem.knowledge.store.database import Database, Progress
from hmem.knowledge.store.read import last_fact, last_moment, triples
from hmem.knowledge.store.write import END_FACT, new_moment, superseded

ROWS_AT_ONCE = 50_000
MANY_TO_ANALYZE = 50_000  # new rows after which what the planner knows is out of date
LOOK_UP = 4  # times as many stored facts are read in the time of one look-up (measured at a million facts)
COLUMNS = ("id", "head", "relation", "tail", "added")
STORED = """
    SELECT place FROM unnest(?::int[], ?::int[], ?::int[]) WITH ORDINALITY AS asked (head, relation, tail, place)
    JOIN fact USING (head, relation, tail) WHERE removed IS NULL
"""


def insert_facts(
    db: Database, facts: Triples, qualifiers: Qualifiers, source: str | None, progress: Progress | None
) -> tuple[Triples, int]:
    """Store the facts that are not there yet; see `Database.insert_facts`."""
    gone, anew = superseded(db, facts, qualifiers)
    is_new = ~_is_stored(db, facts) | is_among(facts, anew)
    new, said = facts[is_new], qualifiers.select(is_new)
    if len(new):
        moment, first = new_moment(db, source), last_fact(db) + 1
        db.executemany(END_FACT, zip(repeat(moment), gone, strict=False))
    else:
        moment = last_moment(db)
    columns = (*COLUMNS, *(name for name in QUALIFIERS if name in said.columns))
    for start in range(0, len(new), ROWS_AT_ONCE):
        some = new[start : start + ROWS_AT_ONCE]
        numbers = range(first + start, first + start + len(some))
        of_some = zip(QUALIFIERS, said.lists(start, start + ROWS_AT_ONCE), strict=True)
        given = [values for name, values in of_some if name in said.columns]
        db.load("fact", columns, zip(numbers, *some.T.tolist(), repeat(moment), *given, strict=False))
        if progress is not None:
            progress(len(facts) - len(new) + start + len(some), len(facts))
    if progress is not None and not len(new):
        progress(len(facts), len(facts))
    if len(new) >= MANY_TO_ANALYZE:
        db.execute("ANALYZE fact, entity")
    return new, moment


def _is_stored(db: Database, facts: Triples) -> Bool[np.ndarray, " n"]:
    """Which of some facts are there now: looked up, or among all that are there."""
    if len(facts) * LOOK_UP >= last_fact(db):
        return is_among(facts, triples(db))
    found = np.zeros(len(facts), dtype=bool)
    for start in range(0, len(facts), ROWS_AT_ONCE):
        rows = db.execute(STORED, facts[start : start + ROWS_AT_ONCE].T.tolist())
        found[[start + place - 1 for place in chain.from_iterable(rows)]] = True
    return found
