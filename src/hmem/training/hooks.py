"""What a training tells its surroundings, what it asks of them, and what it comes to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hmem.model.build import Network
from hmem.training.state import State


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a run stands, for bars and logs."""

    epoch: int
    epochs: int
    step: int
    share: float  # of the whole run, 0 to 1
    loss: float
    triples_per_second: float
    seconds: float
    best: float | None  # the best validation metric so far
    validated: float | None = None  # the metric just measured, if it was
    note: str | None = None  # what happened that a person should know


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    model: Network  # with the best weights
    best: float | None  # the validation metric they reached
    began: float | None = None  # that of the weights the run began with, if it was measured
    epochs: float
    seconds: float
    stopped: str  # "done", "patience", "time", "interrupted" or "learning rate too high"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hooks:
    """What a run asks of its surroundings; all optional."""

    # Of a network, or of what is `Counted`: a metric to be raised, usually the validation MRR.
    validate: Callable[[Any], float] | None = None
    progress: Callable[[Progress], None] | None = None
    checkpoint: Callable[[State], None] | None = None
    improved: Callable[[Network, float], None] | None = None  # told of the weights with the best metric so far
    stop: Callable[[], bool] | None = None  # asked after each step, and in the middle of long ones
