"""Opening an input file, or saying plainly why it cannot be opened."""

import io
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmem.errors import DataError
from hmem.graph.name_search import closest
from hmem.sqlite_files import note_input, open_plain

BUFFER = 1 << 20  # bytes per read


@dataclass(frozen=True, slots=True)
class Place:
    """What an error is about: a file, a line of it, or a table in memory, which has no path but a type."""

    path: Path | None
    line: int | None = None
    kind: str = ""

    def error(self, problem: str = "", **fields: Any) -> DataError:
        if self.path is None:
            return DataError(f"{self.kind}: {problem or DataError(**fields).problem}", **fields)
        return DataError(problem, path=self.path, line=self.line, **fields)


def open_file(path: Path) -> io.BufferedReader:
    """The bytes of a regular file; anything else, a knowledge base too, is a DataError with the likely remedy."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError(f"{{path}} is a folder; expected a file{_contents(path)}", path=path)
        if not stat.S_ISREG(mode):
            problem = "{path} is a pipe or a device; expected a file, so save its content to one first"
            raise DataError(problem, path=path)
        note_input(path)
        return io.BufferedReader(open_plain(path), BUFFER)
    except FileNotFoundError:
        raise missing(path) from None
    except PermissionError:
        raise DataError("permission denied", path=path) from None
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", path=path) from None
    except ValueError as error:  # a NUL in the name
        raise DataError(f"{str(path)!r} cannot be a file name: {error}") from None


def missing(path: Path) -> DataError:
    """The error for a path that does not exist, with the near names in its folder."""
    folder = path.parent
    if not folder.is_dir():
        return DataError(f"no such file or folder, and no folder {folder}", path=path)
    return DataError("no such file or folder", path=path, suggestions=closest(path.name, _names_in(folder)))


def _contents(folder: Path) -> str:
    names = sorted(name for name in _names_in(folder) if (folder / name).is_file())[:3]
    return f" in it, such as {', '.join(names)}" if names else ""


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # the folder itself may not be readable; the names are only a courtesy
        return []
