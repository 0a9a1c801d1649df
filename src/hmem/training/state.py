"""Everything a run needs to go on as if it had never stopped."""

import json
from dataclasses import dataclass, field

import torch
from torch import Tensor

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
    best_weights: Weights | None = None
    weights: Weights = field(default_factory=dict)
    moments: dict[str, Tensor] = field(default_factory=dict)

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
        model.load_state_dict(self.weights)
        per_parameter: dict[int, dict[str, Tensor]] = {}
        for key, value in self.moments.items():
            position, name = key.split(".", 1)
            per_parameter.setdefault(int(position), {})[name] = value.clone()  # the optimizer writes into what it gets
        whole = optimizer.state_dict()
        optimizer.load_state_dict({**whole, "state": per_parameter})

    def to_tensors(self) -> tuple[dict[str, Tensor], dict[str, str]]:
        """The tensors and the text metadata of a safetensors file."""
        tensors = {f"weights/{name}": value for name, value in self.weights.items()}
        tensors |= {f"moments/{name}": value for name, value in self.moments.items()}
        tensors |= {f"best/{name}": value for name, value in (self.best_weights or {}).items()}
        counters = {name: getattr(self, name) for name in COUNTERS}
        return {name: value.contiguous().cpu() for name, value in tensors.items()}, {"state": json.dumps(counters)}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], metadata: dict[str, str]) -> "State":
        def part(prefix: str) -> dict[str, Tensor]:
            named = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
            return with_todays_names(named)

        counters = {OLD_COUNTERS.get(name, name): value for name, value in json.loads(metadata["state"]).items()}
        best = part("best/")
        return cls(**counters, best_weights=best or None, weights=part("weights/"), moments=part("moments/"))


COUNTERS = ("step", "seconds", "loss", "best_metric", "last_metric", "looks_without_gain", "rate_left")
OLD_COUNTERS = {"best_figure": "best_metric", "last_figure": "last_metric"}  # in states of earlier versions


def _copy(weights: Weights) -> Weights:
    return {name: value.detach().clone() for name, value in weights.items()}
