"""Bases of an older hmem brought to the present schema, all in one transaction."""

from typing import TYPE_CHECKING, Any

from hmem.errors import Hint, StoreError
from hmem.knowledge.store import schema
from hmem.knowledge.store.places import Address
from hmem.knowledge.store.postgres.database import PostgresDatabase
from hmem.knowledge.store.postgres.schema import LOCK, step, version_of
from hmem.knowledge.store.postgres.server import quoted

if TYPE_CHECKING:
    import psycopg

OWN_TABLE = """
    SELECT pg_class.oid FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %s AND relname = 'base' AND relkind = 'r'
"""


def find_own_table(raw: "psycopg.Connection[Any]", name: str) -> int | None:
    """The number that PostgreSQL gave to the table which only a base has, if there is one in a schema."""
    found = raw.execute(OWN_TABLE, (name,)).fetchone()
    return None if found is None else int(found[0])


def own_table(raw: "psycopg.Connection[Any]", address: Address) -> int:
    """The same; a StoreError if there is no base."""
    found = find_own_table(raw, address.schema)
    if found is None:
        make = Hint(text="make one with", command=f"hmem kb create '{address}'")
        raise StoreError("there is no knowledge base {path}", path=address, hint=make)
    return found


def migrate(raw: "psycopg.Connection[Any]", address: Address, table: int, *, read_only: bool) -> None:
    """Bring a base to the present schema. Another process may be doing the same, so it is looked at under the lock."""
    with raw.transaction():
        raw.execute(f"SELECT 1 FROM {quoted(address.schema)}.base")
        raw.execute(f"SET LOCAL search_path TO {quoted(address.schema)}, pg_temp")
        db = PostgresDatabase(raw)
        version = version_of(db)
        schema.refuse_later(version, address)
        if version == schema.VERSION:
            return
        if read_only:
            raise schema.unread(version, address)
        db.execute("SELECT pg_advisory_xact_lock(?)", (LOCK + table,))
        while version_of(db) < schema.VERSION:
            step(db, address)
