"""`hmem train`: fit a model to a graph."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output
from hmem.cli.progress import TrainingShown, training_progress
from hmem.errors import ConfigError, Place, plural
from hmem.knowledge.store.places import place_of, shown_place

if TYPE_CHECKING:
    from hmem.evaluation.calibration import Calibration
    from hmem.evaluation.weighing import Choice
    from hmem.runs.callbacks import Callback
    from hmem.runs.measure import Trained


def train(
    out: options.ModelOut,
    data: options.OptionalData = None,
    from_kb: Annotated[
        Place | None,
        typer.Option(
            "--from",
            metavar="KB",
            parser=place_of,
            help="Instead of DATA: the facts of a knowledge base, which then uses DIR.",
        ),
    ] = None,
    fine_tune: Annotated[
        bool, typer.Option("--fine-tune", help="With --from: go on from the weights of the model in use.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Named settings; the paper's rows are tpr, tpr-inf, tpr-im, cconv, … By default any-graph; with "
            "--from those of the model in use."
        ),
    ] = None,
    config_file: Annotated[Path | None, typer.Option("--config", metavar="TOML", help="More settings.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.SETTING=VALUE", help="One setting; may be repeated.")
    ] = None,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Begin with random weights, not with those that come with hmem.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            parser=options.parse_minutes,
            help="How long in all, with measuring it in the end: 30s, 10m, 1h.",
        ),
    ] = None,
    seed: options.Seed = None,
    device: options.Device = "auto",
    processes: Annotated[
        int,
        typer.Option(min=1, help="How many processes work on each batch: on a CPU cores, else GPUs, of this machine."),
    ] = 1,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    json_path: options.Json = None,
) -> None:
    """Train on the train facts of DATA, choosing the best weights by validation MRR. Test facts are not looked at.

    With --from a knowledge base takes the place of DATA: a twentieth of its facts is kept out of training to validate
    with, and when the model is ready and saved, and not before, the knowledge base uses it.
    """
    from hmem.config import merge
    from hmem.knowledge.retraining import Retraining
    from hmem.model.presets import DEFAULT
    from hmem.model.presets import preset as settings_of
    from hmem.runs.callbacks import CtrlC
    from hmem.runs.device import resolve_device
    from hmem.runs.fit import Plan, bundled_start, configure, train_in
    from hmem.runs.folder import RunFolder
    from hmem.training.places import Place

    if (data is None) == (from_kb is None):
        raise ConfigError("expected the DATA to train on, or --from KB, and not both")
    if fine_tune and from_kb is None:
        raise ConfigError("--fine-tune goes on from the model of a knowledge base; say which with --from KB")
    launched, quiet = Place.of(os.environ), json_path == "-"
    if launched is not None:
        if processes > 1:
            raise ConfigError("torchrun has started the processes; leave out --processes")
        resume = resume or (launched.attempt > 0 and RunFolder(out).is_interrupted)
    named, settings = options.settings(config_file, assignments)
    preset = preset or named
    if budget is not None:
        settings = merge(settings, {"training": {"minutes": budget}})
    going_on = output.resumable("The same command with --resume", stderr=quiet)
    with going_on, training_progress(quiet) as show, CtrlC() as ctrl_c:
        begun = "the weights in use" if fine_tune else "the weights that come with hmem"
        told = () if quiet else (_choices(begun, show),)
        how: dict[str, Any] = {"device": resolve_device(device), "callbacks": (*told, show, ctrl_c)}
        how |= {"resume": resume, "overwrite": overwrite, "processes": launched or processes}
        if from_kb is None:
            preset, dataset = preset or DEFAULT, output.load(str(data))
            config = configure(settings_of(preset), settings, seed)
            start = None if from_scratch else bundled_start(config, dataset)
            plan = Plan(data=shown_place(str(data)), dataset=dataset, preset=preset, config=config, start=start)
            trained = train_in(out, plan, **how)
        else:
            retraining = Retraining.of(from_kb, out, resume=resume)
            if retraining.problem:
                output.note(retraining.problem)
            how |= {"fine_tune": fine_tune, "from_scratch": from_scratch}
            trained = retraining.train(out, preset, settings=settings, seed=seed, **how)
    _tell(trained, out, from_kb, json_path)


def _choices(begun: str, shown: TrainingShown) -> "Callback":
    """Says on standard error which settings were chosen for the graph and why, and with which weights it began.

    And how far it is with questions that take long.
    """
    from hmem.runs.callbacks import Callback

    class Choices(Callback):
        def on_start(self, run: Mapping[str, Any]) -> None:
            for number, reason in enumerate(run.get("chosen", ())):
                start = f"from {begun}: " if number == 0 and run.get("fine_tune") else ""
                line = f"{start}{reason}."
                output.note(line[0].upper() + line[1:])

        def on_asking(self, what: str, done: int, total: int | None) -> None:
            shown.asking(what, done, total)

    return Choices()


def _tell(trained: "Trained", out: Path, from_kb: Place | None, json_path: str | None) -> None:
    """What the validation facts say of the model, where it is, and what to do next."""
    from hmem.cli.reports import show_reports

    model, outcome = trained.model, trained.outcome
    if trained.report is not None:
        show_reports([trained.report], trained.dataset, json_path=json_path)
        asked, facts = trained.report.protocols["all"]["both.count"], len(trained.dataset.valid)
        if trained.dataset.heldout is None and asked < 2 * facts and json_path != "-":
            output.note(
                f"These are {asked:,} of {2 * facts:,} questions of validation; the others would take too long."
            )
    else:
        cost = model.metrics["training"]
        output.write_json(json_path, {"model": model.preset, "dataset": model.dataset, "training": cost})
        for note in trained.dataset.notes:
            output.note(note)
        output.note(
            "Trained without validation: the last weights are kept, nothing is known about how good they are, and "
            "answers have scores instead of probabilities. With more facts about each entity this comes by itself."
        )
    if json_path == "-":
        return
    if outcome.began is not None and outcome.best == outcome.began:
        more = " More time (--budget) may help." if outcome.stopped == "time" else ""
        output.say(f"No weights were better than those it began with: these are kept.{more}")
    if trained.counting is not None:
        output.say(_counting_line(trained.counting))
    if trained.calibration is not None:
        output.say(_calibration_line(trained.calibration))
    output.say(f"{out}: trained {outcome.epochs:.1f} epochs in {outcome.seconds:.0f} s ({outcome.stopped}).")
    if from_kb is not None:
        output.say(f"{from_kb} uses it from now on.")
    elif trained.report is not None:
        output.console().print(f"Next: hmem evaluate {out}", style="dim", highlight=False)


def _counting_line(choice: "Choice") -> str:
    """Whether counting is part of the model, and what that was decided by."""
    model, joined, counts = (output.decimal(each) for each in (choice.model, choice.joined, choice.counts))
    if choice.joins:
        said = f"Counting is joined: valid MRR {joined} with it, {model} without it"
    else:
        said = f"Counting is not joined, since it adds too little: valid MRR {model} without it, {joined} with it"
    return f"{said}, {counts} by counting alone."


def _calibration_line(calibration: "Calibration") -> str:
    asked = plural(calibration.questions, "question")
    if calibration.error is None or calibration.top_error is None:
        return f"Calibrated on {asked}, too few to tell how well."
    return (
        f"Calibrated on {asked}: the probabilities of best answers are off by {100 * calibration.top_error:.1f} points "
        f"on average, those of all candidates by {100 * calibration.error:.2f}."
    )
