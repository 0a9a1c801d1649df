"""Everything a run needs to go on as if it had never stopped."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import torch
from torch import Tensor

from hmem.errors import CheckpointError
from hmem.model.build import Network
from hmem.model.weights import with_todays_names

Weights = dict[str, Tensor]


@dataclass(slots=True)
class State:
    """Counters, the best weights so far and, once captured, the current weights and the optimizer's moments.

    Random choices depend on the seed and the step alone, so no generator has to be kept.
    """

    step: int = 0
    seconds: float = 0.0
    loss: float = float("nan")
    best_metric: float | None = None
    last_metric: float | None = None
    looks_without_gain: int = 0
    rate_left: float = 1.0  # of the learning rate, after setbacks
    is_unjudged: bool = False  # whether validation was interrupted
    questions: int | None = None  # of each validation, where that was found by the time they take
    best_weights: Weights | None = None
    weights: Weights = field(default_factory=dict)
    moments: dict[str, Tensor] = field(default_factory=dict)
    tables: dict[str, Tensor] = field(default_factory=dict)  # with a row for each entity, where they are apart

    def record(self, metric: float, model: Network) -> None:
        """Remember a validation metric, and the weights if it is the best."""
        self.last_metric = metric
        if self.best_metric is None or metric > self.best_metric:
            self.best_metric, self.looks_without_gain = metric, 0
            self.best_weights = _copy(model.state_dict())
        else:
            self.looks_without_gain += 1

    def captured(self, model: Network, optimizer: torch.optim.Optimizer) -> "State":
        """This state with the current weights and moments in it."""
        self.weights = _copy(model.state_dict())
        self.moments = {
            f"{position}.{name}": value.detach().clone()
            for position, moments in optimizer.state_dict()["state"].items()
            for name, value in moments.items()
        }
        return self

    def restore(self, model: Network, optimizer: torch.optim.Optimizer) -> None:
        """Put the weights and moments in their places; those of another model are a CheckpointError."""
        for weights in (self.weights, self.best_weights):
            if weights is not None and _shapes(weights) != _shapes(model.state_dict()):
                raise CheckpointError("the state of the run has other weights than the model")
        model.load_state_dict(self.weights)
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        per_parameter: dict[int, dict[str, Tensor]] = {}
        for key, value in self.moments.items():
            position, _, name = key.partition(".")
            if not position.isdecimal() or not (found := parameters[int(position) : int(position) + 1]):
                raise CheckpointError(f"the state of the run has moments of no parameter ({key})")
            if value.shape not in (found[0].shape, torch.Size([])) or not value.is_floating_point():
                raise CheckpointError(f"the state of the run has moments of another shape ({key})")
            per_parameter.setdefault(int(position), {})[name] = value.clone()  # the optimizer writes into what it gets
        whole = optimizer.state_dict()
        if any({*each} != MOMENTS for each in per_parameter.values()):
            raise CheckpointError("the state of the run lacks some of its moments")
        optimizer.load_state_dict({**whole, "state": per_parameter})

    def to_tensors(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        """The tensors and the text metadata of a safetensors file."""
        tensors = {f"weights/{name}": value for name, value in self.weights.items()}
        tensors |= {f"moments/{name}": value for name, value in self.moments.items()}
        tensors |= {f"best/{name}": value for name, value in (self.best_weights or {}).items()}
        tensors |= {f"tables/{name}": value for name, value in self.tables.items()}
        counters = {name: getattr(self, name) for name in COUNTERS}
        return {name: value.contiguous().cpu() for name, value in tensors.items()}, {"state": json.dumps(counters)}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], metadata: dict[str, str]) -> "State":
        def part(prefix: str) -> dict[str, Tensor]:
            named = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
            return with_todays_names(named)

        try:
            counters = {OLD_COUNTERS.get(name, name): value for name, value in json.loads(metadata["state"]).items()}
            wrong = [name for name, value in counters.items() if not isinstance(value, COUNTERS[name])]
            if wrong or counters.get("step", 0) < 0:
                raise ValueError(f"{', '.join(wrong) or 'step'} is none")
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError(f"not the state of a run ({error!r})") from error
        best = part("best/")
        parts: dict[str, Any] = {name: part(f"{name}/") for name in ("weights", "moments", "tables")}
        return cls(**counters, best_weights=best or None, **parts)


def save_state(checkpoint: Callable[[State], None], state: State, *, is_all_there_is: bool) -> None:
    """Save the state of a run. Where that fails, on a full disk for one, a run goes on, unless nothing else is left."""
    try:
        checkpoint(state)
    except CheckpointError as error:
        if is_all_there_is:
            raise
        warnings.warn(f"the training goes on, but its state is not saved: {error}", stacklevel=3)


COUNTERS: dict[str, tuple[type, ...]] = {
    "step": (int,),
    "seconds": (int, float),
    "loss": (int, float),
    "best_metric": (int, float, NoneType),
    "last_metric": (int, float, NoneType),
    "looks_without_gain": (int,),
    "rate_left": (int, float),
    "is_unjudged": (bool,),
    "questions": (int, NoneType),
}
OLD_COUNTERS = {"best_figure": "best_metric", "last_figure": "last_metric"}  # in states of earlier versions

MOMENTS = {"step", "exp_avg", "exp_avg_sq"}  # that Adam has of a parameter


def _shapes(weights: Weights) -> dict[str, torch.Size]:
    return {name: value.shape for name, value in weights.items()}


def _copy(weights: Weights) -> Weights:
    return {name: value.detach().clone() for name, value in weights.items()}
