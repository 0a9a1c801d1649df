"""`hmem train`: fit a model to a graph."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output
from hmem.cli.training_from_kb import begin, split_moment
from hmem.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from hmem.cli.training_from_kb import Growth
    from hmem.config import Config
    from hmem.evaluation.calibration import Calibration
    from hmem.evaluation.report import Report
    from hmem.graph.dataset import Dataset
    from hmem.model.index import FrozenIndex
    from hmem.training.loop import Outcome
    from hmem.training.state import State


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a run is to do."""

    dataset: "Dataset"
    config: "Config"
    preset: str
    out: Path
    device: str
    growth: "Growth | None"  # where the facts came from, if from a knowledge base
    json_path: str | None


def train(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The model folder to write.")],
    data: options.OptionalData = None,
    from_kb: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="KB", help="Instead of DATA: the facts of a knowledge base, which then uses DIR."
        ),
    ] = None,
    fine_tune: Annotated[
        bool, typer.Option("--fine-tune", help="With --from: go on from the weights of the model in use.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Named settings; the paper's rows are tpr, tpr-inf, tpr-im, cconv, … By default recall; with --from "
            "those of the model in use."
        ),
    ] = None,
    config_file: Annotated[Path | None, typer.Option("--config", metavar="TOML", help="More settings.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.SETTING=VALUE", help="One setting; may be repeated.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same as --set training.seed=N.")] = None,
    device: options.Device = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what DIR holds.")] = False,
    json_path: options.Json = None,
) -> None:
    """Train on the train facts of DATA, choosing the best weights by validation MRR. Test facts are not looked at.

    With --from a knowledge base takes the place of DATA: a twentieth of its facts is kept out of training to validate
    with, and when the model is ready and saved, and not before, the knowledge base uses it.
    """
    from hmem.config import Config, from_dict, load_toml, merge, parse_assignments, to_dict
    from hmem.graph.registry import counts
    from hmem.model.presets import preset as settings_of

    if (data is None) == (from_kb is None):
        raise ConfigError("expected the DATA to train on, or --from KB, and not both")
    if fine_tune and from_kb is None:
        raise ConfigError("--fine-tune goes on from the model of a knowledge base; say which with --from KB")
    place = options.resolve_device(device)
    growth = None if from_kb is None else begin(from_kb, out, _trained_moment(out) if resume else None)
    if growth is not None and growth.before is not None and preset is None:
        preset, settings = growth.before.preset, to_dict(growth.before.config)
    else:
        if growth is not None and growth.trouble:
            output.note(growth.trouble)
        preset = preset or "recall"
        settings = settings_of(preset)
    settings = merge(settings, load_toml(config_file) if config_file else {}, parse_assignments(assignments or []))
    if seed is not None:
        settings = merge(settings, {"training": {"seed": seed}})
    config = from_dict(Config, settings)
    dataset = output.load(growth.data if growth is not None else str(data))
    start = growth.start(config, dataset) if growth is not None and fine_tune and not resume else None
    if fine_tune:
        output.note("The model in use has seen some of these facts, so the figures of a fine-tuned one flatter it.")
    run = {"data": growth.data if growth is not None else data, "counts": counts(dataset), "preset": preset}
    state = _prepare(out, {**run, "fine_tune": True} if fine_tune else run, config, resume, overwrite) or start
    job = Job(dataset=dataset, config=config, preset=preset, out=out, device=place, growth=growth, json_path=json_path)
    _run(job, state)


def _trained_moment(out: Path) -> int | None:
    """The moment of the knowledge base that an interrupted run took its facts from."""
    from hmem.runs.folder import RUN

    try:
        before = json.loads((out / RUN).read_text(encoding="utf-8"))["data"]
    except (OSError, ValueError, KeyError):  # `_prepare` says what is wrong
        return None
    return split_moment(before)[1]


def _prepare(out: Path, run: dict[str, Any], config: "Config", resume: bool, overwrite: bool) -> "State | None":
    """Make the folder ready: a new run, or the state of the one to go on with."""
    from hmem.config import Config, from_dict, to_dict
    from hmem.model.checkpoint import read_tensors
    from hmem.runs.folder import LOG, RUN, STATE
    from hmem.training.state import State

    run = {**run, "config": to_dict(config)}
    if resume:
        if not (out / STATE).exists():
            raise CheckpointError(f"{out}: no interrupted run to go on with (no {STATE})")
        before = json.loads((out / RUN).read_text(encoding="utf-8"))
        before["config"] = to_dict(from_dict(Config, before["config"]))  # perhaps of an earlier version
        if before != run:
            raise ConfigError(f"{out}: the interrupted run had {_difference(before, run)}; give the same to go on")
        return State.from_tensors(*read_tensors(out / STATE))
    if out.exists() and not overwrite and any(child.name not in (RUN, LOG) for child in out.iterdir()):
        unfinished = (out / STATE).exists()
        hint = "--resume to go on with its run" if unfinished else "--overwrite to replace it"
        raise ConfigError(f"{out} is not empty; choose another folder, or add {hint}")
    out.mkdir(parents=True, exist_ok=True)
    for name in (STATE, LOG):
        (out / name).unlink(missing_ok=True)
    (out / RUN).write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    return None


