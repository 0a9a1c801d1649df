"""The tables of a knowledge base, and how older ones become newer ones: in the words of SQLite.

What PostgreSQL says otherwise is in `hmem.knowledge.store.postgres.schema`.

Every write makes one row in `moment`: its time and its source. A fact points to the moment that added it and,
once it is removed, to the one that removed it. Rows are never deleted, so the file is its own history, and "the facts
as of moment m" are those with added <= m and no removal up to m.

    moment 1 --- "import" ---+--> fact (dog, hypernym, canine)
    moment 2 --- "me" -------+--> fact (wolf, hypernym, dog)   <--+
    moment 3 --- "me" --------------------------------------------+   removed

The name of an entity or a relation in the facts is its id, which never changes. What else is said of it is one row of
`entity_text` or `relation_text` each: its label, its aliases, its kind, a description, how a relation reads the other
way round. These rows come and go with moments as facts do.

What is said of an entity that is no fact about another, such as a number, a date or a text, is one row of `value` for
each value of a property: as it was written, with a number to compare it by where there is one. Properties have names
as entities and relations do, and the rows of values come and go as facts do.

A fact has two times that must not be confused: `added` and `removed` say when the file was told, `valid_from` and
`valid_until` when the fact held in the world, as whole days since 1970, both included. A fact with `inferred_by` is
what a model concluded, with its probability; all others were asserted.

Entities, relations and properties are numbered from 0, all other rows from 1, without gaps and in order of arrival.
"""

from hmem.errors import Place, StoreError

VERSION = 3

# What was new in version 2, as old files are given it.
NEW_COLUMNS = (
    "valid_from INTEGER",
    "valid_until INTEGER CHECK (valid_until >= valid_from)",
    "inferred_by TEXT",
    "probability REAL CHECK (probability BETWEEN 0 AND 1)",
)


def _text_table(kind: str) -> str:
    return f"""CREATE TABLE {kind}_text (
        id INTEGER PRIMARY KEY,
        {kind} INTEGER NOT NULL REFERENCES {kind},
        field TEXT NOT NULL,
        text TEXT NOT NULL,
        folded TEXT,
        added INTEGER NOT NULL REFERENCES moment,
        removed INTEGER REFERENCES moment CHECK (removed > added)
    )"""


def _text_indexes(kind: str) -> dict[str, str]:
    """A text is found by its letters without case."""
    return {
        f"{kind}_text_once": f"CREATE UNIQUE INDEX {kind}_text_once ON {kind}_text"
        f" ({kind}, field, text, ifnull(removed, 0))",
        f"{kind}_text_found": f"CREATE INDEX {kind}_text_found ON {kind}_text (folded)"
        " WHERE folded IS NOT NULL AND removed IS NULL",
        f"{kind}_text_removed": f"CREATE INDEX {kind}_text_removed ON {kind}_text (removed) WHERE removed IS NOT NULL",
    }


TEXT_TABLES = tuple(map(_text_table, ("entity", "relation")))
# What was new in version 3. A text may be long, so that it stands in no index.
VALUE_TABLES = (
    "CREATE TABLE property (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    _text_table("property"),
    """CREATE TABLE value (
        id INTEGER PRIMARY KEY,
        entity INTEGER NOT NULL REFERENCES entity,
        property INTEGER NOT NULL REFERENCES property,
        text TEXT NOT NULL,
        datatype TEXT NOT NULL,
        language TEXT,
        unit TEXT,
        number REAL,
        added INTEGER NOT NULL REFERENCES moment,
        removed INTEGER REFERENCES moment CHECK (removed > added)
    )""",
)

# One index serves uniqueness, listing by head and the history: 0 stands for "not removed", so that a fact can be
# current only once, while its removed forms differ in the moment of removal.
TABLES = (
    "CREATE TABLE moment (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, source TEXT)",
    "CREATE TABLE entity (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE relation (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE fact (
        id INTEGER PRIMARY KEY,
        head INTEGER NOT NULL REFERENCES entity,
        relation INTEGER NOT NULL REFERENCES relation,
        tail INTEGER NOT NULL REFERENCES entity,
        added INTEGER NOT NULL REFERENCES moment,
        confidence REAL CHECK (confidence BETWEEN 0 AND 1),
        removed INTEGER REFERENCES moment CHECK (removed > added),
        COLUMNS
    )""".replace("COLUMNS", ",\n        ".join(NEW_COLUMNS)),
    *TEXT_TABLES,
    *VALUE_TABLES,
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)
FACT_INDEXES = {
    "fact_once": "CREATE UNIQUE INDEX fact_once ON fact (head, relation, tail, ifnull(removed, 0))",
    "fact_by_tail": "CREATE INDEX fact_by_tail ON fact (tail, relation)",
    "fact_removed": "CREATE INDEX fact_removed ON fact (removed) WHERE removed IS NOT NULL",
}
# Few facts are inferred, so that this index costs others nothing.
TEXT_INDEXES = {
    "fact_inferred": "CREATE INDEX fact_inferred ON fact (inferred_by) WHERE inferred_by IS NOT NULL",
    **_text_indexes("entity"),
    **_text_indexes("relation"),
}
VALUE_INDEXES = {
    **_text_indexes("property"),
    "value_of_entity": "CREATE INDEX value_of_entity ON value (entity, property)",
    "value_of_property": "CREATE INDEX value_of_property ON value (property)",
    "value_removed": "CREATE INDEX value_removed ON value (removed) WHERE removed IS NOT NULL",
}
# INDEXES[v] are those that version v brought.
INDEXES = {1: FACT_INDEXES, 2: TEXT_INDEXES, 3: VALUE_INDEXES}

STATEMENTS = (*TABLES, *(statement for brought in INDEXES.values() for statement in brought.values()))  # of a new base

# MIGRATIONS[v] are the statements that make a base of schema v one of schema v + 1.
MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (*(f"ALTER TABLE fact ADD COLUMN {column}" for column in NEW_COLUMNS), *TEXT_TABLES, *TEXT_INDEXES.values()),
    2: (*VALUE_TABLES, *VALUE_INDEXES.values()),
}


def refuse_later(version: int, place: Place) -> None:
    if version > VERSION:
        problem = f"{{path}} has schema {version}, this hmem knows up to {VERSION}"
        raise StoreError(problem, path=place, found=version, expected=str(VERSION), hint="upgrade hmem to use it")


def unread(version: int, place: Place) -> StoreError:
    """That a base is older than what can be read as it is."""
    problem = f"{{path}} has schema {version}, this hmem works with {VERSION}"
    hint = "open it once for writing to bring it up to date"
    return StoreError(problem, path=place, found=version, expected=str(VERSION), hint=hint)


def migration(version: int, place: Place) -> tuple[str, ...]:
    """The statements that bring a base to the next schema."""
    if version not in MIGRATIONS:
        raise StoreError(f"{{path}} has schema {version}, which this hmem cannot bring to {VERSION}", path=place)
    return MIGRATIONS[version]
