"""What is shown of work that takes long: bars on a terminal, elsewhere a line now and then.

On standard error, so that results stay pipeable.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from hmem.cli import output

if TYPE_CHECKING:
    from hmem.training.hooks import Progress as TrainingProgress

EVERY = 30.0  # seconds between two lines, where there is no terminal for a bar
ProgressBars = Callable[[str, int, int | None], None]


def download_progress() -> AbstractContextManager[ProgressBars]:
    """A bar for every file that is downloaded."""
    return _bars(DownloadColumn(), TransferSpeedColumn())


def import_progress() -> AbstractContextManager[ProgressBars]:
    """A bar for what is being read or stored."""
    return _bars(MofNCompleteColumn(), TimeElapsedColumn())


class Lines:
    """Where there is no terminal for a bar: says when to print a line, so that what takes long is not silent."""

    def __init__(self, seconds: float = EVERY) -> None:
        self.seconds, self.last = seconds, time.monotonic()

    def are_due(self) -> bool:
        now = time.monotonic()
        is_due = now - self.last >= self.seconds
        self.last = now if is_due else self.last
        return is_due


def _counted(what: str, done: int, total: int | None) -> str:
    return f"{what}: {done:,}" if total is None else f"{what}: {min(done, total):,} of {total:,}"


@contextmanager
def _bars(*columns: ProgressColumn) -> Iterator[ProgressBars]:
    with _tasks(*columns) as update:
        yield lambda what, done, total: update(what, _counted(what, done, total), completed=done, total=total)


@contextmanager
def step_progress() -> Iterator[Callable[[str, float, str], None]]:
    """`show(what, share, text)`: a bar on standard error for each thing, if that is a terminal, and text beside it."""
    with _tasks(TaskProgressColumn(), TextColumn("{task.fields[text]}"), TimeRemainingColumn()) as update:

        def show(what: str, share: float, text: str) -> None:
            update(what, f"{what}: {share:.0%} {text}".rstrip(), completed=share, total=1.0, text=text)

        yield show


@contextmanager
def _tasks(*columns: ProgressColumn) -> Iterator[Callable[..., None]]:
    """`update(what, line, …)`: a bar with these columns on standard error for each thing, or a line now and then."""
    err, lines = output.console(stderr=True), Lines()
    shown = (TextColumn("{task.description}"), BarColumn(), *columns)
    with Progress(*shown, console=err, transient=True, disable=not err.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def update(what: str, line: str, **state: Any) -> None:
            if not err.is_terminal and lines.are_due():
                output.note(line)
            if what not in tasks:
                tasks[what] = bars.add_task(what, **state)
            bars.update(tasks[what], **state)

        yield update


class TrainingShown:
    """What is shown of a training; called with its progress."""

    def __init__(self, bar: Progress, err: Console) -> None:
        self.bar, self.err, self.lines = bar, err, Lines()
        self.task = bar.add_task("train", total=1.0, epoch="0", loss="–", speed="–", best="")

    def __call__(self, now: "TrainingProgress") -> None:
        best = "" if now.best is None else f"valid MRR {now.best:.3f}"
        self.bar.update(
            self.task,
            completed=now.share,
            epoch=f"{now.epoch}/{now.epochs}",
            loss=output.decimal(now.loss),
            speed=f"{now.triples_per_second:,.0f}",
            best=best,
        )
        if now.note is not None:
            self.err.print(now.note, style="yellow", highlight=False, soft_wrap=True)
        if self.err.is_terminal:
            return
        is_due = self.lines.are_due()
        if now.validated is None and not is_due:
            return
        done = f"loss {output.decimal(now.loss)}  {now.triples_per_second:,.0f} facts/s"
        so_far = f"epoch {now.epoch}/{now.epochs}  {done}" if now.step else "before the first step"
        validated = "" if now.validated is None else f"  valid MRR {now.validated:.3f}"
        self.err.print(f"{so_far}{validated}  {now.seconds:.0f} s", highlight=False)

    def asking(self, what: str, done: int, total: int | None) -> None:
        """A look at the questions of validation, or at those afterwards."""
        said = _counted(what, done, total)
        self.bar.update(self.task, best=said)
        if not self.err.is_terminal and self.lines.are_due():
            self.err.print(f"{said} questions", highlight=False)


@contextmanager
def training_progress(quiet: bool = False) -> Iterator[TrainingShown]:
    """On a terminal a live bar; elsewhere one line per validation, and one now and then.

    On standard error, so that results stay pipeable.
    """
    err = Console(stderr=True, quiet=quiet)
    bar = Progress(
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TextColumn("{task.fields[speed]} facts/s"),
        TextColumn("{task.fields[best]}"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal or quiet,
    )
    with bar:
        yield TrainingShown(bar, err)