def _run(job: Job, state: "State | None") -> None:
    from hmem.cli.progress import training_progress
    from hmem.runs.folder import train_in

    quiet = job.json_path == "-"
    with training_progress(quiet) as show, stop_on_ctrl_c() as stopped:
        outcome, graph = train_in(
            job.out,
            job.config,
            job.dataset,
            device=job.device,
            progress=show,
            stop=lambda: bool(stopped),
            resume=state,
        )
    if outcome.stopped == "interrupted":
        console = output.console(stderr=quiet)
        console.print(f"Stopped after {outcome.epochs:.1f} epochs. The same command with --resume goes on from here.")
        raise typer.Exit(130)
    _finish(job, outcome, graph)


def _finish(job: Job, outcome: "Outcome", graph: "FrozenIndex") -> None:
    """Measure the model, save it, say so; and only then let a knowledge base use it."""
    from hmem.cli.show import show_reports
    from hmem.model.checkpoint import SavedModel, save
    from hmem.runs.folder import STATE, cost_of

    extra = cost_of(outcome)
    made, calibration = _measured(job, outcome, graph, extra) if len(job.dataset.valid) else (None, None)
    metrics: dict[str, Any] = {"reports": [made.to_dict()] if made else [], "training": extra}
    if calibration is not None:
        metrics["calibration"] = calibration.to_dict()
    save(
        job.out,
        SavedModel(
            model=outcome.model,
            config=job.config,
            vocab=job.dataset.vocab,
            dataset=job.dataset.name,
            preset=job.preset,
            metrics=metrics,
        ),
    )
    (job.out / STATE).unlink(missing_ok=True)
    if job.growth is not None:
        job.growth.swap(job.out)
    if made is not None:
        show_reports([made], job.dataset, json_path=job.json_path)
    else:
        output.written(job.json_path, {"model": job.preset, "dataset": job.dataset.name, "training": extra})
        _tell_unmeasured(job.dataset)
    if job.json_path == "-":
        return
    if calibration is not None:
        output.say(_calibration_line(calibration))
    output.say(f"{job.out}: trained {outcome.epochs:.1f} epochs in {outcome.seconds:.0f} s ({outcome.stopped}).")
    if job.growth is not None:
        output.say(f"{job.growth.path} uses it from now on.")
    elif made is not None:
        output.console().print(f"Next: hmem evaluate {job.out}", style="dim", highlight=False)


def _measured(
    job: Job, outcome: "Outcome", graph: "FrozenIndex", extra: dict[str, Any]
) -> "tuple[Report, Calibration | None]":
    """What the validation facts say of the model: its figures, and what its scores are worth."""
    from hmem.config import to_dict
    from hmem.evaluation.calibration import calibrate
    from hmem.evaluation.report import report
    from hmem.model.hmem import ModelScorer

    settings = {"preset": job.preset, **to_dict(job.config)}
    scorer = ModelScorer(outcome.model, graph)
    made = report(
        scorer,
        job.dataset,
        model=job.preset,
        split="valid",
        settings=settings,
        seed=job.config.training.seed,
        extra=extra,
    )
    return made, calibrate(scorer, job.dataset)


def _tell_unmeasured(dataset: "Dataset") -> None:
    for note in dataset.notes:
        output.note(note)
    output.note(
        "Trained without validation: the last weights are kept, nothing is known about how good they are, and answers "
        "have scores instead of probabilities. With more facts about each entity this comes by itself."
    )


def _calibration_line(calibration: "Calibration") -> str:
    asked = output.plural(calibration.questions, "question")
    if calibration.error is None or calibration.top_error is None:
        return f"Calibrated on {asked}, too few to tell how well."
    return (
        f"Calibrated on {asked}: the probabilities of best answers are off by {100 * calibration.top_error:.1f} points "
        f"on average, those of all candidates by {100 * calibration.error:.2f}."
    )


@contextmanager
def stop_on_ctrl_c() -> Iterator[list[int]]:
    """The first Ctrl-C asks the run to end after its step; a second one ends it at once."""
    asked: list[int] = []

    def handle(signum: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(signum)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _difference(before: dict[str, Any], now: dict[str, Any], where: str = "") -> str:
    """The first setting in which two runs differ."""
    for name in {**before, **now}:
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict) and old != new:
            return _difference(old, new, f"{where}{name}.")
        if old != new:
            return f"{where}{name}={old}, not {new}"
    return "other settings"
