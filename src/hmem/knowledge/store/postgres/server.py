"""Connections to the server of a base, each made in the same way."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hmem.errors import StoreError
from hmem.knowledge.store.places import Address
from hmem.knowledge.store.postgres.errors import LostError, explained, import_psycopg

if TYPE_CHECKING:
    import psycopg

OLDEST = 140000
# A server that is gone without a word is noticed within a minute, and one that does not answer at once is given up.
DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
ALWAYS = {"client_encoding": "UTF8"}  # whatever the environment says
PATIENCE = 10.0  # seconds for a server that was there to come back
PAUSE = 0.05


class Server:
    """What is known of a base's server, and the way to it. It has no lock, and keeps no connection."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.psycopg = import_psycopg()
        self.schema = quoted(address.schema)
        self.path = f"SET LOCAL search_path TO {self.schema}, pg_temp; SET LOCAL extra_float_digits = 1"
        self.durable: tuple[str, ...] = ()  # what a write says so that it is on the disk when it is acknowledged
        self.prepares = True  # until a pooler turns out to lend another connection for each transaction

    def connect(self) -> "psycopg.Connection[Any]":
        try:
            given = self.psycopg.conninfo.conninfo_to_dict(self.address.conninfo)
            name = f"hmem {self.address.schema}".encode()[:63].decode(errors="ignore")
            raw: psycopg.Connection[Any] = self.psycopg.connect(
                **{**DEFAULTS, **given, **ALWAYS, "application_name": name},
                autocommit=True,
                prepare_threshold=5 if self.prepares else None,
            )
            raw.isolation_level = self.psycopg.IsolationLevel.READ_COMMITTED  # whatever is usual in the database
        except self.psycopg.Error as error:
            raise explained(error, self.address) from error
        try:
            self._look_at(raw)
        except BaseException:
            raw.close()
            raise
        return raw

    def connect_patiently(self) -> "psycopg.Connection[Any]":
        """The same, where the server was there a moment ago: it may be starting again."""
        until, pause = time.monotonic() + PATIENCE, PAUSE
        while True:
            try:
                return self.connect()
            except StoreError as error:
                if not isinstance(error, LostError) or time.monotonic() + pause > until:  # it answers, and refuses
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    @contextmanager
    def connected(self) -> Iterator["psycopg.Connection[Any]"]:
        raw = self.connect()
        try:
            yield raw
        finally:
            raw.close()

    def _look_at(self, raw: "psycopg.Connection[Any]") -> None:
        if raw.info.server_version < OLDEST:
            version, oldest = raw.info.server_version // 10000, OLDEST // 10000
            problem = f"{{path}} is on PostgreSQL {version}; hmem works with {oldest} and later"
            raise StoreError(problem, path=self.address, found=version, expected=str(oldest))
        settings = "SELECT current_setting('server_encoding'), current_setting('synchronous_commit')"
        encoding, synchronous = raw.execute(settings, prepare=False).fetchone() or ("", "")
        if encoding != "UTF8":
            problem = f"{{path}} keeps text as {encoding}; hmem needs a database in UTF8"
            raise StoreError(problem, path=self.address, found=encoding, expected="UTF8", hint="createdb -E UTF8")
        self.durable = ("SET LOCAL synchronous_commit = on",) if synchronous == "off" else ()


def quoted(name: str) -> str:
    """A name as SQL has it, whatever it is."""
    return '"' + name.replace('"', '""') + '"'
