"""One way to train, for Python, `hmem train`, `hmem reproduce` and the benchmarks.

fit         names and settings in, a model out
train_in    the same for a `Plan`, in a folder that no other process is training in
carry_out   train, measure and calibrate on the validation facts, save
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hmem.config import Config, from_dict, merge, parse_assignments, to_dict
from hmem.errors import ConfigError, Hint, InterruptedRunError, ProcessError
from hmem.evaluation.evaluate import Counting, Validator
from hmem.graph.dataset import Dataset
from hmem.graph.fact_keys import FactKeys, fact_keys
from hmem.graph.registry import counts, load_dataset
from hmem.model.build import Network
from hmem.model.checkpoint import BUNDLED, Model, model_folder
from hmem.model.checkpoint import load as load_model
from hmem.model.presets import DEFAULT
from hmem.model.presets import preset as settings_of
from hmem.runs.callbacks import Callback, Callbacks
from hmem.runs.choose import chosen
from hmem.runs.device import resolve_device
from hmem.runs.folder import RunFacts, RunFolder, claimed
from hmem.runs.measure import Trained, ending, measured, scorer_of
from hmem.training.clock import Clock
from hmem.training.gathering import gathered
from hmem.training.hooks import Hooks, Outcome, Progress
from hmem.training.loop import train
from hmem.training.places import Place
from hmem.training.state import State
from hmem.training.warm_start import warm_start

Settings = Mapping[str, Any] | Sequence[str]  # nested, as in a settings file, or "section.name=value", one or more
LOOK_SHARE = 0.05  # of the time, for one validation
SHIFTED_LOOK_SHARE = 0.02  # where many of them find in the end how often no stored fact is the answer
AnyCallback = Callback | Callable[[Progress], object]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is to do."""

    data: str  # the dataset as it was named, so that it can be found again
    dataset: Dataset
    preset: str
    config: Config
    start: Callable[[], State] | None = None  # the weights that fine-tuning begins with
    before: FactKeys | None = None  # of the facts that the model which it begins with was trained on
    reasons: tuple[str, ...] = ()  # for the settings that were chosen for the graph

    def settled(self, device: str) -> "Plan":
        """The plan with settings that suit the graph where the preset leaves them open."""
        config, reasons = chosen(self.config, self.dataset, device)
        return replace(self, config=config, reasons=tuple(reasons))

    @property
    def facts(self) -> RunFacts:
        """Which facts the model will have seen."""
        train, valid = (fact_keys(each, self.dataset.vocab) for each in (self.dataset.train, self.dataset.valid))
        return RunFacts(train if self.before is None else np.union1d(train, self.before), valid)

    @cached_property
    def run(self) -> dict[str, Any]:
        """What `run.json` holds."""
        more: dict[str, Any] = {"fine_tune": True} if self.start is not None else {}
        more |= {"chosen": list(self.reasons)} if self.reasons else {}
        about = {"data": self.data, "counts": counts(self.dataset), "facts": fingerprint(self.dataset)}
        about |= {"preset": self.preset}
        return {**about, **more, "config": to_dict(self.config)}


def fit(
    data: object,
    preset: str = DEFAULT,
    *,
    out: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    seed: int | None = None,
    device: str = "auto",
    callbacks: Iterable[AnyCallback] = (),
    from_scratch: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    processes: int = 1,
) -> Model:
    """Train a model on the train facts of `data`, keeping the weights with the best validation MRR.

    The default preset begins with the weights that come with hmem, unless `from_scratch`. `settings` change those of
    the preset. The model is calibrated where there are validation facts; test facts are not looked at. With `out` the
    model, its log and checkpoints are in that folder, and `resume=True` goes on with a run that was interrupted there;
    without `out` nothing is written. With several `processes` each works on its share of every batch; the weights are
    those that one process would find, but for rounding.
    """
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    name = str(data) if isinstance(data, str | os.PathLike) else dataset.name
    config = configure(settings_of(preset), settings, seed)
    start = None if from_scratch else bundled_start(config, dataset)
    plan = Plan(data=name, dataset=dataset, preset=preset, config=config, start=start)
    folder = None if out is None else Path(out).expanduser()
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "processes": processes}
    return train_in(folder, plan, device=device, callbacks=callbacks, **how).model


def load(folder: str | os.PathLike[str], device: str = "auto") -> Model:
    """The model in a folder that `fit` or `hmem train` wrote; `base` is the one that comes with hmem."""
    return load_model(model_folder(folder), resolve_device(device))


def bundled_start(config: Config, dataset: Dataset) -> Callable[[], State] | None:
    """How to begin with the weights that come with hmem, if they fit a model with these settings."""
    if config.propagation is None or config.propagation.roles == "learned":
        return None
    base = load_model(BUNDLED)
    assert base.config.propagation is not None
    if replace(base.config.propagation, roles=config.propagation.roles) != config.propagation:
        return None
    return lambda: warm_start(config, base.model, base.vocab, dataset.vocab, dataset.train)


def fingerprint(dataset: Dataset) -> str:
    """A checksum of all names and facts, in their order: the same for the same data wherever it lies."""
    digest = hashlib.sha256()
    for names in (dataset.vocab.entities, dataset.vocab.relations):
        digest.update(json.dumps(list(names)).encode())
    for facts in (dataset.train, dataset.valid, dataset.test, dataset.observed, dataset.heldout):
        digest.update(b"none" if facts is None else np.ascontiguousarray(facts, dtype="<i8").tobytes())
    return digest.hexdigest()


