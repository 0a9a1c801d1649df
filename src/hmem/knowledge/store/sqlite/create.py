"""New knowledge base files, and old ones replaced: whole or not at all, also when the process is killed half way."""

import glob
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from hmem import sqlite_files
from hmem.errors import StoreError
from hmem.knowledge.store.errors import exists_already
from hmem.knowledge.store.sqlite.connection import connect, translated
from hmem.knowledge.store.sqlite.errors import explained
from hmem.knowledge.store.sqlite.schema import APPLICATION_ID, install

APPLICATION_ID_AT = 68  # where the header has it


@contextmanager
def built_beside(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """The path of an empty base beside `path`, to be filled in the block; it takes its place when the block ends.

    If anything goes wrong, there is no file at `path`, or the old one as it was.
    """
    if not overwrite and os.path.lexists(path):
        raise exists_already(path)
    if overwrite and path.exists():
        _refuse_what_is_not_ours(path)
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    _remove_leftovers(path)
    try:
        with _translated(path):
            sqlite_files.create_empty(new)
            with closing(connect(new, "rw")) as connection:
                install(connection)
        yield new
        with _translated(path):
            _put_in_place(new, path, overwrite)
    except StoreError as error:
        if error.path == new:
            error.path = path  # the only one of the two that the caller knows
        raise
    finally:
        _remove(new, *_beside(new))


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        with translated(path):
            yield
    except FileExistsError:
        raise exists_already(path) from None
    except OSError as error:
        raise StoreError(f"{{path}} cannot be created: {os.strerror(error.errno or 0)}", path=path) from None


def _put_in_place(new: Path, path: Path, overwrite: bool) -> None:
    """Give the new file its name, in one step. Without `overwrite`, one of several processes that try succeeds."""
    if overwrite and path.exists():
        with _out_of_use(path):
            os.replace(new, path)
    else:
        try:
            os.link(new, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            sqlite_files.create_empty(path)
            os.replace(new, path)
    sqlite_files.keep_name(path)


def _refuse_what_is_not_ours(path: Path) -> None:
    """Only a knowledge base is overwritten, damaged or not, or an empty file."""
    if path.is_dir():
        raise StoreError("{path} is a folder; a knowledge base is a single file", path=path)
    if sqlite_files.is_open(path):
        raise StoreError("{path} is open in this process; close it before overwriting it", path=path)
    if path.stat().st_size and _application_of(path) != APPLICATION_ID:
        problem = "{path} is not a knowledge base of hmem, so it is not overwritten"
        raise StoreError(problem, path=path, hint="remove it yourself first")


def _application_of(path: Path) -> int | None:
    """The application that a file belongs to, as SQLite has it; None if it is no file of SQLite."""
    try:
        with closing(connect(path, "rw")) as connection:
            return int(connection.execute("PRAGMA application_id").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if not error.sqlite_errorname.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise explained(error, path) from error
    header = sqlite_files.read_header(path, APPLICATION_ID_AT + 4)
    return int.from_bytes(header[APPLICATION_ID_AT:], "big") if header.startswith(sqlite_files.MAGIC) else None


@contextmanager
def _out_of_use(path: Path) -> Iterator[None]:
    """Keep other processes out of the file, and leave no log behind that would be taken for that of the new one."""
    try:
        connection = connect(path, "rw")
    except sqlite3.Error:  # too badly damaged to be in use
        _remove(*_beside(path))
        yield
        return
    with closing(connection):
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                problem = "{path} is open in another process; close it there before overwriting it"
                raise StoreError(problem, path=path) from None
        _remove(*_beside(path))
        yield


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in sqlite_files.BESIDE]


def _remove_leftovers(path: Path) -> None:
    """What processes that were killed had begun to build; those still at work have written to theirs lately."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.new*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > sqlite_files.LEFTOVER_AFTER:
                left.unlink()


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
