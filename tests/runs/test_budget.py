"""A budget holds, on a clock that only the questions move, whatever they take and whatever else the machine does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import hmem
from hmem.errors import InterruptedRunError
from hmem.evaluation.baselines import RandomScores
from hmem.graph.dataset import Dataset
from hmem.model.hmem import HMem
from hmem.model.propagation import Propagation
from hmem.runs import measure

SMALL: dict[str, dict[str, Any]] = {
    "any-graph": {"propagation": {"dim": 2, "steps": 1}},
    "recall": {"memory": {"entity_dim": 4, "relation_dim": 3}},
}


class Machine:
    """Every question takes some seconds; `slower` says how many times as long it takes from then on."""

    def __init__(self, seconds: float, slower: Callable[[float], float] = lambda now: 1.0) -> None:
        self.now, self.seconds, self.slower = 0.0, seconds, slower
        self.longest = 0.0

    def ask(self, questions: int) -> None:
        took = questions * self.seconds * self.slower(self.now)
        self.longest = max(self.longest, took)
        self.now += took


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Machine], Machine]:
    def use(machine: Machine) -> Machine:
        scores, answer = Propagation.scores, HMem.answer

        def slow_scores(self: Propagation, entity: Tensor, *rest: Any, **named: Any) -> Tensor:
            machine.ask(len(entity))
            return scores(self, entity, *rest, **named)

        def slow_answer(self: HMem, query: Any, *rest: Any, **named: Any) -> Any:
            machine.ask(len(query))
            return answer(self, query, *rest, **named)

        monkeypatch.setattr(Propagation, "scores", slow_scores)
        monkeypatch.setattr(HMem, "answer", slow_answer)
        monkeypatch.setattr("time.perf_counter", lambda: machine.now)
        return machine

    return use


@pytest.mark.parametrize("preset", SMALL)
@pytest.mark.parametrize("busy", [1.0, 1.5])
def test_a_training_ends_in_its_time(preset: str, busy: float, toy: Dataset, on: Callable[[Machine], Machine]) -> None:
    """Also if the machine is busy in the last third."""
    machine = on(Machine(1.0, lambda now: busy if now > 200 else 1.0))
    settings = {**SMALL[preset], "training": {"minutes": 5.0, "epochs": 10**6, "validate_every": 10, "patience": None}}
    model = hmem.fit(toy, preset, settings=settings, device="cpu")
    assert model.metrics["training"]["stopped"] == "time"
    assert model.metrics["reports"]
    assert 200 < machine.now <= 330


def test_a_step_that_is_longer_than_the_budget_is_made_shorter(toy: Dataset, on: Callable[[Machine], Machine]) -> None:
    """64 questions of twenty seconds each, in ten minutes: two are asked in a step."""
    machine = on(Machine(20.0))
    unvalidated = Dataset(name="toy", vocab=toy.vocab, train=toy.train, valid=toy.valid[:0], test=toy.test)
    settings = {**SMALL["recall"], "training": {"minutes": 10.0}}
    model = hmem.fit(unvalidated, "recall", settings=settings, device="cpu")
    assert model.metrics["training"]["stopped"] == "time"
    assert machine.longest <= 3 * 20
    assert machine.now <= 600 + 2 * 20


def test_ctrl_c_ends_a_step_in_the_middle_and_nothing_is_lost(
    toy: Dataset, tmp_path: Path, on: Callable[[Machine], Machine]
) -> None:
    """The step that was broken off is made again when the run goes on."""
    on(Machine(1.0))
    settings = {**SMALL["any-graph"], "training": {"minutes": 1e9, "epochs": 1, "validate_every": 1.0}}
    asked = Asked(until=10)
    how: dict[str, Any] = {"settings": settings, "out": tmp_path / "m", "device": "cpu"}
    with pytest.raises(InterruptedRunError):
        hmem.fit(toy, "any-graph", callbacks=[asked], **how)
    model = hmem.fit(toy, "any-graph", resume=True, **how)
    straight = hmem.fit(toy, "any-graph", **{**how, "out": tmp_path / "straight"})
    assert model.metrics["training"]["stopped"] == "done"
    for name, each in straight.model.state_dict().items():
        assert each.equal(model.model.state_dict()[name])


class Asked(hmem.Callback):
    """Stops when it has been asked so often whether to stop."""

    def __init__(self, until: int) -> None:
        self.left = until

    def should_stop(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_ctrl_c_in_validation_and_in_the_end_is_made_up_for(toy: Dataset, tmp_path: Path) -> None:
    settings = {**SMALL["any-graph"], "training": {"epochs": 1, "validate_every": 0.5, "minutes": 1e9}}
    how: dict[str, Any] = {"settings": settings, "device": "cpu"}
    straight = hmem.fit(toy, "any-graph", **how)
    for until in (1, 5, 13, 30):
        out = tmp_path / str(until)
        try:
            model = hmem.fit(toy, "any-graph", callbacks=[Asked(until)], out=out, **how)
        except InterruptedRunError:
            model = hmem.fit(toy, "any-graph", resume=True, out=out, **how)
        assert model.metrics["reports"][0]["protocols"]["all"] == straight.metrics["reports"][0]["protocols"]["all"]


def test_scores_that_are_kept_are_not_asked_for_again() -> None:
    kept = measure.Kept(RandomScores(5))
    first = kept.score(torch.tensor([1, 2]), torch.tensor([0, 1]))
    again = kept.score(torch.tensor([2, 3, 1]), torch.tensor([1, 0, 0]))
    assert (kept.asked, again[0].equal(first[1]), again[2].equal(first[0])) == (3, True, True)
