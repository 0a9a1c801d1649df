"""Whether a base in PostgreSQL is sound: what must hold in any engine, and what its tables do not make sure of."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from hmem.errors import StoreError
from hmem.knowledge.store import integrity, schema
from hmem.knowledge.store.database import KINDS, Connection, Statements
from hmem.knowledge.store.postgres.schema import version_of

TABLES = ("base", "moment", *KINDS, "fact", *integrity.TEXTS, "value", "meta")
REFERENCES: dict[str, dict[str, str]] = {
    "fact": {"head": "entity", "relation": "relation", "tail": "entity"},
    "value": {"entity": "entity", "property": "property"},
    **{f"{kind}_text": {kind: kind} for kind in KINDS},
}
Question = Callable[[Statements], Iterable[str]]


def check(connection: Connection) -> list[str]:
    """The problems found, one sentence each; none for a sound base."""
    counted = (partial(_counted, problem, query) for problem, query in integrity.COUNTED.items())
    questions: list[Question] = [_identity, _indexes, _references, integrity.numbering, integrity.clock, *counted]
    problems: list[str] = []
    for question in questions:
        try:
            problems += connection.read(lambda db, asked: list(asked(db)), question)
        except StoreError as error:
            problems.append(f"could not be looked into: {error.problem.removeprefix('{path} ')}")
    return problems


def _identity(db: Statements) -> Iterator[str]:
    if (version := version_of(db)) != schema.VERSION:
        yield f"the schema is {version}, this hmem works with {schema.VERSION}"


def _indexes(db: Statements) -> Iterator[str]:
    rows = db.execute(
        """SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
        WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND indisvalid"""
    )
    present = {name for (name,) in rows}
    expected = (name for brought in schema.INDEXES.values() for name in brought)
    yield from (f"the index {name} is missing" for name in expected if name not in present)


def _references(db: Statements) -> Iterator[str]:
    for table, parents in REFERENCES.items():
        for column, parent in {**parents, "added": "moment", "removed": "moment"}.items():
            (found,) = db.execute(
                f"""SELECT count(*) FROM {table} AS child LEFT JOIN {parent} AS parent ON parent.id = child.{column}
                WHERE child.{column} IS NOT NULL AND parent.id IS NULL"""
            ).fetchone()
            if found:
                yield f"rows of {table} that point to nothing in the table {parent}: {found:,}"


def _counted(problem: str, query: str, db: Statements) -> Iterator[str]:
    (found,) = db.execute(query).fetchone()
    if found:
        yield f"{problem}: {found:,}"