def configure(base: Mapping[str, Any], settings: Settings | None = None, seed: int | None = None) -> Config:
    """The settings of a preset with others in their place."""
    settings = [settings] if isinstance(settings, str) else settings
    nested = settings if isinstance(settings, Mapping) else parse_assignments(list(settings or ()))
    config = from_dict(Config, merge(base, nested, {} if seed is None else {"training": {"seed": seed}}))
    if config.propagation is not None and nested.get("memory"):
        hint = Hint(text="choose a preset that has memories", option="preset", value="recall")
        raise ConfigError("settings of [memory] mean nothing to a network that passes messages", hint=hint)
    return config


def train_in(
    out: Path | None,
    plan: Plan,
    *,
    device: str = "auto",
    callbacks: Iterable[AnyCallback] = (),
    resume: bool = False,
    overwrite: bool = False,
    measure: bool = True,
    processes: int | Place = 1,
) -> Trained:
    """Carry out a plan in a folder of its own, or without one."""
    device = resolve_device(device)
    if isinstance(processes, int) and processes < 1:
        raise ConfigError(f"processes={processes} must be 1 or more", option="processes", found=processes)
    plan = plan.settled(device)
    how: dict[str, Any] = {"device": device, "callbacks": callbacks, "measure": measure, "processes": processes}
    if out is None:
        if resume or overwrite:
            option = "resume" if resume else "overwrite"
            raise ConfigError(f"{option} is about the folder of a run, and there is none", hint=Hint(option="out"))
        return carry_out(plan, None, plan.start and plan.start(), **how)
    folder = RunFolder(out, plan.facts)
    start = folder.resume(plan.run) if resume else plan.start and plan.start()
    with claimed(out) as is_ours:
        if not is_ours:
            raise ConfigError("another process is training in {path}; choose another folder", path=out)
        if not resume:
            folder.begin(plan.run, overwrite)
        return carry_out(plan, folder, start, **how)


def carry_out(
    plan: Plan,
    folder: RunFolder | None,
    start: State | None,
    *,
    device: str = "auto",
    callbacks: Iterable[AnyCallback] = (),
    measure: bool = True,
    processes: int | Place = 1,
) -> Trained:
    """Train, measure, calibrate, save. The folder is ready, and claimed by the caller."""
    device, training = resolve_device(device), plan.config.training
    dataset, told = plan.dataset, Callbacks([*([] if folder is None else [folder.log]), *callbacks])
    clock = Clock(training.minutes, 0.0 if start is None else start.seconds)
    validator = _validator(plan, start, device) if len(dataset.valid) else None

    def validate(network: Network | Counting) -> float:
        assert validator is not None
        if isinstance(network, Counting):
            return validator(network)
        metric = validator(scorer_of(network, validator, told, "validating"))
        clock.ending = ending(network, validator, training.fit_absence, measure, clock)
        return metric

    hooks = Hooks(
        validate=None if validator is None else validate,
        progress=told.on_progress,
        checkpoint=None if folder is None else (lambda state: folder.checkpoint(_with_questions(state, validator))),
        improved=None if folder is None else (lambda model, metric: folder.keep(_so_far(plan, model, metric))),
        stop=told.should_stop,
    )
    going_on = None if folder is None else Hint(text="go on from there", option="resume")
    told.on_start(plan.run)
    size = (dataset.num_entities, dataset.num_relations)
    try:
        with gathered(processes, device) as group:
            outcome = train(
                plan.config, dataset.train, *size,
                device=device, hooks=hooks, resume=start, processes=group, clock=clock,
            )  # fmt: skip
        if outcome.stopped == "interrupted":
            raise InterruptedRunError(f"stopped after {outcome.epochs:.1f} epochs", hint=going_on)
        trained = _trained(plan, outcome)
        if measure and validator is not None:
            trained = measured(trained, validator, told, clock)
        if folder is not None:
            folder.finish(trained.model)
    except BaseException as error:
        if isinstance(error, ProcessError) and folder is not None and folder.is_interrupted:
            error.hint = going_on
        told.on_error(error)
        raise
    told.on_end(trained.model)
    return trained


def _validator(plan: Plan, start: State | None, device: str) -> Validator:
    """Validation as a run needs it: within its share of the time, and with the same questions after a stop."""
    training = plan.config.training
    if start is not None and start.questions is not None:
        return Validator(plan.dataset, start.questions, device)
    share = SHIFTED_LOOK_SHARE if training.fit_absence else LOOK_SHARE
    seconds = None if training.minutes is None else 60 * training.minutes * share
    return Validator(plan.dataset, training.validation_queries, device, seconds)


def _with_questions(state: State, validator: Validator | None) -> State:
    is_short = validator is not None and validator.seconds is not None and validator.pace > 0
    return replace(state, questions=len(validator.queries)) if validator is not None and is_short else state


def _model(plan: Plan, network: Network, cost: dict[str, Any]) -> Model:
    """A network with what a model folder says of it."""
    metrics = {"reports": [], "training": cost}
    return Model(
        model=network, config=plan.config, vocab=plan.dataset.vocab, dataset=plan.dataset.name, preset=plan.preset,
        metrics=metrics,
    )  # fmt: skip


def _so_far(plan: Plan, network: Network, metric: float) -> Model:
    """The best weights of a run that goes on, so that there is a model whatever becomes of it."""
    return _model(plan, network, {"stopped": "not yet", "best": round(metric, 4)})


def _trained(plan: Plan, outcome: Outcome) -> Trained:
    """The model with what its training took."""
    cost = {
        "training_seconds": round(outcome.seconds, 1),
        "epochs": round(outcome.epochs, 2),
        "stopped": outcome.stopped,
        "parameters": sum(parameter.numel() for parameter in outcome.model.parameters()),
    }
    model = _model(plan, outcome.model, cost)
    return Trained(model=model, dataset=plan.dataset, outcome=outcome, report=None, calibration=None)
