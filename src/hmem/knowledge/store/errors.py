"""What SQLite complains of, in words a user can act on: the one place where its errors are translated."""

import errno
import os
import sqlite3
from pathlib import Path

from hmem.errors import StoreError


def explained(error: sqlite3.Error, path: Path, waited: float) -> StoreError:
    """The StoreError to raise instead of `error`."""
    code = (getattr(error, "sqlite_errorname", None) or "").removeprefix("SQLITE_")
    match code.partition("_")[0]:
        case "BUSY" | "LOCKED" | "PROTOCOL":
            reason = f"is being written by another process; waited {waited:g} s for it, try again when it is done"
        case "FULL":
            reason = "could not be written: the disk is full; nothing was changed, free some space and try again"
        case "READONLY":
            reason = (
                "cannot be written: the file or its folder is read-only; "
                "change the permissions, or open it with read_only=True to read it"
            )
        case "CANTOPEN" | "PERM" | "AUTH":
            reason = "cannot be opened; check that its folder exists, and the permissions of both"
        case "CORRUPT":
            reason = f'is damaged ("{error}"); go back to a copy of it, or see what is wrong with: hmem kb check'
        case "NOTADB":
            reason = "is not a knowledge base of hmem: it is not an SQLite file, or its beginning is damaged"
        case "IOERR":
            reason = f"could not be read or written ({code}), and nothing was changed; is the disk full or failing?"
        case "NOMEM":
            reason = "needs more memory than there is"
        case "CONSTRAINT":
            reason = f'refuses what would break it ("{error}"), so it may be damaged; see: hmem kb check'
        case _:
            reason = f'cannot be used as it is: SQLite says "{error}"; see what is wrong with: hmem kb check'
    return StoreError(f"{path} {reason}")


def refuse_what_is_no_store(path: Path) -> None:
    """Say what is wrong with `path`, where the file system already tells that SQLite need not be asked.

    The file is only looked at, never opened: closing it again would end all locks that this process has on it, those of
    SQLite too, and another process could take it for unused and throw its log away.
    """
    if not path.exists():
        raise StoreError(f"there is no knowledge base {path}; make one with: hmem kb create {path}")
    if path.is_dir():
        raise StoreError(f"{path} is a folder; a knowledge base is a single file")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{path} cannot be read: {os.strerror(errno.EACCES)}")
    if not path.stat().st_size:
        raise StoreError(f"{path} is empty; make it a knowledge base with: hmem kb create {path} --overwrite")
