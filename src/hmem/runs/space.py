"""Which settings `hmem tune` tries, and the values among which it looks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hmem.config import Config, to_dict


@dataclass(frozen=True, slots=True)
class Between:
    low: float
    high: float
    log: bool = False


Values = Between | tuple[Any, ...]
Space = dict[str, Values]  # by dotted name, as in `--set`

DECAY = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
PROPAGATION: Space = {
    "training.learning_rate": Between(5e-4, 2e-2, log=True),
    "training.batch_size": (8, 16, 32, 64),
    "training.link_withholding": Between(0.0, 1.0),
    "training.neighbor_dropout": Between(0.0, 0.5),
    "training.weight_decay": DECAY,
}
START: Space = {"propagation.roles": ("both", "learned")}  # the weights that come with hmem, or new ones
NEW_NETWORK: Space = {"propagation.dim": (16, 32), "propagation.steps": (4, 6)}
MEMORY: Space = {
    "training.learning_rate": Between(5e-4, 1e-2, log=True),
    "training.batch_size": (256, 512, 1024),
    "training.label_smoothing": (0.0, 0.1),
    "training.neighbor_dropout": Between(0.0, 0.3),
    "training.weight_decay": DECAY,
}
EXACT: Space = {
    "training.link_withholding": Between(0.0, 1.0),
    "training.exact_rate": (2.0, 5.0, 10.0),
    "memory.entity_dim": (80, 128, 200),
}
PATHS: Space = {"memory.exact.paths.steps": (2, 3)}
READOUT: Space = {"memory.readout.maps": (4, 8), "memory.readout.damping": (None, 0.3)}


@runtime_checkable
class Suggests(Protocol):
    """The part of an Optuna trial that is needed here."""

    def suggest_categorical(self, name: str, choices: Any) -> Any: ...

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Search:
    """The settings to look for, beside those that the caller has fixed."""

    config: Config  # what is tried first, with nothing left open
    fixed: Mapping[str, Any]  # by dotted name
    can_start: bool  # whether the weights that come with hmem fit

    def propose(self, trial: Suggests) -> dict[str, Any]:
        """The settings of a trial, by dotted name."""
        found = self._suggest(trial, self._space())
        if self.config.propagation is not None:
            roles = found.get("propagation.roles", self.config.propagation.roles)
            if roles == "learned" or not self.can_start:
                found |= self._suggest(trial, NEW_NETWORK)
        return found

    def first(self) -> dict[str, Any]:
        """The settings as they are without tuning."""
        names = {**self._space(), **(NEW_NETWORK if self.config.propagation is not None else {})}
        return {name: self._given(name) for name in names if name not in self.fixed}

    def _space(self) -> Space:
        if self.config.propagation is not None:
            return {**(START if self.can_start else {}), **PROPAGATION}
        memory, space = self.config.memory, dict(MEMORY)
        for part, is_there in ((EXACT, memory.exact), (PATHS, memory.exact and memory.exact.paths)):
            space |= part if is_there else {}
        return space | (READOUT if memory.readout else {})

    def _suggest(self, trial: Suggests, space: Space) -> dict[str, Any]:
        return {name: self._value(trial, name, values) for name, values in space.items() if name not in self.fixed}

    def _value(self, trial: Suggests, name: str, values: Values) -> Any:
        """A value among those listed; the one that would be taken without tuning is always among them."""
        given = self._given(name)
        if isinstance(values, tuple):
            return trial.suggest_categorical(name, values if given in values else (given, *values))
        low, high = min(values.low, given), max(values.high, given)
        return float(f"{trial.suggest_float(name, low, high, log=values.log):.3g}")

    def _given(self, name: str) -> Any:
        place: Any = to_dict(self.config)
        for part in name.split("."):
            place = place[part]
        return place
