"""New knowledge base files, and old ones replaced: whole or not at all."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from hmem.errors import StoreError
from hmem.knowledge.store.connection import BUSY_SECONDS, connect, translated
from hmem.knowledge.store.errors import explained
from hmem.knowledge.store.schema import APPLICATION_ID, install

BESIDE = ("-journal", "-wal", "-shm")  # what SQLite keeps beside a file in use
MAGIC = b"SQLite format 3\0"
APPLICATION_ID_AT = 68  # where the header has it


def create(path: Path) -> None:
    """An empty base at `path`, where no file may be yet."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))  # fails if another process was first
    except FileExistsError:
        raise StoreError(f"{path} exists already; open it, or give overwrite=True to begin anew") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be created: {os.strerror(error.errno or 0)}") from None
    try:
        with translated(path), closing(connect(path, "rw")) as connection:
            install(connection)
    except BaseException:
        _remove(path, *_beside(path))
        raise


def replace(path: Path) -> None:
    """An empty base in the place of the one at `path`, which stays as it is if anything goes wrong."""
    if not path.exists():
        create(path)
        return
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        _refuse_what_is_not_ours(path)
        create(new)
        _take_out_of_use(path)
        os.replace(new, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be replaced: {os.strerror(error.errno or 0)}") from None
    finally:
        _remove(new)


def _refuse_what_is_not_ours(path: Path) -> None:
    """Only a knowledge base is overwritten, damaged or not, or an empty file."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; a knowledge base is a single file")
    if path.stat().st_size and _application_of(path) != APPLICATION_ID:
        raise StoreError(f"{path} is not a knowledge base of hmem, so it is not overwritten; remove it yourself first")


def _application_of(path: Path) -> int | None:
    """Whose file it is, as SQLite has it; None if it is no file of SQLite."""
    try:
        with closing(connect(path, "rw")) as connection:
            return int(connection.execute("PRAGMA application_id").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if not error.sqlite_errorname.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise explained(error, path, BUSY_SECONDS) from error
    # So nobody can have it open, and it may be read without SQLite; see `refuse_what_is_no_store`.
    with path.open("rb") as file:
        header = file.read(APPLICATION_ID_AT + 4)
    return int.from_bytes(header[APPLICATION_ID_AT:], "big") if header.startswith(MAGIC) else None


def _take_out_of_use(path: Path) -> None:
    """Refuse while anybody has the file open, and leave no log behind that would be taken for that of the new file."""
    try:
        with closing(connect(path, "rw")) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StoreError(f"{path} is open in another process; close it there before overwriting it") from None
    _remove(*_beside(path))


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in BESIDE]


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
