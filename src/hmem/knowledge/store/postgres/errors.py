"""What PostgreSQL and psycopg complain of, in words a user can act on: the one place where they are translated."""

import importlib
from typing import Any

from hmem.errors import ConfigError, Hint, StoreError
from hmem.knowledge.store.errors import busy, hint_to_check
from hmem.knowledge.store.places import Address

LOST = ("57P", "25P03", "08")  # beginnings of the codes of a connection that ended
STARTING = (
    "starting up",
    "shutting down",
    "recovery",
    "not yet accepting",
    "too many",
    "connection slots",
)  # said by a server that lets us in later


def import_psycopg() -> Any:
    """The optional package, or an error that says how it is installed."""
    try:
        return importlib.import_module("psycopg")
    except ImportError:
        hint = Hint(command="pip install 'hmem[postgres]'")
        raise ConfigError("a knowledge base in PostgreSQL needs the package psycopg", hint=hint) from None


class LostError(StoreError):
    """The connection ended, or there is none; or the server asks to begin the transaction anew."""

    def __init__(self, problem: str, *, mark: tuple[int, int, str] | None = None, **fields: Any) -> None:
        super().__init__(problem, **fields)
        self.mark = mark  # the moment that it was about to commit


class PreparedError(StoreError):
    """A prepared statement is not there, or there already: the connection is another than the one that prepared it."""


def explained(error: Any, address: Address) -> StoreError:
    """The StoreError to raise instead of a psycopg.Error."""
    code, said = error.sqlstate or "", one_line(error)
    hint: Hint | str | None = None
    match code:
        case "55P03":
            return busy(address)
        case "53100":
            reason = "could not be written: the disk of the database is full; nothing was changed"
            hint = "free some space there and try again"
        case "42501":
            reason = f"may not be used like that by this user ({said})"
            hint = "have the owner of the database GRANT it, or only read it"
        case "57014":
            reason = f"did not answer in the time that its server allows ({said})"
            hint = "raise statement_timeout, such as with ALTER ROLE ... SET statement_timeout"
        case "26000" | "42P05":
            return PreparedError(f"{{path}} lent another connection ({said})", path=address)
        case "25006":
            reason, hint = "cannot be written: the database is read-only, perhaps a replica", "use the primary"
        case "42P01" | "42703" | "3F000":
            reason, hint = f"is not a knowledge base of hmem, or is one no longer ({said})", None
        case "" if "FATAL" in str(error) and not any(word in said for word in STARTING):
            reason, hint = f"cannot be opened: {said}", _advice(said)
        case "" if type(error).__name__ == "ProgrammingError":
            reason = f"is no address that can be used: {said}"
        case "" if type(error).__name__ == "DataError":
            reason = f"cannot keep that: {said}"
        case _ if code.startswith("40"):
            return LostError(f"{{path}} is too busy: {said}", path=address, hint="try again")
        case _ if not code or code.startswith(LOST):
            return LostError(f"{{path}} cannot be reached: {said}", path=address, hint="is the server running?")
        case _ if code.startswith(("23", "XX")):
            reason = f'refuses what would break it ("{said}"), so it may be damaged'
            hint = hint_to_check("see", address)
        case _:
            reason = f'cannot be used as it is: PostgreSQL says "{said}"'
    return StoreError(f"{{path}} {reason}", path=address, hint=hint)


def _advice(said: str) -> str | None:
    """What to do about a refusal, of which libpq tells the words alone."""
    if "password" in said:
        return "the password can stand in the address, in PGPASSWORD or in ~/.pgpass"
    return "make the database first, such as with createdb" if "does not exist" in said else None


def one_line(error: Any) -> str:
    """The complaint itself, without where the server is, which the address says."""
    primary = error.diag.message_primary
    if primary:
        return str(primary)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    for mark in ("FATAL:", "failed: "):
        line = line.rpartition(mark)[2].strip()
    return line
