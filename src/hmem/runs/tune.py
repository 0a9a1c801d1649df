"""`hmem tune`: look for settings that suit a graph, by the validation MRR of many trainings.

Half of the time goes to short trainings, with settings that Optuna proposes from what it has seen; the first has those
that `hmem train` would take, and one that falls behind is given up. Then the best three are trained longer, and the
best of all for the time that is left. A training that ends by itself would gain nothing by more time: then there are
more short ones. All is in one folder, in which the same call goes on after an interruption:

run.json        what was asked for; a tuning goes on only with the same
study.jsonl     Optuna's journal of all trials
trial/          the training that is going on
model/          the best model so far
best.toml       its settings, for `hmem train --config`
"""

import importlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hmem.config import Config, from_dict, merge, to_dict
from hmem.errors import ConfigError, Hint, HMemError, InterruptedRunError
from hmem.evaluation.evaluate import Validator
from hmem.evaluation.metrics import MRR
from hmem.model.checkpoint import Model
from hmem.model.checkpoint import load as load_model
from hmem.runs.callbacks import Callback
from hmem.runs.device import resolve_device
from hmem.runs.dotted import flat, nested, to_toml
from hmem.runs.fit import AnyCallback, Plan, bundled_start, train_in
from hmem.runs.folder import LOCK, RunFolder, claimed, difference, read_run
from hmem.runs.measure import Trained, measured
from hmem.runs.space import Search
from hmem.runs.trials import Next, Tried, next_trial
from hmem.sqlite_files import RUN
from hmem.training.hooks import Outcome, Progress

if TYPE_CHECKING:
    import optuna

