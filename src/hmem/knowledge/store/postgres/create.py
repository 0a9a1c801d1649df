"""New bases in PostgreSQL, and old ones replaced: in one transaction, and so whole or not at all."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hmem.errors import StoreError
from hmem.knowledge.store.errors import exists_already
from hmem.knowledge.store.places import Address
from hmem.knowledge.store.postgres.connection import PostgresConnection, translated
from hmem.knowledge.store.postgres.database import PostgresDatabase
from hmem.knowledge.store.postgres.integrity import TABLES
from hmem.knowledge.store.postgres.migrate import find_own_table, own_table
from hmem.knowledge.store.postgres.schema import install
from hmem.knowledge.store.postgres.server import Server

if TYPE_CHECKING:
    import psycopg

OTHERS = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = %s AND pid <> pg_backend_pid() LIMIT 1
"""
LEAVING, PAUSE = 2.0, 0.05  # seconds: a session is there for a moment when its process has left


@contextmanager
def built_at_once(address: Address, *, overwrite: bool) -> Iterator[PostgresConnection]:
    """An empty base, to be filled in the block. Others see it, or the end of the old one, when the block has ended."""
    server = Server(address)
    with translated(address), server.connected() as raw, raw.transaction():
        raw.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"hmem {address.schema}",))
        if find_own_table(raw, address.schema) is not None:
            if not overwrite:
                raise exists_already(address)
            _drop(raw, server)
        if raw.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (address.schema,)).fetchone() is None:
            raw.execute(f"CREATE SCHEMA {server.schema}")
        _refuse_other_tables(raw, address)
        raw.execute(server.path)
        for setting in server.durable:
            raw.execute(setting)
        install(PostgresDatabase(raw))
        connection = PostgresConnection(server, own_table(raw, address), read_only=False)
        with connection.holding(raw):
            yield connection


def _drop(raw: "psycopg.Connection[Any]", server: Server) -> None:
    """Take away a base that nobody else has open; what else is in its schema stays."""
    until = time.monotonic() + LEAVING
    while raw.execute(OTHERS, (raw.info.parameter_status("application_name"),)).fetchone() is not None:
        if time.monotonic() > until:
            problem = "{path} is open in this or another process; close it there before overwriting it"
            raise StoreError(problem, path=server.address)
        time.sleep(PAUSE)
        raw.execute("SELECT pg_stat_clear_snapshot()")
    tables = ", ".join(f"{server.schema}.{table}" for table in TABLES)
    raw.execute(f"DROP TABLE {tables} CASCADE")
    for table in TABLES:
        raw.execute(f"DROP FUNCTION IF EXISTS {server.schema}.next_{table}()")


def _refuse_other_tables(raw: "psycopg.Connection[Any]", address: Address) -> None:
    names = "SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s)"
    found = raw.execute(f"{names} AND relname = ANY(%s) LIMIT 1", (address.schema, list(TABLES))).fetchone()
    if found is not None:
        problem = f"{{path}} is a schema with a table {found[0]} of something else"
        raise StoreError(problem, path=address, hint="choose another with ?schema=NAME")
