"""A bar for training, with the numbers that matter beside it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from hmem.training.loop import Progress as TrainingProgress


@contextmanager
def training_progress(quiet: bool = False) -> Iterator[Callable[["TrainingProgress"], None]]:
    """On a terminal a live bar; elsewhere one line per validation. On standard error, so that results stay pipeable."""
    console = Console(stderr=True, quiet=quiet)
    bar = Progress(
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TextColumn("{task.fields[speed]} facts/s"),
        TextColumn("{task.fields[best]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal or quiet,
    )
    with bar:
        task = bar.add_task("train", total=1.0, epoch="0", loss="–", speed="–", best="")

        def show(now: "TrainingProgress") -> None:
            bar.update(
                task,
                completed=now.share,
                epoch=f"{now.epoch}/{now.epochs}",
                loss=f"{now.loss:.3f}",
                speed=f"{now.triples_per_second:,.0f}",
                best="" if now.best is None else f"valid MRR {now.best:.3f}",
            )
            if now.validated is not None and not console.is_terminal:
                console.print(
                    f"epoch {now.epoch}/{now.epochs}  loss {now.loss:.3f}  {now.triples_per_second:,.0f} facts/s  "
                    f"valid MRR {now.validated:.3f}  {now.seconds:.0f} s",
                    highlight=False,
                )

        yield show
