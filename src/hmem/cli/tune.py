"""`hmem tune`: look for settings that suit a graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output
from hmem.cli.progress import step_progress
from hmem.errors import plural

if TYPE_CHECKING:
    from hmem.runs.trials import Tried
    from hmem.runs.tune import Tuned
    from hmem.training.hooks import Progress

SHOWN = 10  # trials in the table
LEVELS = ("short", "longer", "whole")


def tune(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for all of it.")],
    budget: Annotated[
        float,
        typer.Option(metavar="TIME", parser=options.parse_minutes, help="How long in all: 10m, 1h, 8h."),
    ],
    preset: Annotated[str | None, typer.Option(help="Named settings to begin with; by default any-graph.")] = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", metavar="TOML", help="Settings that are not to be tried otherwise.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.SETTING=VALUE", help="One of them; may be repeated.")
    ] = None,
    seed: options.Seed = None,
    device: options.Device = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew if DIR holds a tuning.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the trials: FILE.png and FILE.svg.")
    ] = None,
    json_path: options.Json = None,
) -> None:
    """Look for settings that suit DATA, by the validation MRR of many trainings. Test facts are not looked at.

    Half of the time goes to short trainings, then the best are trained longer. DIR/model is the best model so far, and
    DIR/best.toml has its settings: `hmem train DATA --config DIR/best.toml`. After Ctrl-C, or to go on with a larger
    budget, give the same command again.
    """
    from hmem.figures.plotting import require_matplotlib
    from hmem.model.presets import DEFAULT
    from hmem.model.presets import preset as settings_of
    from hmem.runs.callbacks import CtrlC
    from hmem.runs.fit import Plan, configure
    from hmem.runs.tune import tune_in

    if plot is not None:
        require_matplotlib()
    named, fixed = options.settings(config_file, assignments)
    preset = preset or named or DEFAULT
    quiet, dataset = json_path == "-", output.load(data)
    plan = Plan(data=data, dataset=dataset, preset=preset, config=configure(settings_of(preset), fixed, seed))
    err = output.console(stderr=True)
    with output.resumable("The same command", stderr=quiet), step_progress() as show, CtrlC() as ctrl_c:
        number = 0

        def going(now: "Progress") -> None:
            best = "" if now.best is None else f"valid MRR {now.best:.3f}"
            show(f"trial {number}", now.share, best)

        def told(tried: "Tried") -> None:
            nonlocal number
            number = tried.number + 1
            show(f"trial {tried.number}", 1.0, "")
            if not quiet:
                err.print(f"trial {tried.number}  {_line(tried)}", soft_wrap=True)

        tuned = tune_in(
            out, plan,
            minutes=budget, fixed=fixed, device=device, callbacks=[going, ctrl_c], told=told, overwrite=overwrite,
        )  # fmt: skip
    _tell(tuned, data, out, plot, json_path)


def _tell(tuned: "Tuned", data: str, out: Path, plot: Path | None, json_path: str | None) -> None:
    """The best trials, the picture, and what to do next."""
    from hmem.figures.plotting import write_picture
    from hmem.figures.tuning import tuning_picture

    if plot is not None:
        write_picture(tuning_picture(tuned.tried, data), plot.parent, plot.with_suffix("").name)
    found = [{**_plain(each), "is_best": each == tuned.best} for each in tuned.tried]
    if output.write_json(json_path, {"data": data, "validation_mrr": tuned.mrr, "trials": found}):
        return
    ranked = sorted(tuned.tried, key=lambda each: (not each.is_finished, -(each.mrr or 0.0)))
    table = output.table(("trial", "length", "settings"), ("valid MRR", "s"))
    for each in ranked[:SHOWN]:
        length = LEVELS[each.level] if each.is_finished else each.ended
        table.add_row(str(each.number), length, _settings(each), output.decimal(each.mrr), f"{each.seconds:.0f}")
    output.show(table)
    given_up = sum(each.ended == "given up" for each in tuned.tried)
    said = f"{plural(len(tuned.tried), 'trial')}, {given_up} given up early"
    joined = " and counting joined" if tuned.model.config.training.counting else ""
    mrr = f"with all validation facts{joined} it has an MRR of {tuned.mrr:.3f}"
    output.say(f"{said}. The best is {tuned.best.number}; {mrr}.")
    output.say(f"{out / 'model'}: its model. {out / 'best.toml'}: its settings.")
    output.console().print(f"Next: hmem train {data} --config {out / 'best.toml'} --out DIR", style="dim")


def _line(tried: "Tried") -> str:
    return f"valid MRR {output.decimal(tried.mrr)}  {tried.seconds:.0f} s ({tried.ended})  {_settings(tried)}"


def _settings(tried: "Tried") -> str:
    return " ".join(f"{name.rpartition('.')[2]}={_shown(value)}" for name, value in tried.settings.items())


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "none" if value is None else str(value)


def _plain(tried: "Tried") -> dict[str, Any]:
    return {name: getattr(tried, name) for name in tried.__dataclass_fields__}
