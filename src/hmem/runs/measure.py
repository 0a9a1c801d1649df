"""What the validation facts say of a model, within the time that is left: its MRR, counting's worth, calibration.

Where a question takes a pass over the graph, on a CPU, each is asked once and its scores serve all three.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.config import Config
from hmem.errors import InterruptedRunError
from hmem.evaluation.calibration import Calibration, calibrate
from hmem.evaluation.evaluate import Scorer, Validator
from hmem.evaluation.joined import ALONE, Joined, Weights, weights_of
from hmem.evaluation.marks import QUESTIONS, SLOTS
from hmem.evaluation.queries import Queries, queries_of
from hmem.evaluation.report import Report, report
from hmem.evaluation.weighing import Choice, choose
from hmem.graph.dataset import Dataset
from hmem.model.build import ModelScorer, Network
from hmem.model.checkpoint import Model
from hmem.model.hmem import HMem
from hmem.model.propagation import Propagation
from hmem.runs.callbacks import Callback
from hmem.runs.evaluate import Watched
from hmem.training.clock import Clock
from hmem.training.hooks import Outcome

FEWER_SLOTS = 400  # of calibration, where each takes a pass over the graph on a CPU
FEWEST = {"questions": 10, "slots": 5}
FEW = 16  # questions by which it is found how long one takes
LEAST_ASKED = 10
SHIFTS = 10  # of the null slots that are tried in the end, each by a validation
PLACING = 0.3  # of a question, for each entity of which it is learned where its facts place it
MOST_ENDING = 0.3  # of the time, for all of this
LEAST_ENDING = 0.05  # also where no time is left
PARTS = {"counting": 0.3, "report": 0.4, "calibration": 0.8}  # of the time that is left then
CALIBRATING = 3  # times as long takes a question to calibrate with as one to rank, where the model is quick
KEPT = 2**28  # bytes of scores that are kept


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What a run came to."""

    model: Model
    dataset: Dataset
    outcome: Outcome
    report: Report | None  # on the validation facts; None without any
    calibration: Calibration | None
    counting: Choice | None = None  # how much counting is worth, where that was left open


def scorer_of(network: Network, validator: Validator, told: Callback, what: str) -> Scorer:
    """A network on the graph of its training, which tells how far it is if that takes long, and can be stopped."""
    scorer = ModelScorer(network, validator.graph)
    if not isinstance(network, Propagation):
        return scorer

    def asked(done: int) -> None:
        told.on_asking(what, done, validator.num_questions if what == "validating" else None)
        if told.should_stop():
            raise InterruptedRunError(f"stopped while {what}")

    return Watched(scorer, asked)


def ending(network: Network, validator: Validator, shifts: bool, measure: bool, clock: Clock) -> float:
    """The seconds that it will take to end a run, as the last validation lets expect."""
    asked = (1 + SHIFTS) * len(validator.queries) if shifts else 0.0
    asked += PLACING * network.num_entities if isinstance(network, HMem) else 0
    if measure and is_slow(network):
        asked += validator.num_questions + 2 * FEWER_SLOTS
    elif measure:
        asked += len(validator.queries) + 2 * validator.num_facts + CALIBRATING * (QUESTIONS + 2 * SLOTS)
    return min(MOST_ENDING * clock.limit, asked * validator.pace)


def is_slow(network: Network) -> bool:
    """Whether each question takes a pass over the graph on a CPU."""
    return isinstance(network, Propagation) and network.device.type == "cpu"


