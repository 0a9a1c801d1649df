"""`hmem pretrain`: one network for any graph."""

from typing import Annotated

import typer

from hmem.cli import options, output
from hmem.cli.progress import step_progress
from hmem.errors import ConfigError

STEPS = 6_400  # about as many as the model that comes with hmem has made


def pretrain(
    graphs: Annotated[list[str], typer.Argument(metavar="GRAPH...", help="Datasets, by name, folder or file.")],
    out: options.ModelOut,
    minutes: Annotated[float | None, typer.Option(min=options.LEAST_MINUTES, help="How long to train.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help=f"Or how many steps of 64 questions; {STEPS:,} if neither is given.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="W,W,...", help="How often each graph is asked about, such as .25,.15; all alike."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all random choices.")] = 0,
    device: options.Device = "auto",
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Train one network for any graph, on the train facts of several: what `base` is, the model that comes with hmem.

    It is trained on excerpts of the graphs and on graphs made from random rules; see docs/any-graph.md. Without a GPU
    this takes hours.
    """
    from hmem.runs.callbacks import CtrlC
    from hmem.runs.pretrain import pretrain_in
    from hmem.training.pretrain import Budget, Look

    if minutes is not None and steps is not None:
        raise ConfigError("expected --minutes or --steps, and not both")
    budget = Budget(minutes=minutes, steps=STEPS if minutes is None and steps is None else steps)
    datasets = [output.load(each) for each in graphs]
    err = output.console(stderr=True)
    with output.resumable("The same command with --resume"), step_progress() as show, CtrlC() as ctrl_c:

        def making(done: int, number: int) -> None:
            show("graphs", done / number, f"{done:,} of {number:,}")
            if done == number and not err.is_terminal:
                output.note(f"{number:,} graphs to train on")

        def told(now: Look) -> None:
            line = f"step {now.step:,}  loss {now.loss:.3f}  {now.questions_per_second:,.0f} questions/s"
            show("train", now.share, line)
            if not err.is_terminal and (now.step % 200 == 0 or now.share >= 1):
                output.note(f"{line}  {now.seconds:.0f} s")

        model = pretrain_in(
            out, datasets, budget,
            weights=_numbers(weights), seed=seed, device=device, resume=resume, overwrite=overwrite,
            making=making, progress=told, stop=ctrl_c.should_stop,
        )  # fmt: skip
    cost = model.metrics["training"]
    output.say(f"{out}: trained {cost['steps']:,} steps in {cost['training_seconds']:.0f} s ({cost['stopped']}).")
    output.console().print(f"Next: hmem evaluate {out} DATA", style="dim", highlight=False)


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise ConfigError(f'--weights are numbers with commas between them, such as .25,.15, not "{text}"') from None