STUDY, TRIAL, MODEL, BEST = "study.jsonl", "trial", "model", "best.toml"
QUESTIONS = 1000  # of a validation, at most
LOOKS = 8  # by which trials are compared, each at the same share of its time


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What a tuning came to."""

    model: Model  # the best, measured and calibrated
    mrr: float  # its validation MRR, with all validation facts
    tried: list[Tried]
    best: Tried


def tune_in(
    out: Path,
    plan: Plan,
    *,
    minutes: float,
    fixed: Mapping[str, Any],
    device: str = "auto",
    callbacks: Iterable[AnyCallback] = (),
    told: Callable[[Tried], None] = lambda tried: None,
    overwrite: bool = False,
) -> Tuned:
    """Tune in a folder of its own, or go on with the tuning in it. `minutes` are for all calls together.

    `fixed` are the settings of the plan that the caller has chosen, nested: they are not tried otherwise. `told` hears
    of each training when it ends. A stop by a callback is an InterruptedRunError, and the next call goes on.
    """
    if not len(plan.dataset.valid):
        raise ConfigError(f"{plan.data} has no validation facts, and tuning goes by their MRR")
    _optuna().logging.set_verbosity(_optuna().logging.WARNING)
    with claimed(out) as is_ours:
        if not is_ours:
            raise ConfigError("another process is tuning in {path}; choose another folder", path=out)
        _begin(out, plan, overwrite)
        tuning = _Tuning(out, plan, flat(fixed), resolve_device(device), list(callbacks))
        while (upcoming := tuning.upcoming(60 * minutes)) is not None:
            told(tuning.run(upcoming))
        return tuning.finish()


class _Tuning:
    """A tuning that goes on: its folder, its study, and how to carry out a trial."""

    def __init__(
        self, out: Path, plan: Plan, fixed: Mapping[str, Any], device: str, callbacks: list[AnyCallback]
    ) -> None:
        self.out, self.plan, self.fixed, self.device, self.callbacks = out, plan, fixed, device, callbacks
        can_start = bundled_start(plan.config, plan.dataset) is not None
        self.search = Search(config=plan.settled(device).config, fixed=fixed, can_start=can_start)
        self.optuna = _optuna()
        self.study = _study(out / STUDY, plan.config.training.seed)
        self.states = self.optuna.trial.TrialState
        for trial in self.study.get_trials(states=(self.states.RUNNING,)):  # of a call that was interrupted
            self.study.tell(trial.number, state=self.states.FAIL)
            begun = {name: value for name, value in trial.user_attrs.items() if name in ("level", "length")}
            self.study.enqueue_trial(trial.params, user_attrs=begun)
        if not self.study.trials:
            self.study.enqueue_trial(self.search.first())

    def tried(self) -> list[Tried]:
        return [_tried(each) for each in self.study.trials if each.state != self.states.WAITING]

    def upcoming(self, seconds: float) -> Next | None:
        upcoming = next_trial(self.tried(), seconds)
        for each in self.study.get_trials(states=(self.states.WAITING,)):
            if "length" in each.user_attrs:  # interrupted, and trained on as long as it was to be
                return Next(seconds=each.user_attrs["length"], level=each.user_attrs["level"])
        return upcoming

    def run(self, upcoming: Next) -> Tried:
        """Train once, and keep the model if it is the best so far."""
        if upcoming.again is not None:
            self.study.enqueue_trial(self.study.trials[upcoming.again.number].params)
        trial, began = self.study.ask(), time.perf_counter()
        settings = self.search.propose(trial)
        for name, value in (("level", upcoming.level), ("length", upcoming.seconds), ("settings", settings)):
            trial.set_user_attr(name, value)
        ended, state, best = "interrupted", self.states.FAIL, max(self._mrrs(), default=0.0)
        watch = _Watch(trial, self.optuna.TrialPruned)
        try:
            trained = self._train(settings, upcoming.seconds, watch)
            ended, state = trained.outcome.stopped, self.states.COMPLETE
            if watch.mrr(trained.outcome) >= best:
                self._keep(trained.model, settings)
        except InterruptedRunError:
            raise
        except self.optuna.TrialPruned:
            ended, state = "given up", self.states.PRUNED
        except (HMemError, torch.OutOfMemoryError) as error:
            if trial.number == 0:  # what `hmem train` would do fails as well
                raise
            ended = f"failed: {error}"
        finally:
            trial.set_user_attr("ended", ended)
            trial.set_user_attr("seconds", round(time.perf_counter() - began, 1))
        self.study.tell(trial, watch.mrr(trained.outcome) if state == self.states.COMPLETE else None, state)
        return _tried(self.study.trials[trial.number])

    def _mrrs(self) -> list[float]:
        return [each.mrr for each in self.tried() if each.is_finished and each.mrr is not None]

    def _train(self, settings: Mapping[str, Any], seconds: float, watch: "_Watch") -> Trained:
        asked = self.plan.config.training.validation_queries or QUESTIONS
        limits = {"training": {"minutes": seconds / 60, "validation_queries": min(QUESTIONS, asked)}}
        config = from_dict(Config, merge(to_dict(self.plan.config), nested(settings), limits))
        plan = replace(self.plan, config=config, start=bundled_start(config, self.plan.dataset))
        folder = RunFolder(self.out / TRIAL)
        how: dict[str, Any] = {"device": self.device, "callbacks": [*self.callbacks, watch], "measure": False}
        try:
            if folder.is_interrupted and read_run(folder.path) == plan.settled(self.device).run:
                return train_in(folder.path, plan, resume=True, **how)
            return train_in(folder.path, plan, overwrite=True, **how)
        except self.optuna.TrialPruned:
            shutil.rmtree(folder.path)
            raise

    def _keep(self, model: Model, settings: Mapping[str, Any]) -> None:
        kept = RunFolder(self.out / MODEL, self.plan.facts)
        kept.begin(read_run(self.out / TRIAL), overwrite=True)
        kept.finish(model)
        self._write_best({**self.fixed, **settings})

    def _write_best(self, settings: Mapping[str, Any]) -> None:
        train = f"# hmem train {self.plan.data} --config {self.out / BEST} --out DIR\n"
        text = to_toml({"preset": self.plan.preset, **settings})
        (self.out / BEST).write_text(train + text, encoding="utf-8")

    def finish(self) -> Tuned:
        """Measure and calibrate the best model, if it is not yet."""
        kept, tried = RunFolder(self.out / MODEL, self.plan.facts), self.tried()
        model, dataset = load_model(kept.path, self.device), self.plan.dataset
        if not model.metrics["reports"]:
            cost = model.metrics["training"]
            outcome = Outcome(
                model=model.model, best=None, epochs=cost["epochs"], seconds=cost["training_seconds"],
                stopped=cost["stopped"],
            )  # fmt: skip
            trained = Trained(model=model, dataset=dataset, outcome=outcome, report=None, calibration=None)
            validator = Validator(dataset, self.plan.config.training.validation_queries, self.device)
            model = measured(trained, validator).model
            kept.finish(model)
        shutil.rmtree(self.out / TRIAL, ignore_errors=True)
        best = max((each for each in tried if each.is_finished), key=lambda each: (each.mrr or 0.0, each.number))
        return Tuned(model=model, mrr=model.metrics["reports"][0]["protocols"]["all"][MRR], tried=tried, best=best)


class _Watch(Callback):
    """Tells the study how a trial gets on, and gives it up when it is behind half of the others.

    What the weights had before the first step says nothing of the settings.
    """

    def __init__(self, trial: "optuna.Trial", pruned: type[Exception]) -> None:
        self.trial, self.pruned = trial, pruned
        self.start, self.best, self.looks = 0.0, 0.0, {0}

    def on_validation(self, now: Progress) -> None:
        assert now.validated is not None
        if now.step == 0:
            self.start = now.validated
            return
        self._remember(now.validated)
        look = round(LOOKS * now.share)
        if look not in self.looks:
            self.looks.add(look)
            self.trial.report(now.validated, look)
            if self.trial.should_prune():
                raise self.pruned

    def mrr(self, outcome: Outcome) -> float:
        """What training has reached; more than any look said where something was fitted in the end."""
        if outcome.best is not None and outcome.best > self.start:
            self._remember(outcome.best)
        return self.best

    def _remember(self, mrr: float) -> None:
        self.best = max(self.best, mrr)
        self.trial.set_user_attr("mrr", self.best)


def _begin(out: Path, plan: Plan, overwrite: bool) -> None:
    """Make the folder ready, or see that the tuning in it is of the same data and settings."""
    if overwrite:
        for name in (RUN, STUDY, BEST):
            (out / name).unlink(missing_ok=True)
        for name in (TRIAL, MODEL):
            shutil.rmtree(out / name, ignore_errors=True)
    there = {each.name for each in out.iterdir()}
    if STUDY not in there:
        if there - {RUN, LOCK}:
            raise ConfigError("{path} is not empty", path=out, hint=Hint(text="choose another folder"))
        (out / RUN).write_text(json.dumps(plan.run, indent=2) + "\n", encoding="utf-8")
    before = read_run(out)
    if before != plan.run:
        problem = f"the tuning in {{path}} had {difference(before, plan.run)}; give the same to go on"
        raise ConfigError(problem, path=out, hint=Hint(text="or begin anew", option="overwrite"))


def _study(path: Path, seed: int) -> "optuna.Study":
    """The study in a journal, of which a killed process may have left half a line at the end."""
    if path.exists():
        whole = path.read_bytes()
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])
    package, journal = _optuna(), importlib.import_module("optuna.storages.journal")
    backend = journal.JournalFileBackend(str(path), lock_obj=journal.JournalFileOpenLock(str(path)))
    study: optuna.Study = package.create_study(
        storage=package.storages.JournalStorage(backend),
        study_name="hmem",
        load_if_exists=True,
        direction="maximize",
        pruner=package.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=1),
    )
    study.sampler = package.samplers.TPESampler(seed=seed + len(study.trials))  # not what was proposed before
    return study


def _tried(trial: "optuna.trial.FrozenTrial") -> Tried:
    if_interrupted = {"settings": {}, "seconds": 0.0, "level": 0, "ended": "interrupted"}
    told = {name: trial.user_attrs.get(name, value) for name, value in if_interrupted.items()}
    return Tried(number=trial.number, mrr=trial.user_attrs.get("mrr"), **told)


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError:
        raise ConfigError("tuning needs the package optuna", hint=Hint(command="pip install 'hmem[tune]'")) from None
