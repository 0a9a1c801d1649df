"""Opening an input file, or saying plainly why it cannot be opened."""

import difflib
import io
import os
import stat
from pathlib import Path

from hmem.errors import DataError
from hmem.sqlite_files import open_plain

BUFFER = 1 << 20  # bytes per read


def open_file(path: Path) -> io.BufferedReader:
    """The bytes of a regular file; anything else, a knowledge base too, is a DataError with the likely remedy."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError(f"{path} is a folder; expected a file{_contents(path)}")
        if not stat.S_ISREG(mode):
            raise DataError(f"{path} is a pipe or a device; expected a file, so save its content to one first")
        return io.BufferedReader(open_plain(path), BUFFER)
    except FileNotFoundError:
        raise DataError(missing(path)) from None
    except PermissionError:
        raise DataError(f"{path}: permission denied") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror}") from None
    except ValueError as error:  # a NUL in the name
        raise DataError(f"{str(path)!r} cannot be a file name: {error}") from None


def missing(path: Path) -> str:
    """The message for a file that is not there, with the near names in its folder."""
    folder = path.parent.absolute()
    if not folder.is_dir():
        return f"no file {path.name}: there is no folder {folder}"
    closest = difflib.get_close_matches(path.name, _names_in(folder), n=3)
    return f"no file {path.name} in {folder}" + (f"; closest: {', '.join(closest)}" if closest else "")


def _contents(folder: Path) -> str:
    names = sorted(_names_in(folder))[:3]
    return f" in it, such as {', '.join(names)}" if names else ""


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if entry.is_file()]
    except OSError:  # the folder itself may not be readable; the names are only a courtesy
        return []
