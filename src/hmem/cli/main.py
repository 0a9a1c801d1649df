"""The `hmem` command.

Modules in this package import torch, or anything that imports it, only inside the command that needs it: `hmem
--help` and a mistyped option answer at once. It is the one place in the project where imports stand inside functions.
"""

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from hmem.cli import (
    ask,
    audit,
    baseline,
    data,
    demo,
    duplicates,
    entities,
    evaluate,
    facts,
    figures,
    index,
    kb,
    pretrain,
    reproduce,
    serve,
    sparql,
    train,
    tune,
    untrained,
    values,
)
from hmem.cli.wording import as_typed, misused
from hmem.errors import HMemError, InterruptedRunError

if TYPE_CHECKING:
    from hmem.training.places import Place

# OpenMP threads that wait for each other spin by default. Beside one other busy process that makes training on two
# cores ninety times slower (216 against 20,000 facts/s measured); sleeping threads lose next to nothing. Torch reads
# this when it is imported, which no command has done yet.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

CLOSED_PIPE = 141  # the exit code of a program whose reader, `head` for instance, has seen enough
# What typer raises for words that fit no command; the class has no name of its own there.
UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])


class Commands(TyperGroup):
    """All commands, whose mistakes and ends are those of hmem in the place of typer's."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _ends():
            return super().make_context(*args, **options)

    def invoke(self, context: Any) -> Any:
        with _ends():
            return super().invoke(context)


@contextmanager
def _ends() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        if not str(error):  # it has shown the help of a group of commands
            raise
        raise misused(error) from None
    except KeyboardInterrupt:
        raise InterruptedRunError("interrupted") from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED_PIPE) from None


app = typer.Typer(
    name="hmem",
    cls=Commands,
    help="Complete knowledge graphs that keep growing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(kb.app, name="kb")
app.add_typer(facts.app, name="facts")
app.add_typer(entities.app, name="entities")
app.add_typer(data.app, name="data")
asking = (
    values.values,
    ask.predict,
    ask.explain,
    ask.missing,
    audit.audit,
    ask.similar,
    duplicates.duplicates,
    duplicates.merge,
    sparql.sparql,
)
others = (index.index, serve.serve, demo.demo, untrained.untrained, pretrain.pretrain, reproduce.reproduce)
for command in (train.train, tune.tune, evaluate.evaluate, baseline.baseline, *asking, *others):
    app.command()(command)
app.add_typer(figures.app, name="figures")


def _print_version(wanted: bool) -> bool:
    if wanted:
        print(f"hmem {version('hmem')}")
        raise typer.Exit
    return wanted


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; of several processes that torchrun started, in the first of them only."""
    place = _of_several()
    if place is None:
        _run()
        return
    from hmem.training.follower import follow
    from hmem.training.gathering import dismiss

    if place.place > 0:
        sys.exit(follow(place))
    try:
        _run()
    finally:
        dismiss(place)


def _of_several() -> "Place | None":
    """The place of this process among those that train together, if torchrun has started several."""
    if sys.argv[1:2] != ["train"] or "MASTER_ADDR" not in os.environ:
        return None
    from hmem.training.places import Place

    return Place.of(os.environ)


def _run() -> None:
    """Every deliberate error becomes one line on standard error and an exit code."""
    warnings.formatwarning = lambda message, *_: f"hmem: {message}\n"  # without the line of source that is behind it
    try:
        app()
    except HMemError as error:
        print(f"hmem: {as_typed(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"{error.filename}: {reason}" if error.filename else reason
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what += "; make room, then run the same command again"
        print(f"hmem: {what}", file=sys.stderr)
        sys.exit(1)
