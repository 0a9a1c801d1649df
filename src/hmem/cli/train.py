"""`hmem train`: fit a model to a graph."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmem.cli import options, output
from hmem.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from hmem.config import Config
    from hmem.graph.dataset import Dataset
    from hmem.training.loop import Progress
    from hmem.training.state import State

RUN, STATE, LOG = "run.json", "training.safetensors", "log.jsonl"


def train(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The model folder to write.")],
    preset: Annotated[
        str, typer.Option(help="Named settings; the paper's rows are tpr, tpr-inf, tpr-im, cconv, …")
    ] = "recall",
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
    """Train on the train facts of DATA, choosing the best weights by validation MRR. Test facts are not looked at."""
    from hmem.config import Config, from_dict, load_toml, merge, parse_assignments
    from hmem.graph.registry import counts
    from hmem.model.presets import preset as settings_of

    settings = merge(
        settings_of(preset), load_toml(config_file) if config_file else {}, parse_assignments(assignments or [])
    )
    if seed is not None:
        settings = merge(settings, {"training": {"seed": seed}})
    config = from_dict(Config, settings)
    place = options.resolve_device(device)
    dataset = output.load(data)
    run = {"data": data, "counts": counts(dataset), "preset": preset}
    state = _prepare(out, run, config, resume, overwrite)
    _run(dataset, config, preset, out, place, state, json_path)


def _prepare(out: Path, run: dict[str, Any], config: "Config", resume: bool, overwrite: bool) -> "State | None":
    """Make the folder ready: a new run, or the state of the one to go on with."""
    from hmem.config import to_dict
    from hmem.model.checkpoint import read_tensors
    from hmem.training.state import State

    run = {**run, "config": to_dict(config)}
    if resume:
        if not (out / STATE).exists():
            raise CheckpointError(f"{out}: no interrupted run to go on with (no {STATE})")
        before = json.loads((out / RUN).read_text(encoding="utf-8"))
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


def _run(
    dataset: "Dataset",
    config: "Config",
    preset: str,
    out: Path,
    device: str,
    state: "State | None",
    json_path: str | None,
) -> None:
    from hmem.cli.progress import training_progress
    from hmem.cli.show import show_reports
    from hmem.evaluation.report import report
    from hmem.evaluation.validation import Validator
    from hmem.model.checkpoint import SavedModel, save, write_tensors
    from hmem.model.hmem import ModelScorer
    from hmem.training.loop import Hooks, train

    quiet = json_path == "-"
    validator = Validator(dataset, config.training.validation_queries, device)
    with (out / LOG).open("a", encoding="utf-8") as log, training_progress(quiet) as show, _stop_on_ctrl_c() as stopped:

        def progress(now: "Progress") -> None:
            show(now)
            log.write(json.dumps({name: getattr(now, name) for name in now.__dataclass_fields__}) + "\n")
            log.flush()

        outcome = train(
            config,
            dataset.train,
            dataset.num_entities,
            dataset.num_relations,
            device=device,
            hooks=Hooks(
                validate=lambda model: validator(ModelScorer(model, validator.graph)),
                progress=progress,
                checkpoint=lambda now: write_tensors(out / STATE, *now.to_tensors()),
                stop=lambda: bool(stopped),
            ),
            resume=state,
        )
    console = output.console(stderr=quiet)
    if outcome.stopped == "interrupted":
        console.print(f"Stopped after {outcome.epochs:.1f} epochs. The same command with --resume goes on from here.")
        raise typer.Exit(130)
    facts: dict[str, Any] = {
        "settings": {"preset": preset, **json.loads((out / RUN).read_text())["config"]},
        "seed": config.training.seed,
        "extra": {
            "training_seconds": round(outcome.seconds, 1),
            "epochs": round(outcome.epochs, 2),
            "stopped": outcome.stopped,
            "parameters": sum(parameter.numel() for parameter in outcome.model.parameters()),
        },
    }
    made = report(ModelScorer(outcome.model, validator.graph), dataset, model=preset, split="valid", **facts)
    save(
        out,
        SavedModel(
            model=outcome.model,
            config=config,
            vocab=dataset.vocab,
            dataset=dataset.name,
            preset=preset,
            metrics={"reports": [made.to_dict()], "training": facts["extra"]},
        ),
    )
    (out / STATE).unlink(missing_ok=True)
    show_reports([made], dataset, json_path=json_path)
    if not quiet:
        console.print(f"{out}: trained {outcome.epochs:.1f} epochs in {outcome.seconds:.0f} s ({outcome.stopped}).")
        console.print(f"Next: hmem evaluate {out}", style="dim", highlight=False)


@contextmanager
def _stop_on_ctrl_c() -> Iterator[list[int]]:
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
