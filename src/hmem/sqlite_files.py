"""The one list of SQLite files that this process has open, and ways to open other files that respect it.

SQLite guards a file with POSIX locks. They belong to the process, and all of them end when it closes any descriptor of
that file, whichever part of the program had taken them. Another process may then take the file for unused, throw its
log away, and facts that were acknowledged are lost. The same holds for the -shm file beside it.

So everything in this package that opens a file which may be a knowledge base goes through this module. SQLite's own
connections are put on the list before they open their file. Other code asks `is_database`, reads with `open_plain`, and
writes with `replacing`: none of them touches a file that is on the list. Files are identified by device and inode, so a
link to a file is the same file.
"""

import glob
import io
import os
import secrets
import stat
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hmem.errors import DataError, StoreError

FileId = tuple[int, int]  # device and inode

MAGIC = b"SQLite format 3\0"
MODEL = ("config.json", "model.safetensors", "entities.tsv", "relations.tsv")  # which together decide the answers
SAVED = (*MODEL, "metrics.json", "README.md")  # a saved model
STATE = "training.safetensors"  # of a training that has not ended
RUN, FACTS, LOG = "run.json", "facts.safetensors", "log.jsonl"  # of the run that made it: see `hmem.runs.folder`
OF_MODEL = (*SAVED, STATE, RUN, FACTS, LOG)
PART = ".part"  # in the name of a file that is being written
LEFTOVER_AFTER = 24 * 3600  # seconds
BESIDE = ("-journal", "-wal", "-shm")  # what SQLite keeps beside a file in use


class Registration:
    """One connection's place on the list, for as long as it is kept and until it is released."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()  # beside which SQLite keeps its other files
        self.file = file_id(self.path)
        if self.file is None:
            raise StoreError("there is no file {path}", path=path)


# The lock owns both lists. It is held while a file that is on neither is opened and looked at, so that no thread can
# open it with SQLite between the look and the close. Nothing else is locked or waited for while it is held.
_lock = threading.RLock()  # a collected generator may close a connection while this thread has it
_open: "weakref.WeakSet[Registration]" = weakref.WeakSet()
_inherited: list[Registration] = []  # open in the process that this one was forked from
_inputs: dict[Path, FileId | None] = {}  # files of facts and settings that this process has read


def file_id(path: Path) -> FileId | None:
    """Which file has this name; None if there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def register(path: Path) -> Registration:
    """Put a file on the list, before SQLite opens it."""
    with _lock:
        registration = Registration(path)
        if any(other.file == registration.file for other in _inherited):
            problem = "{path} was open in the process that this one was forked from, and cannot be opened here too"
            hint = "start this process without a fork (multiprocessing: spawn), or close the file before"
            raise StoreError(problem, path=path, hint=hint)
        if _is_beside_database(path):
            raise StoreError("{path} is a file that SQLite keeps beside a database, not a database", path=path)
        for other in _open:  # by another name, SQLite would keep a second log for the same file
            if other.file == registration.file and other.path != registration.path:
                raise StoreError(f"{{path}} is another name of {other.path}, which is open; use that name", path=path)
        _open.add(registration)
        return registration


def release(registration: Registration) -> None:
    """Take a file off the list, after SQLite has closed it."""
    with _lock:
        _open.discard(registration)


def is_open(path: Path) -> bool:
    """Whether this process has the file open with SQLite, as a database or as a file beside one."""
    with _lock:
        file = file_id(path)
        return file is not None and (_is_registered(file) or _is_beside_registered(file))


def is_database(path: Path) -> bool:
    """Whether this is a SQLite database. One that is open is not opened again to see."""
    with _lock:
        file = file_id(path)
        if file is None or _is_registered(file):
            return file is not None
        try:
            if _is_beside_registered(file) or not path.is_file():
                return False
            with io.FileIO(path) as opened:
                return opened.read(len(MAGIC)) == MAGIC
        except OSError:  # it may not be read
            return False


