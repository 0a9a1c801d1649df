"""Where a knowledge base is: a file, or a schema in a PostgreSQL database."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from hmem.errors import ConfigError, Place

SCHEME = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://", re.IGNORECASE)
SCHEMA = "hmem"  # of the base in a database whose address names none
SECRET = re.compile(r"pas|pwd|secret|scram", re.IGNORECASE)  # in the name of an option that no message shows
CREDENTIALS = re.compile(r"\w\w+:\S*:\S*@|.*\bpassword\s*=", re.IGNORECASE)  # of what is no address, and no path either
NO_ADDRESS = (
    "expected an address such as postgresql://USER:PASSWORD@HOST/DATABASE?schema=NAME, with special characters as %XX"
)
LONGEST = 63  # bytes of a schema's name

At: TypeAlias = str | os.PathLike[str] | Place


@dataclass(frozen=True, slots=True)
class Address:
    """A base in PostgreSQL, by an address as libpq takes it and the schema of its tables.

    As text it has no password, so that it can be shown and written down; what it stands for in full is `conninfo`.
    """

    conninfo: str = field(repr=False)
    schema: str = SCHEMA

    @classmethod
    def parse(cls, text: str) -> "Address":
        """`postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`; all but the schema is for libpq to read."""
        try:
            parts = urlsplit(SCHEME.sub("postgresql://", text, count=1))
        except ValueError:
            raise ConfigError(NO_ADDRESS) from None
        odd = (
            "@" in parts.netloc.rpartition("@")[0] + parts.path
            or parts.fragment
            or re.search("%(?![0-9a-fA-F]{2})", text)
        )
        if odd or any("=" not in each or "@" in each.partition("=")[0] for each in parts.query.split("&") if each):
            raise ConfigError(NO_ADDRESS)  # it may be of a password: nothing of it is shown
        options = parse_qsl(parts.query, keep_blank_values=True)
        schema = dict(options).get("schema", SCHEMA)
        others = [(key, value) for key, value in options if key != "schema"]
        address = cls(_joined(parts.netloc, parts.path, others), schema)
        size = len(schema.encode())
        if not schema or "\0" in schema or size > LONGEST or schema.startswith("pg_"):
            expected = f"?schema= with a name of 1 to {LONGEST} bytes that does not begin with pg_"
            raise ConfigError(f"{address} names no schema that can be there; expected {expected}")
        return address

    @property
    def database(self) -> str:
        return unquote(urlsplit(self.conninfo).path.lstrip("/"))

    @property
    def name(self) -> str:
        """A short one: that of the schema, or of the database where the schema is the usual one."""
        return self.schema if self.schema != SCHEMA else self.database or self.schema

    @property
    def in_full(self) -> str:
        """As it was given, with the password: for another process, never for a reader."""
        parts = urlsplit(self.conninfo)
        options = [*parse_qsl(parts.query, keep_blank_values=True), ("schema", self.schema)]
        return _joined(parts.netloc, parts.path, options)

    def __str__(self) -> str:
        parts = urlsplit(self.conninfo)
        login, at, host = parts.netloc.rpartition("@")
        options = [(key, value) for key, value in parse_qsl(parts.query) if not SECRET.search(key)]
        if self.schema != SCHEMA:
            options.append(("schema", self.schema))
        return _joined(login.partition(":")[0] + at + host, parts.path, options)


def place_of(given: At) -> Place:
    """The place that a user gives: an address, or else a path."""
    if given == "":
        raise ConfigError("expected the name of a knowledge base, found an empty text")
    if isinstance(given, str):
        if SCHEME.match(given):
            return Address.parse(given)
        if CREDENTIALS.match(given):
            raise ConfigError(NO_ADDRESS)
        return Path(given)
    return Path(given) if isinstance(given, os.PathLike) else given


def split_moment(given: At) -> tuple[Place, int | None]:
    """`zoo.kb@17` is `zoo.kb` and 17; a file of that very name comes first. So is it with an address."""
    text = str(given) if isinstance(given, os.PathLike) else given
    if not isinstance(text, str):
        return text, None
    if SCHEME.match(text):
        found = re.fullmatch(r"(\w+(?:\+\w+)?://[^/]*/.*)@(\d+)", text)
        return (Address.parse(text), None) if found is None else (Address.parse(found[1]), int(found[2]))
    whole = Path(text).expanduser()
    found = re.fullmatch(r"(.+)@(\d+)", text)
    if found is None or whole.exists():
        return whole, None
    return Path(found[1]).expanduser(), int(found[2])


def shown_place(given: At) -> str:
    """What a user gave as the place of facts, without a password."""
    place, moment = split_moment(given)
    if not isinstance(place, Address):
        return str(given)
    return str(place) if moment is None else f"{place}@{moment}"


def _joined(netloc: str, path: str, options: list[tuple[str, str]]) -> str:
    query = urlencode(options, quote_via=quote, safe="/")
    return f"postgresql://{netloc}{path}{'?' if query else ''}{query}"
