"""Tuning: how the time is divided, what is kept, and how it goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hmem
from hmem.config import load_toml
from hmem.errors import ConfigError, InterruptedRunError, NonFiniteError
from hmem.graph.dataset import Dataset
from hmem.model.presets import preset as settings_of
from hmem.runs import trials, tune
from hmem.runs.callbacks import Callback
from hmem.runs.fit import Plan, configure, train_in
from hmem.runs.trials import Next, Tried, next_trial
from hmem.runs.tune import BEST, MODEL, STUDY, Tuned, tune_in

optuna = pytest.importorskip("optuna")

FIXED: dict[str, Any] = {
    "memory": {"entity_dim": 6, "relation_dim": 4, "exact": {"paths": None}},
    "training": {"epochs": 2, "validate_every": 1, "patience": None},
}


def tried(number: int, mrr: float, seconds: float = 100.0, level: int = 0, ended: str = "time", lr: int = 0) -> Tried:
    return Tried(number=number, settings={"lr": lr or number}, mrr=mrr, seconds=seconds, level=level, ended=ended)


# How the time is divided


def test_half_of_the_time_is_for_short_trials() -> None:
    assert next_trial([], 3200.0) == Next(seconds=100.0)
    assert next_trial([tried(n, 0.1) for n in range(15)], 3200.0) == Next(seconds=100.0)
    assert next_trial([], 1.0) == Next(seconds=5.0)


def test_then_the_best_are_trained_longer_and_the_best_of_all_to_the_end() -> None:
    done = [tried(n, 0.1 + 0.01 * n) for n in range(16)]
    seen = []
    for number in range(16, 20):
        upcoming = next_trial(done, 3200.0)
        assert upcoming is not None
        assert upcoming.again is not None
        seen.append((upcoming.again.number, upcoming.level, round(upcoming.seconds)))
        mrr = 0.9 if number == 17 else 0.1  # the second best gains most
        done.append(tried(number, mrr, upcoming.seconds, upcoming.level, lr=upcoming.again.settings["lr"]))
    assert seen == [(15, 1, 267), (14, 1, 267), (13, 1, 267), (17, 2, 800)]
    assert next_trial(done, 3200.0) is None
    assert next_trial(done, 6400.0) == Next(seconds=200.0)  # there is more time than before


def test_a_training_that_ended_by_itself_is_not_repeated() -> None:
    done = [tried(n, 0.1 + 0.01 * n, ended="patience") for n in range(20)]
    assert next_trial(done, 3200.0) == Next(seconds=100.0)
    given_up = [*done, tried(20, 0.9, ended="given up")]
    assert next_trial(given_up, 3200.0) == Next(seconds=100.0)


def test_there_is_an_end_to_cheap_trials() -> None:
    done = [tried(n, 0.1, seconds=0.1, ended="done") for n in range(trials.MOST_TRIALS)]
    assert next_trial(done[1:], 3200.0) is not None
    assert next_trial(done, 3200.0) is None


# What is kept


class Stop(Callback):
    """Ends the run at the step `at`, counted over all trials."""

    def __init__(self, at: int) -> None:
        self.at, self.steps = at, 0

    def should_stop(self) -> bool:
        self.steps += 1
        return self.steps == self.at


@pytest.fixture
def tuning(toy: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tuned]:
    """Three trials of two epochs each, in `tuned`."""
    monkeypatch.setattr(trials, "MOST_TRIALS", 3)

    def run(callback: Callback | None = None, dataset: Dataset = toy, seed: int = 0, **how: Any) -> Tuned:
        config = configure(settings_of("recall"), FIXED, seed)
        plan = Plan(data="toy", dataset=dataset, preset="recall", config=config)
        callbacks = [] if callback is None else [callback]
        out = tmp_path / "tuned"
        return tune_in(out, plan, minutes=60.0, fixed=FIXED, device="cpu", callbacks=callbacks, **how)

    return run


def test_the_best_model_and_its_settings_are_kept(tuning: Callable[..., Tuned], toy: Dataset, tmp_path: Path) -> None:
    told: list[Tried] = []
    tuned = tuning(told=told.append)
    assert tuned.tried == told
    assert [each.ended for each in told] == ["done"] * 3
    assert told[0].settings["training.learning_rate"] == 2e-3  # what would be taken without tuning
    assert len({each.settings["training.learning_rate"] for each in told}) == 3
    assert tuned.best.mrr == max(each.mrr or 0.0 for each in told)
    model = hmem.load(tmp_path / "tuned" / MODEL)
    assert model.config.training.learning_rate == tuned.best.settings["training.learning_rate"]
    assert model.metrics["reports"][0]["split"] == "valid"
    assert "calibration" in model.metrics
    best = load_toml(tmp_path / "tuned" / BEST)
    assert best.pop("preset") == "recall"
    assert configure(settings_of("recall"), best).training.learning_rate == model.config.training.learning_rate
    assert best["memory"]["entity_dim"] == 6
    for line in (tmp_path / "tuned" / STUDY).read_text(encoding="utf-8").splitlines():
        json.loads(line)
    assert sorted(path.name for path in (tmp_path / "tuned").iterdir()) == [BEST, MODEL, "run.json", STUDY]
    again = tuning(told=told.append)  # nothing is left to do
    assert (again.tried, again.best, len(told)) == (tuned.tried, tuned.best, 3)


def test_an_interrupted_tuning_goes_on(tuning: Callable[..., Tuned], tmp_path: Path) -> None:
    """The second trial is broken off after its first epoch, and goes on from there."""
    whole = tuning()
    with pytest.raises(InterruptedRunError):
        tuning(Stop(at=7), overwrite=True)
    assert hmem.load(tmp_path / "tuned" / MODEL).preset == "recall"  # the best so far
    with (tmp_path / "tuned" / STUDY).open("ab") as journal:
        journal.write(b'{"half a li')  # as a kill may leave it
    steps: list[int] = []
    went_on = tuning(lambda now: steps.append(now.step))
    assert steps[0] == 2
    first, broken, second, *_ = went_on.tried
    assert (broken.ended, second.ended) == ("interrupted", "done")
    assert second.settings == broken.settings == whole.tried[1].settings
    assert (first.mrr, second.mrr) == (whole.tried[0].mrr, whole.tried[1].mrr)


def test_a_hopeless_trial_is_given_up(tuning: Callable[..., Tuned], monkeypatch: pytest.MonkeyPatch) -> None:
    class FirstOnly(optuna.pruners.BasePruner):  # type: ignore[misc]
        def prune(self, study: Any, trial: Any) -> bool:
            return bool(trial.number > 0)

    monkeypatch.setattr(optuna.pruners, "MedianPruner", lambda **_: FirstOnly())
    tuned = tuning()
    assert [each.ended for each in tuned.tried] == ["done", "given up", "given up"]
    assert all(each.mrr is not None for each in tuned.tried)
    assert tuned.best.number == 0


def test_a_trial_that_fails_is_one_of_many(tuning: Callable[..., Tuned], monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def fails_twice(*given: Any, **how: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise NonFiniteError("the loss is nan")
        return train_in(*given, **how)

    monkeypatch.setattr(tune, "train_in", fails_twice)
    assert [each.ended for each in tuning().tried] == ["done", "failed: the loss is nan", "done"]
    calls[:] = [1]
    with pytest.raises(NonFiniteError):  # so does what would be taken without tuning
        tuning(overwrite=True)


def test_it_goes_on_with_the_same_only(tuning: Callable[..., Tuned], toy: Dataset, tmp_path: Path) -> None:
    tuning()
    with pytest.raises(ConfigError, match=r"had config\.training\.seed=0, not 1; give the same to go on.*overwrite"):
        tuning(seed=1)
    assert len(tuning(seed=1, overwrite=True).tried) == 3
    (tmp_path / "tuned" / STUDY).unlink()
    with pytest.raises(ConfigError, match="is not empty"):
        tuning(seed=1)
    with pytest.raises(ConfigError, match="no validation facts"):
        tuning(dataset=Dataset(**{**vars(toy), "valid": toy.valid[:0]}))


def test_without_optuna_it_says_what_to_install(tuning: Callable[..., Tuned], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"tuning needs the package optuna; pip install 'hmem\[tune\]'"):
        tuning()
