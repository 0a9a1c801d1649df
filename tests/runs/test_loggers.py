"""Loggers: TensorBoard and MLflow for real, Weights & Biases by a module in its place."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hmem
from hmem.errors import ConfigError, InterruptedRunError
from hmem.graph.dataset import Dataset
from hmem.runs.callbacks import Callback
from hmem.runs.loggers import MLflowLogger, TensorBoardLogger, WandbLogger
from hmem.training.hooks import Progress

SMALL: dict[str, Any] = {
    "memory": {"entity_dim": 6, "relation_dim": 4},
    "training": {"epochs": 3, "validate_every": 1},
}


class Watch(Callback):
    """What a logger should have logged: the validation MRR after each step; ends the run after step `until`."""

    def __init__(self, until: int | None = None) -> None:
        self.until, self.mrr, self.loss = until, dict[int, float](), dict[int, float]()

    def on_progress(self, now: Progress) -> None:
        self.loss[now.step] = now.loss

    def on_validation(self, now: Progress) -> None:
        assert now.validated is not None
        self.mrr[now.step] = now.validated

    def should_stop(self) -> bool:
        return self.until is not None and len(self.mrr) >= self.until


@pytest.mark.slow
def test_tensorboard_shows_the_run(toy: Dataset, tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    watch = Watch()
    hmem.fit(toy, "recall", settings=SMALL, callbacks=[TensorBoardLogger(tmp_path / "logs"), watch])
    seen = events.EventAccumulator(str(tmp_path / "logs"))
    seen.Reload()
    for name, expected in (("validation MRR", watch.mrr), ("loss", watch.loss)):
        assert {each.step: each.value for each in seen.Scalars(name)} == pytest.approx(expected)
    assert len(watch.mrr) == 3
    assert b'"preset": "recall"' in seen.Tensors("run/text_summary")[0].tensor_proto.string_val[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_mlflow_keeps_the_run(toy: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # quicker than a database
    uri, watch = (tmp_path / "runs").as_uri(), Watch()
    hmem.fit(toy, "recall", settings=SMALL, callbacks=[MLflowLogger("zoo", uri), watch])
    with pytest.raises(InterruptedRunError):
        hmem.fit(toy, "recall", settings=SMALL, callbacks=[MLflowLogger("zoo", uri), Watch(until=1)])
    client = mlflow.MlflowClient(uri)
    (experiment,) = (each for each in client.search_experiments() if each.name == "zoo")
    stopped, done = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time DESC"])
    assert (done.info.status, stopped.info.status) == ("FINISHED", "KILLED")
    assert done.data.params["memory.entity_dim"] == "6"
    found = client.get_metric_history(done.info.run_id, "validation MRR")
    assert {each.step: each.value for each in found} == pytest.approx(watch.mrr)


def test_weights_and_biases_is_told(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []
    run = SimpleNamespace(
        log=lambda values, step: told.append((step, values)), finish=lambda **how: told.append(("finish", how))
    )

    def init(**options: Any) -> Any:
        told.append(("init", options["mode"], options["project"], options["config"]["preset"]))
        return run

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    watch = Watch()
    hmem.fit(toy, "recall", settings=SMALL, callbacks=[WandbLogger("zoo", mode="offline"), watch])
    assert told[0] == ("init", "offline", "zoo", "recall")
    assert told[-1] == ("finish", {})
    assert [(step, values) for step, values in told[1:-1] if "validation MRR" in values] == [
        (step, {"validation MRR": mrr}) for step, mrr in watch.mrr.items()
    ]
    with pytest.raises(InterruptedRunError):
        hmem.fit(toy, "recall", settings=SMALL, callbacks=[WandbLogger(mode="offline"), Watch(until=1)])
    assert told[-1] == ("finish", {"exit_code": 1})


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ConfigError, match=r"this logger needs the package wandb; pip install wandb"):
        WandbLogger()