def measured(
    trained: Trained, validator: Validator, told: Callback | None = None, clock: Clock | None = None
) -> Trained:
    """The same with what the validation facts say of the model; some of their questions say how much counting is worth.

    That is found in the end and not in each validation, so that a GPU does not wait for it. A clock that is limited
    says how many questions there is time for.
    """
    model, dataset, clock = trained.model, trained.dataset, clock or Clock()
    until = clock.seconds + max(clock.left, LEAST_ENDING * clock.limit)
    asked, slow, choice = validator.queries, is_slow(model.model), None
    scorer = scorer_of(model.model, validator, told or Callback(), "measuring")
    scorer = Kept(scorer) if slow else scorer

    def left(part: str) -> float:
        return PARTS[part] * (until - clock.seconds) if clock.is_limited else math.inf

    if model.config.training.counting is None:
        asked = fitting(asked, left("counting"), lambda some: choose(scorer, dataset, some))
        choice = choose(scorer, dataset, asked)
        model = replace(model, config=with_counting(model.config, choice.weights))
    weights = weights_of(model.config.training.counting)
    joined: Scorer = scorer if weights == ALONE else Joined(scorer, dataset.inference_graph("train"), weights)
    ranked = asked if slow else queries_of(dataset, "valid")
    ranked = fitting(ranked, left("report"), lambda some: validator.measure(joined, some))
    made = report(
        joined, dataset, model=model.preset, split="valid", settings=model.settings, seed=model.config.training.seed,
        queries=ranked, extra=model.metrics["training"],
    )  # fmt: skip
    pace = scorer.pace if isinstance(scorer, Kept) else CALIBRATING * made.seconds / max(1, len(ranked))
    pairs = np.unique(np.stack([ranked.entities, ranked.roles], axis=1), axis=0)
    numbers = _affordable(left("calibration"), pace, slow)
    calibration = calibrate(joined, dataset, sample=pairs if slow else None, **numbers)  # their scores are kept
    metrics = {**model.metrics, "reports": [made.to_dict()]}
    metrics |= {} if choice is None else {"counting": asdict(choice)}
    metrics |= {} if calibration is None else {"calibration": calibration.to_dict()}
    model = replace(model, metrics=metrics)
    return replace(trained, model=model, report=made, calibration=calibration, counting=choice)


def fitting(asked: Queries, seconds: float, ask: Callable[[Queries], object]) -> Queries:
    """As many of the questions as can be asked in some seconds, which a few of them tell."""
    if math.isinf(seconds) or len(asked) <= FEW:
        return asked
    began = time.perf_counter()
    ask(asked.sample(FEW))
    pace = max(1e-9, (time.perf_counter() - began) / FEW)
    return asked.sample(max(LEAST_ASKED, int(seconds / pace)))


def _affordable(seconds: float, pace: float, slow: bool) -> dict[str, int]:
    """How many questions to calibrate with; of a slow model besides those that it has answered."""
    most = {"slots": FEWER_SLOTS} if slow else {"questions": QUESTIONS, "slots": SLOTS}
    if math.isinf(seconds):
        return most
    share = min(1.0, seconds / max(1e-9, pace) / (most.get("questions", 0) + 2 * most["slots"]))
    return {name: max(FEWEST[name], round(share * number)) for name, number in most.items()}


def with_counting(config: Config, weights: Weights) -> Config:
    """The settings with other weights of the network and of counting."""
    network, best, own, other, times = weights
    counting = 0.0 if weights == ALONE else (network, best, own, other, times)
    return replace(config, training=replace(config.training, counting=counting))


class Kept:
    """A scorer that keeps the scores of each question, as many as there is room for, and knows how long one takes."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.rows: dict[tuple[int, int], Float[Tensor, " E"]] = {}
        self.asked, self.seconds, self.bytes = 0, 0.0, 0

    @property
    def device(self) -> torch.device:
        return self.scorer.device

    @property
    def pace(self) -> float:
        return self.seconds / max(1, self.asked)

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        pairs = list(zip(entities.tolist(), roles.tolist(), strict=True))
        new = np.array([place for place, pair in enumerate(pairs) if pair not in self.rows], dtype=np.int64)
        found: dict[tuple[int, int], Float[Tensor, " E"]] = {}
        if len(new):
            began = time.perf_counter()
            rows = self.scorer.score(entities[new], roles[new])
            self.seconds += time.perf_counter() - began
            self.asked += len(new)
            found = {pairs[place]: row for place, row in zip(new.tolist(), rows, strict=True)}
            if self.bytes + rows.nbytes <= KEPT:
                self.rows |= found
                self.bytes += rows.nbytes
        return torch.stack([found[pair] if pair in found else self.rows[pair] for pair in pairs])
