"""Whether a base is sound: everything that must hold in any engine is asked for, and what does not is a sentence."""

import time
from collections.abc import Iterator

from hmem.knowledge.store.database import KINDS, Statements

CLOCKS_DIFFER = 24 * 3600 * 1_000_000  # microseconds by which two computers may disagree about the time
TEXTS = tuple(f"{kind}_text" for kind in KINDS)
FIRST: dict[str, int] = {  # number of a row
    **dict.fromkeys(KINDS, 0),
    **dict.fromkeys(("fact", "moment", "value", *TEXTS), 1),
}
# What is counted, and must be nothing.
COUNTED = {
    "moments at which time runs backwards": """
        SELECT count(*) FROM moment AS one JOIN moment AS next ON next.id = one.id + 1 WHERE next.at <= one.at""",
    "facts that stand after facts that came later": """
        SELECT count(*) FROM fact AS one JOIN fact AS next ON next.id = one.id + 1 WHERE next.added < one.added""",
    "facts that are stored twice": """
        SELECT count(*) FROM (SELECT 1 FROM fact WHERE removed IS NULL
        GROUP BY head, relation, tail HAVING count(*) > 1) AS twice""",
    "facts with a confidence outside 0 to 1, or removed before they were added": """
        SELECT count(*) FROM fact WHERE confidence NOT BETWEEN 0 AND 1 OR removed <= added""",
    "facts with a probability that nobody inferred, or that end before they begin": """
        SELECT count(*) FROM fact WHERE (probability IS NULL) != (inferred_by IS NULL)
        OR probability NOT BETWEEN 0 AND 1 OR valid_until < valid_from""",
    "values that stand after values that came later": """
        SELECT count(*) FROM value AS one JOIN value AS next ON next.id = one.id + 1 WHERE next.added < one.added""",
    "values that are stored twice": """
        SELECT count(*) FROM (SELECT 1 FROM value WHERE removed IS NULL
        GROUP BY entity, property, text, datatype, language, unit HAVING count(*) > 1) AS twice""",
    "values that were removed before they were added": "SELECT count(*) FROM value WHERE removed <= added",
    **{
        f"{kind} descriptions of which one thing is said twice": f"""
        SELECT count(*) FROM (SELECT 1 FROM {kind}_text WHERE removed IS NULL AND field != 'alias'
        GROUP BY {kind}, field HAVING count(*) > 1) AS twice"""
        for kind in KINDS
    },
}


def numbering(db: Statements) -> Iterator[str]:
    for table, first in FIRST.items():
        rows, low, high = db.execute(f"SELECT count(*), min(id), max(id) FROM {table}").fetchone()
        if rows and (low != first or high != first + rows - 1):
            yield f"{rows:,} rows of {table} are numbered {low} to {high}; expected {first} to {first + rows - 1}"


def clock(db: Statements) -> Iterator[str]:
    """A clock that was far ahead once dates every later write after it, since time does not run backwards.

    Where even the first write is later than now, it is the clock of this computer that is wrong.
    """
    now = time.time_ns() // 1000
    (ahead,) = db.execute(
        "SELECT count(*) FROM moment WHERE at > ? AND ? > (SELECT min(at) FROM moment)", (now + CLOCKS_DIFFER, now)
    ).fetchone()
    if ahead:
        yield f"writes that are dated later than now: {ahead:,}; all that follow will be dated after them"
