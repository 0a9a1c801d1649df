"""What SQLite complains of, in words a user can act on: the one place where its errors are translated."""

import errno
import os
import sqlite3
from pathlib import Path

from hmem.errors import Hint, StoreError
from hmem.knowledge.store.errors import busy, damaged, hint_to_check


def explained(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError to raise instead of `error`."""
    code = (getattr(error, "sqlite_errorname", None) or "").removeprefix("SQLITE_")
    hint: Hint | str | None = None
    match code.partition("_")[0]:
        case "BUSY" | "LOCKED" | "PROTOCOL":
            return busy(path)
        case "FULL":
            reason = "could not be written: the disk is full; nothing was changed"
            hint = "free some space and try again"
        case "READONLY":
            reason = "cannot be written: the file or its folder is read-only"
            hint = Hint(text="change the permissions, or only read it", option="read_only")
        case "CANTOPEN" | "PERM" | "AUTH":
            reason, hint = "cannot be opened", "check that its folder exists, and the permissions of both"
        case "CORRUPT":
            return damaged(path, error)
        case "NOTADB":
            reason = "is not a knowledge base of hmem: it is not an SQLite file, or its beginning is damaged"
        case "IOERR":
            reason = f"could not be read or written ({code}), and nothing was changed; is the disk full or failing?"
        case "NOMEM":
            reason = "needs more memory than there is"
        case "CONSTRAINT":
            reason = f'refuses what would break it ("{error}"), so it may be damaged'
            hint = hint_to_check("see", path)
        case _:
            reason = f'cannot be used as it is: SQLite says "{error}"'
            hint = hint_to_check("see what is wrong with", path)
    return StoreError(f"{{path}} {reason}", path=path, hint=hint)


def refuse_what_is_no_store(path: Path) -> None:
    """Say what is wrong with `path`, where the file system already tells that SQLite need not be asked.

    The file is only looked at, never opened; see `hmem.sqlite_files`.
    """
    if not path.exists():
        make = Hint(text="make one with", command=f"hmem kb create {path}")
        raise StoreError("there is no knowledge base {path}", path=path, hint=make)
    if path.is_dir():
        make = Hint(text="make one that uses this model with", command=f"hmem kb create KB --model {path} --facts DATA")
        hint = make if (path / "model.safetensors").exists() else None
        raise StoreError("{path} is a folder; a knowledge base is a single file", path=path, hint=hint)
    if not os.access(path, os.R_OK):
        raise StoreError(f"{{path}} cannot be read: {os.strerror(errno.EACCES)}", path=path)
    if not path.stat().st_size:
        make = Hint(text="make it a knowledge base with", command=f"hmem kb create {path} --overwrite")
        raise StoreError("{path} is empty", path=path, hint=make)
