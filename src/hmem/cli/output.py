"""How the commands print: tables to read, JSON for programs.

Tables go to standard output, notes to standard error. With `--json -` standard output holds the JSON
object and nothing else.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from hmem.errors import InterruptedRunError, Place
from hmem.sqlite_files import replacing

if TYPE_CHECKING:
    from hmem.graph.dataset import Dataset

PIPED_WIDTH = 120  # columns, where there is no terminal to ask

LONGEST_CELL = 200  # characters of a name in a table; JSON has all of them

JOINERS = "\u200c\u200d"  # invisible, and part of how emoji and some scripts are written


def console(*, stderr: bool = False) -> Console:
    """A console that prints text as it is: names may hold brackets, colons or digits without being taken for markup."""
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not made.is_terminal:
        made.width = max(PIPED_WIDTH, made.width)
    return made


def table(names: Sequence[str], numbers: Sequence[str] = (), *, title: str | None = None) -> Table:
    """An empty table: columns of text, then columns of numbers. Long text goes on in the next line, never lost."""
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for heading in names:
        made.add_column(heading, overflow="fold")
    for heading in numbers:
        made.add_column(heading, justify="right", no_wrap=True)
    return made


def facts(rows: Mapping[str, str]) -> Table:
    """Labels and what belongs to them, one below the other."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(no_wrap=True, style="bold")
    made.add_column(overflow="fold")
    for label, value in rows.items():
        made.add_row(label, value)
    return made


def show(renderable: object) -> None:
    """Print on standard output, without the blanks at line ends that tables leave.

    The title of a table has lines of its own, which are as long as they need to be.
    """
    out = console()
    if isinstance(renderable, Table) and renderable.title is not None:
        out.print(renderable.title, style="bold", soft_wrap=True)
        renderable.title = None
    if out.is_terminal:
        out.print(renderable)
        return
    with out.capture() as captured:
        out.print(renderable)
    for line in captured.get().splitlines():
        print(line.rstrip())


def say(text: str) -> None:
    """One line of result, on standard output and in one piece."""
    console().print(text, soft_wrap=True)


def note(text: str) -> None:
    """A remark for the user, on standard error and in one piece."""
    console(stderr=True).print(text, soft_wrap=True)


@contextmanager
def resumable(what: str, *, stderr: bool = False) -> Iterator[None]:
    """A run that says, if it is interrupted, what goes on from there."""
    try:
        yield
    except InterruptedRunError as interrupted:
        console(stderr=stderr).print(f"{interrupted.problem.capitalize()}. {what} goes on from here.", soft_wrap=True)
        raise typer.Exit(interrupted.exit_code) from None


def count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def decimal(value: float | None, places: int = 3) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:,.{places}f}"


def one_line(name: str) -> str:
    """A name as it can be printed: what would break the line is escaped, everything else stays.

    Blanks at its ends, which could not be seen, are shown by quotes.
    """
    line = "".join(each if each.isprintable() or each in JOINERS else ascii(each)[1:-1] for each in name)
    return line if line == line.strip() else f'"{line}"'


def cell(name: str | None) -> str:
    """A name in a table: in one line, and cut short if it would fill the screen."""
    line = "–" if name is None else one_line(name)
    return line if len(line) <= LONGEST_CELL else line[: LONGEST_CELL - 1] + "…"


def percent(probability: float | None) -> str:
    """A calibrated probability to read: as many digits as it is worth, and never certain."""
    if probability is None or math.isnan(probability):
        return "–"
    if probability < 0.001:
        return "< 0.1%"
    if probability > 0.999:
        return "> 99.9%"
    return f"{probability:.0%}" if 0.0995 <= probability < 0.985 else f"{probability:.1%}"


def size(number: int) -> str:
    """Bytes in the unit that suits them."""
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= 0.9995 * step:
            return f"{number / step:.3g} {unit}"
    return f"{number} bytes"


def when(time: datetime | None) -> str:
    """A moment in local time, to the second."""
    return "–" if time is None else f"{time.astimezone():%Y-%m-%d %H:%M:%S}"


def write_json(json_path: str | None, obj: object) -> bool:
    """Write the result where `--json` says, with null for what is not a number; True if standard output is taken by it.

    Then nothing else may be printed there.
    """
    if json_path is None:
        return False
    text = json.dumps(_plain(obj), indent=2, ensure_ascii=False, allow_nan=False)
    if json_path == "-":
        print(text)
        return True
    with replacing(Path(json_path).expanduser()) as beside:
        beside.write_text(text + "\n", encoding="utf-8")
    return False


def problems(kind: str, of: object, found: Sequence[str], json_path: str | None) -> bool:
    """Write what is wrong, and leave with 1 if anything is; True if standard output is taken by `--json`."""
    is_printed = write_json(json_path, {kind: of, "problems": found})
    for problem in found:
        note(f"{of}: {problem}")
    if found:
        raise typer.Exit(1)
    return is_printed


def _plain(obj: Any) -> Any:
    """`obj` in JSON's own types: NumPy's numbers and arrays, paths, times and non-finite floats turned into them."""
    if isinstance(obj, Mapping):
        return {str(key): _plain(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [_plain(value) for value in obj]
    if hasattr(obj, "tolist"):
        return _plain(obj.tolist())
    if isinstance(obj, float):
        return obj if math.isfinite(obj) else None
    if isinstance(obj, date):
        return obj.isoformat()
    return str(obj) if isinstance(obj, Place) else obj


def load(data: str, **options: object) -> "Dataset":
    """`load_dataset` as commands call it: a download shows its progress, and a knowledge base is a graph as well."""
    from hmem.cli.progress import download_progress
    from hmem.graph.registry import load_dataset
    from hmem.knowledge.store.as_dataset import dataset_of, is_knowledge_base

    if not options and is_knowledge_base(data):
        return dataset_of(data)
    with download_progress() as progress:
        return load_dataset(data, progress=progress, **options)
