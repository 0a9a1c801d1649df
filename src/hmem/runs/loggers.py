"""Loggers for programs in which people watch their trainings: TensorBoard, MLflow, Weights & Biases.

Each is a callback, `hmem.fit(data, callbacks=[TensorBoardLogger("logs")])`, and needs its package, which is looked for
when the logger is made. All log the loss, the speed and the validation MRR, by the number of steps.
"""

import importlib
import json
import math
import os
from collections.abc import Mapping
from typing import Any

from hmem.errors import ConfigError, Hint, InterruptedRunError
from hmem.model.checkpoint import Model
from hmem.runs.callbacks import Callback
from hmem.runs.dotted import flat
from hmem.training.hooks import Progress


class TensorBoardLogger(Callback):
    """Event files in a folder, which `tensorboard --logdir` shows."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.writer = _module("torch.utils.tensorboard", "tensorboard").SummaryWriter(os.fspath(folder))

    def on_start(self, run: Mapping[str, Any]) -> None:
        self.writer.add_text("run", f"```\n{json.dumps(run, indent=2)}\n```")

    def on_progress(self, now: Progress) -> None:
        for name, value in numbers(now).items():
            self.writer.add_scalar(name, value, now.step)

    def on_end(self, model: Model) -> None:
        self.writer.close()

    def on_error(self, error: BaseException) -> None:
        self.writer.close()


class MLflowLogger(Callback):
    """A run of an experiment; its settings are the parameters. Where it is kept is for MLflow to say, or for `uri`."""

    def __init__(self, experiment: str = "hmem", uri: str | None = None) -> None:
        self.mlflow = _module("mlflow", "mlflow-skinny")
        if uri is not None:
            self.mlflow.set_tracking_uri(uri)
        self.mlflow.set_experiment(experiment)

    def on_start(self, run: Mapping[str, Any]) -> None:
        self.mlflow.start_run()
        self.mlflow.log_params(flat({"data": run["data"], "preset": run["preset"], **run["config"]}))

    def on_progress(self, now: Progress) -> None:
        self.mlflow.log_metrics(numbers(now), step=now.step)

    def on_end(self, model: Model) -> None:
        self.mlflow.end_run()

    def on_error(self, error: BaseException) -> None:
        is_wanted = isinstance(error, InterruptedRunError | KeyboardInterrupt)
        self.mlflow.end_run("KILLED" if is_wanted else "FAILED")


class WandbLogger(Callback):
    """A run of a project in Weights & Biases; `options` go to `wandb.init`, such as mode="offline"."""

    def __init__(self, project: str = "hmem", **options: Any) -> None:
        self.wandb, self.options = _module("wandb", "wandb"), {"project": project, **options}

    def on_start(self, run: Mapping[str, Any]) -> None:
        self.run = self.wandb.init(config=dict(run), **self.options)

    def on_progress(self, now: Progress) -> None:
        self.run.log(numbers(now), step=now.step)

    def on_end(self, model: Model) -> None:
        self.run.finish()

    def on_error(self, error: BaseException) -> None:
        self.run.finish(exit_code=1)


def numbers(now: Progress) -> dict[str, float]:
    """What there is to draw: what was just measured, or else the loss and the speed."""
    if now.validated is not None:
        return {"validation MRR": now.validated}
    found = {"loss": now.loss, "facts per second": now.triples_per_second}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        hint = Hint(command=f"pip install {package}")
        raise ConfigError(f"this logger needs the package {package}", hint=hint) from None