def open_plain(path: Path) -> io.FileIO:
    """A file, opened to be read without SQLite; a database, or a file beside one, is a DataError."""
    with _lock:
        found = _kind_of_database(path)
        if found is not None:
            raise DataError(f"expected a file of text or data, found {found}", path=path, found=found)
        if stat.S_ISREG(path.stat().st_mode):
            return io.FileIO(path)
    return io.FileIO(path)  # a pipe makes its reader wait, and is no database


def read_text(path: Path) -> str:
    """The UTF-8 text of a file, by `open_plain`; no output of this process takes its place."""
    note_input(path)
    with io.TextIOWrapper(io.BufferedReader(open_plain(path)), encoding="utf-8") as file:
        return file.read()


def read_header(path: Path, size: int) -> bytes:
    """The first bytes of a database that is not open in this process."""
    with _lock:
        if is_open(path):
            raise StoreError("{path} is open in this process", path=path)
        with io.FileIO(path) as file:
            return file.read(size)


def create_empty(path: Path) -> None:
    """A new, empty file; FileExistsError if there is one."""
    with _lock:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))


def note_input(path: Path) -> None:
    """Remember a file that was read: no output of this process takes its place."""
    _inputs[path.resolve()] = file_id(path)


def is_input(path: Path) -> bool:
    """Whether this process has read the file that is there."""
    return path.exists() and _inputs.get(path.resolve()) == file_id(path)


def refuse_to_replace(path: Path, *, appending: bool = False) -> None:
    """A StoreError if `path` is what no output may take the place of: a knowledge base, part of a model, an input.

    To an input something may be added.
    """
    with _lock:
        found = _kind_of_database(path)
    real = path.resolve()
    if real.name in OF_MODEL and _is_of_model(real.parent):
        found = "part of a model"
    if not appending and is_input(path):
        found = "what is read here"
    if found is not None:
        raise StoreError(f"{{path}} is {found}, and is not overwritten", path=path, hint="choose another name")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The path of a file to be written in the block; it takes the place of `path` at the end, whole or not at all."""
    refuse_to_replace(path)
    if path.exists() and not path.is_file():  # a device or a pipe; a folder is the caller's mistake, and told by name
        yield path
        return
    path = path.resolve()  # a link stays what it is
    for left in path.parent.glob(f".*{PART}.{glob.escape(path.name)}"):  # by a process that was killed
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > LEFTOVER_AFTER:
                left.unlink()
    beside = path.with_name(f".{secrets.token_hex(4)}{PART}.{path.name}")
    try:
        yield beside
        os.replace(beside, path)
    except OSError as error:
        if error.filename in (None, str(beside)):  # none if there is no room for what is written
            error.filename = str(path)  # the only one of the two that the caller knows
        raise
    finally:
        beside.unlink(missing_ok=True)


def keep_name(path: Path) -> None:
    """Have the name of a file or folder on the disk too, where that can be asked for."""
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_of_model(folder: Path) -> bool:
    return (folder / STATE).exists() or all((folder / name).exists() for name in MODEL)


def _is_registered(file: FileId) -> bool:
    return any(each.file == file for each in (*_open, *_inherited))


def _is_beside_registered(file: FileId) -> bool:
    return any(file_id(_with_suffix(each.path, suffix)) == file for each in (*_open, *_inherited) for suffix in BESIDE)


def _is_beside_database(path: Path) -> bool:
    """Whether SQLite keeps such a file beside a database, or would: what it finds there it takes for its own."""
    file = file_id(path)
    if file is not None and _is_beside_registered(file):
        return True
    suffix = next((suffix for suffix in BESIDE if path.name.endswith(suffix)), None)
    return suffix is not None and path.name != suffix and is_database(path.with_name(path.name.removesuffix(suffix)))


def _kind_of_database(path: Path) -> str | None:
    """What a file is, in words, if it is a database or belongs to one."""
    if _is_beside_database(path):
        return "a file that SQLite keeps beside a database"
    return "a knowledge base or another SQLite database" if is_database(path) else None


def _with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _after_fork() -> None:
    """The child has the descriptors of its parent, but not the locks."""
    global _lock
    _lock = threading.RLock()  # another thread of the parent may have held it
    _inherited.extend(_open)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
