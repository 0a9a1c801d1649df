"""A folder of arrays that are mapped into memory: a header in JSON, and one file for each array.

The header says what each file holds, how long it is and its SHA-256. It is written last, into a folder that gets its
name only when everything is on the disk: one that was broken off has no name that anybody looks for. Sizes are compared
whenever a folder is opened, checksums by `problems`.
"""

import glob
import hashlib
import json
import mmap
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hmem.errors import DataError, Hint
from hmem.sqlite_files import keep_name

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FORMAT, VERSION = "hmem graph", 1
HEADER, LOCK = "header.json", ".lock"
AT_ONCE = 1 << 22  # numbers or bytes
LARGE = 1 << 28  # bytes of a file that is not read ahead

Array = np.ndarray[Any, np.dtype[Any]]


class ArrayWriter:
    """One array, written piece by piece."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind, self.count = path, np.dtype(kind), 0
        self._file, self._digest = path.open("wb"), hashlib.sha256()

    def write(self, some: Array) -> None:
        """The next numbers."""
        data = np.ascontiguousarray(some, dtype=self.kind)
        self._digest.update(data.data)
        self._file.write(data.data)
        self.count += data.size

    def so_far(self) -> Array:
        """What was written, to be read again."""
        self._file.flush()
        return np.memmap(self.path, self.kind, "r").view(np.ndarray) if self.count else np.empty(0, self.kind)

    def finish(self) -> dict[str, Any]:
        """What the header says of it, once it is on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        count, kind = self.count, self.kind.str
        return {"type": kind, "count": count, "bytes": count * self.kind.itemsize, "sha256": self._digest.hexdigest()}

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


@dataclass(slots=True)
class Writer:
    """A folder that is being made."""

    path: Path
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    open: dict[str, ArrayWriter] = field(default_factory=dict)

    def array(self, name: str, kind: str) -> ArrayWriter:
        """A new array, to be written piece by piece until the folder is closed."""
        made = self.open[name] = ArrayWriter(self.path / f"{name}.bin", kind)
        return made

    def whole(self, name: str, array: Array) -> None:
        made = self.array(name, array.dtype.str)
        for start in range(0, len(array), AT_ONCE):
            made.write(array[start : start + AT_ONCE])

    def temporary(self, name: str) -> Path:
        """A path for what is not kept."""
        (self.path / "tmp").mkdir(exist_ok=True)
        return self.path / "tmp" / name

    def close(self, about: dict[str, Any]) -> None:
        """Finish all arrays and write the header."""
        self.files |= {f"{name}.bin": array.finish() for name, array in self.open.items()}
        self.open = {}
        shutil.rmtree(self.path / "tmp", ignore_errors=True)
        header = {"format": FORMAT, "version": VERSION, **about, "files": self.files}
        with (self.path / HEADER).open("w") as file:
            json.dump({**header, "checksum": _checksum(header)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def new_folder(path: Path, *, overwrite: bool) -> Iterator[Writer]:
    """A folder to be filled in the block, which must `close` it; it appears at `path` when the block ends, or not."""
    _refuse_to_replace(path, overwrite)
    _remove_leftovers(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    new.mkdir()
    writer = Writer(new)
    try:
        with (new / LOCK).open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)  # as long as it is held, nobody takes the folder for a leftover
            yield writer
            (new / LOCK).unlink()
            _refuse_to_replace(path, overwrite)  # another process may have been quicker
            _put_in_place(new, path)
    finally:
        for array in writer.open.values():
            array.close()
        shutil.rmtree(new, ignore_errors=True)


def read_header(path: Path) -> dict[str, Any]:
    """What a folder says of itself, if all of its files are as long as that says."""
    header = _parsed(path)
    for name, told in header["files"].items():
        try:
            found = (path / name).stat().st_size
        except OSError as error:
            raise _damaged(path, f"{name}: {os.strerror(error.errno or 0)}") from None
        if found != told["bytes"]:
            raise _damaged(path, f"{name} has {found:,} bytes instead of {told['bytes']:,}")
    return header


def mapped(path: Path, name: str, header: dict[str, Any]) -> Array:
    """One of the arrays, which is read from the disk where it is looked at."""
    told = header["files"][f"{name}.bin"]
    if not told["count"]:  # nothing can be mapped
        return np.empty(0, dtype=told["type"])
    return np.frombuffer(map_file(path / f"{name}.bin"), dtype=told["type"])


def map_file(path: Path) -> mmap.mmap:
    """A file in memory. Of a large one the system is to read what is looked at only, and not its neighborhood too."""
    with path.open("rb") as file:
        found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(found) > LARGE and hasattr(found, "madvise"):
        found.madvise(mmap.MADV_RANDOM)
    return found


def problems(path: Path) -> list[str]:
    """What is wrong with a folder, by the checksums of all that is in it."""
    found = []
    for name, told in read_header(path)["files"].items():
        with (path / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != told["sha256"]:
                found.append(f"{name} is not what was written")
    return found


def is_ours(path: Path) -> bool:
    """Whether a folder is one of these, whole or damaged: nothing else is in it."""
    return path.is_dir() and all(each.name == HEADER or each.suffix == ".bin" for each in path.iterdir())


def _parsed(path: Path) -> dict[str, Any]:
    try:
        with (path / HEADER).open(encoding="utf-8") as file:
            header: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        raise DataError("{path} is no graph that hmem wrote: it has no header.json", path=path) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, f"{HEADER} cannot be read: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError("{path} is no graph that hmem wrote", path=path)
    if header.get("version") != VERSION:
        problem = f"{{path}} has version {header.get('version')}, this hmem reads {VERSION}"
        raise DataError(problem, path=path, hint="write it anew")
    if header.pop("checksum", None) != _checksum(header):
        raise _damaged(path, f"{HEADER} was changed")
    return header


def _checksum(header: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(f"{{path}} is damaged: {problem}", path=path, hint="write it anew")


def _refuse_to_replace(path: Path, overwrite: bool) -> None:
    if os.path.lexists(path):
        if not overwrite:
            raise DataError("{path} exists already", path=path, hint=Hint(text="to begin anew", option="overwrite"))
        if not is_ours(path):
            raise DataError("{path} is no graph that hmem wrote, so it is not overwritten", path=path)


def _put_in_place(new: Path, path: Path) -> None:
    """Give the new folder its name. Who has the old one mapped keeps it."""
    old = new.with_suffix(".old")
    if os.path.lexists(path):
        os.replace(path, old)
    try:
        os.replace(new, path)
    except OSError:
        if old.exists():
            os.replace(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)
    keep_name(path)


def _remove_leftovers(path: Path) -> None:
    """What was begun by processes that were killed; those at work hold a lock."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        if left.suffix == ".old" or (left.suffix == ".new" and not _is_locked(left / LOCK)):
            shutil.rmtree(left, ignore_errors=True)


def _is_locked(lock: Path) -> bool:
    if fcntl is None:
        return True
    try:
        with lock.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
