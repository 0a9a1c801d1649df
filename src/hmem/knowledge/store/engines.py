"""Which engine keeps a base: SQLite a file, PostgreSQL an address."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hmem.errors import Place
from hmem.knowledge.store.database import Connection
from hmem.knowledge.store.places import Address
from hmem.knowledge.store.postgres.connection import PostgresConnection
from hmem.knowledge.store.postgres.create import built_at_once
from hmem.knowledge.store.sqlite.connection import SqliteConnection
from hmem.knowledge.store.sqlite.create import built_beside


def connect(place: Place, *, read_only: bool) -> Connection:
    """The way to a base that exists."""
    if isinstance(place, Address):
        return PostgresConnection.open(place, read_only=read_only)
    assert isinstance(place, Path)
    return SqliteConnection.open(place, read_only=read_only)


@contextmanager
def building(place: Place, *, overwrite: bool) -> Iterator[Connection]:
    """A new base to be filled in the block, which is there for others when it ends."""
    if isinstance(place, Address):
        with built_at_once(place, overwrite=overwrite) as held:
            yield held
        return
    assert isinstance(place, Path)
    with built_beside(place, overwrite=overwrite) as new:
        connection = SqliteConnection.open(new)
        try:
            yield connection
        finally:
            connection.close()
