"""Whether a file is sound: everything that must hold is checked, and what does not hold becomes a sentence."""

import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from hmem.knowledge.store import schema
from hmem.knowledge.store.records import to_microseconds

CLOCKS_DIFFER = 24 * 3600 * 1_000_000  # microseconds by which two computers may disagree about the time
MOST_LINES = 20  # of one kind; a badly damaged file has thousands
NUMBERED_FROM_1 = ("fact", "moment", "value", "entity_text", "relation_text", "property_text")
NUMBERED_FROM_0 = ("entity", "relation", "property")
SOUND_ROWS = {
    "entity": "typeof(name) = 'text'",
    "relation": "typeof(name) = 'text'",
    "property": "typeof(name) = 'text'",
    "meta": "typeof(key) = 'text' AND typeof(value) = 'text'",
    "moment": f"typeof(at) = 'integer' AND at BETWEEN 0 AND {to_microseconds(datetime.max.replace(tzinfo=UTC))}"
    " AND typeof(source) IN ('text', 'null')",
    "fact": "typeof(head) = 'integer' AND typeof(relation) = 'integer' AND typeof(tail) = 'integer'"
    " AND typeof(added) = 'integer' AND typeof(removed) IN ('integer', 'null')"
    " AND typeof(confidence) IN ('real', 'null') AND typeof(probability) IN ('real', 'null')"
    " AND typeof(valid_from) IN ('integer', 'null') AND typeof(valid_until) IN ('integer', 'null')"
    " AND typeof(inferred_by) IN ('text', 'null')",
    "value": "typeof(entity) = 'integer' AND typeof(property) = 'integer' AND typeof(text) = 'text'"
    " AND typeof(datatype) = 'text' AND typeof(language) IN ('text', 'null') AND typeof(unit) IN ('text', 'null')"
    " AND typeof(number) IN ('real', 'null') AND typeof(added) = 'integer' AND typeof(removed) IN ('integer', 'null')",
    **{
        f"{kind}_text": f"typeof({kind}) = 'integer' AND field IN ({fields}) AND typeof(text) = 'text'"
        " AND typeof(folded) IN ('text', 'null') AND typeof(added) = 'integer'"
        " AND typeof(removed) IN ('integer', 'null')"
        for kind, fields in (
            ("entity", "'label', 'alias', 'kind', 'description'"),
            ("relation", "'label', 'alias', 'inverse', 'description'"),
            ("property", "'label', 'alias', 'description'"),
        )
    },
}
# What is counted, and must be nothing. The table of facts itself is read, not the index that should keep each once.
COUNTED = {
    "moments at which time runs backwards": """
        SELECT count(*) FROM moment AS one JOIN moment AS next ON next.id = one.id + 1 WHERE next.at <= one.at""",
    "facts that stand after facts that came later": """
        SELECT count(*) FROM fact AS one JOIN fact AS next ON next.id = one.id + 1 WHERE next.added < one.added""",
    "facts that are stored twice": """
        SELECT count(*) FROM (SELECT 1 FROM main.fact NOT INDEXED WHERE removed IS NULL
        GROUP BY head, relation, tail HAVING count(*) > 1)""",
    "facts with a confidence outside 0 to 1, or removed before they were added": """
        SELECT count(*) FROM fact WHERE confidence NOT BETWEEN 0 AND 1 OR removed <= added""",
    "facts with a probability that nobody inferred, or that end before they begin": """
        SELECT count(*) FROM fact WHERE (probability IS NULL) != (inferred_by IS NULL)
        OR probability NOT BETWEEN 0 AND 1 OR valid_until < valid_from""",
    "values that stand after values that came later": """
        SELECT count(*) FROM value AS one JOIN value AS next ON next.id = one.id + 1 WHERE next.added < one.added""",
    "values that are stored twice": """
        SELECT count(*) FROM (SELECT 1 FROM value WHERE removed IS NULL
        GROUP BY entity, property, text, datatype, language, unit HAVING count(*) > 1)""",
    "values that were removed before they were added": "SELECT count(*) FROM value WHERE removed <= added",
    **{
        f"{kind} descriptions of which one thing is said twice": f"""
        SELECT count(*) FROM (SELECT 1 FROM {kind}_text WHERE removed IS NULL AND field != 'alias'
        GROUP BY {kind}, field HAVING count(*) > 1)"""
        for kind in NUMBERED_FROM_0
    },
    **{
        f"rows of {table} with values of a wrong kind": f"SELECT count(*) FROM {table} WHERE NOT ({condition})"
        for table, condition in SOUND_ROWS.items()  # SQLite lets every column hold anything
    },
}


def check(db: sqlite3.Connection) -> list[str]:
    """The problems found, one sentence each; none for a sound file."""
    problems: list[str] = []
    for question in (_pages, _identity, _indexes, _references, _numbering, _clock, _counts):
        try:
            problems += question(db)
        except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError, MemoryError) as error:  # damage hides the answer
            problems.append(f"could not look into {question.__name__.strip('_')}: {error}")
    return problems


def _pages(db: sqlite3.Connection) -> Iterator[str]:
    """SQLite's own examination of every page and of every index against its table."""
    for (line,) in db.execute(f"PRAGMA integrity_check({MOST_LINES})"):
        if line != "ok":
            yield f"damaged: {' '.join(line.split())}"  # the first has a heading on a line of its own


def _identity(db: sqlite3.Connection) -> Iterator[str]:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != schema.APPLICATION_ID:
        yield f"the application id is {application}, not that of hmem ({schema.APPLICATION_ID})"
    version = schema.version_of(db)
    if version != schema.VERSION and version not in schema.READING:  # an older one that is read as it is
        yield f"the schema is {version}, this hmem works with {schema.VERSION}"


def _indexes(db: sqlite3.Connection) -> Iterator[str]:
    present = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    version = schema.version_of(db)
    expected = (name for since, brought in schema.INDEXES.items() if since <= version for name in brought)
    yield from (f"the index {name} is missing" for name in expected if name not in present)


def _references(db: sqlite3.Connection) -> Iterator[str]:
    for table, row, parent, _ in db.execute("PRAGMA foreign_key_check").fetchmany(MOST_LINES):
        yield f"{table} {row} points to nothing in the table {parent}"


def _numbering(db: sqlite3.Connection) -> Iterator[str]:
    for table, first in (*((name, 0) for name in NUMBERED_FROM_0), *((name, 1) for name in NUMBERED_FROM_1)):
        rows, low, high = db.execute(f"SELECT count(*), min(id), max(id) FROM {table}").fetchone()
        if rows and (low != first or high != first + rows - 1):
            yield f"{rows:,} rows of {table} are numbered {low} to {high}; expected {first} to {first + rows - 1}"


def _clock(db: sqlite3.Connection) -> Iterator[str]:
    """A clock that was far ahead once dates every later write after it, since time does not run backwards.

    Where even the first write is later than now, it is the clock of this computer that is wrong.
    """
    now = time.time_ns() // 1000
    (ahead,) = db.execute(
        "SELECT count(*) FROM moment WHERE at > ? AND ? > (SELECT min(at) FROM moment)", (now + CLOCKS_DIFFER, now)
    ).fetchone()
    if ahead:
        yield f"writes that are dated later than now: {ahead:,}; all that follow will be dated after them"


def _counts(db: sqlite3.Connection) -> Iterator[str]:
    for problem, query in COUNTED.items():
        try:
            (found,) = db.execute(query).fetchone()
        except sqlite3.DatabaseError as error:  # damage hides the answer
            yield f"could not look for {problem}: {error}"
        else:
            if found:
                yield f"{problem}: {found:,}"
