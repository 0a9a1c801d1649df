"""Several processes train as one would."""

import math
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from subprocess import Popen
from typing import Any

import pytest
import torch

from hmem.config import Config
from hmem.errors import ConfigError, NonFiniteError, ProcessError
from hmem.graph.dataset import Dataset
from hmem.model.build import Network
from hmem.training import loop, material, processes
from hmem.training.gathering import backend_for, gathered
from hmem.training.hooks import Hooks, Outcome, Progress
from hmem.training.loop import train
from hmem.training.places import Place, Started
from hmem.training.processes import ALONE, Together
from hmem.training.start import new_model
from hmem.training.state import State
from tests.model.problems import small
from tests.training.test_loop import RUNS as SMALLEST
from tests.training.test_loop import STEPS, broken_off, metric_of, weights

# of two dimensions a layer norm says so little that the gradient is hardly more than rounding
RUNS = {**SMALLEST, "propagation": small("any-graph", training={**STEPS, "neighbor_dropout": 0.1})}


def fit(
    config: Config,
    toy: Dataset,
    count: int,
    hooks: Hooks | None = None,
    resume: State | None = None,
    began: Callable[[list[int]], None] = lambda pids: None,
) -> Outcome:
    size = (toy.num_entities, toy.num_relations)
    with gathered(count, "cpu") as group:
        if isinstance(group, Together):
            began([each.pid for each in group.started.processes.values()])
        return train(config, toy.train, *size, hooks=hooks, resume=resume, processes=group)


def assert_alike(left: Outcome, right: Outcome, rtol: float = 1e-3) -> None:
    for (name, value), other in zip(weights(left.model).items(), weights(right.model).values(), strict=True):
        torch.testing.assert_close(value, other, rtol=rtol, atol=rtol / 100, msg=name)


def is_running(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def test_two_processes_take_the_steps_of_one(toy: Dataset) -> None:
    config, told = RUNS["recall"], list[Progress]()
    assert_alike(fit(config, toy, 2, Hooks(progress=told.append)), fit(config, toy, 1))
    assert told[-1].step == 9


def in_double(*of: Any) -> Network:
    return new_model(*of).double()


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("run", list(RUNS))
def test_any_number_of_processes_takes_the_steps_of_one(
    run: str, count: int, toy: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In double precision: Adam makes a whole step of a gradient that is nothing but rounding."""
    monkeypatch.setattr(material, "new_model", in_double)
    monkeypatch.setattr(loop, "LOG_SECONDS", math.inf)  # on a busy machine some would tell of more steps
    alone, together = list[Progress](), list[Progress]()
    one = fit(RUNS[run], toy, 1, Hooks(progress=alone.append))
    assert_alike(fit(RUNS[run], toy, count, Hooks(progress=together.append)), one, rtol=1e-6)
    assert [now.loss for now in together] == pytest.approx([now.loss for now in alone], rel=1e-7)


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_processes(toy: Dataset) -> None:
    saved: list[State] = []
    fit(RUNS["recall"], toy, 3, broken_off(4, checkpoint=saved.append))
    assert saved[-1].step == 4
    assert_alike(fit(RUNS["recall"], toy, 2, resume=saved[-1]), fit(RUNS["recall"], toy, 1))


@pytest.mark.slow
def test_a_setback_is_one_for_all(toy: Dataset) -> None:
    """The first process goes back to the best weights, and the others with it."""
    found, told = list[Outcome](), list[Progress]()
    for count in (1, 2):
        looks = [0]

        def validate(model: Any, looks: list[int] = looks) -> float:
            looks[0] += 1
            if looks[0] == 2:
                raise NonFiniteError("as after a step too far")
            return metric_of(model)

        found.append(fit(RUNS["recall"], toy, count, Hooks(validate=validate, progress=told.append)))
    assert_alike(found[0], found[1])
    assert len([now for now in told if now.note and "back to the best weights" in now.note]) == 2


@pytest.mark.slow
def test_each_machine_has_a_copy_of_the_graph(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, lone = Started.start, {"here": 0, "count_here": 1}
    monkeypatch.setattr(Started, "start", lambda self, place, threads: usual(self, replace(place, **lone), threads))
    assert_alike(fit(RUNS["recall"], toy, 3), fit(RUNS["recall"], toy, 1))


# A process that is lost


def lost(toy: Dataset, sent: signal.Signals) -> tuple[str, list[State], list[int]]:
    """What a run says of which a process gets a signal after three steps, its checkpoints, and its followers."""
    saved, pids = list[State](), list[int]()

    def progress(now: Progress) -> None:
        if now.step == 3:
            os.kill(pids[1], sent)

    with pytest.raises(ProcessError) as raised:
        fit(RUNS["recall"], toy, 3, Hooks(progress=progress, checkpoint=saved.append), began=pids.extend)
    return str(raised.value), saved, pids


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run(toy: Dataset) -> None:
    said, saved, pids = lost(toy, signal.SIGKILL)
    assert said == "process 2 of 3 was ended by SIGKILL"
    assert not any(is_running(pid) for pid in pids)
    assert saved[-1].step >= 3  # all that was done is kept
    assert_alike(fit(RUNS["recall"], toy, 1, resume=saved[-1]), fit(RUNS["recall"], toy, 1))


@pytest.mark.slow
def test_a_process_that_hangs_ends_the_run(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", timedelta(seconds=6))
    said, saved, pids = lost(toy, signal.SIGSTOP)
    assert said == "one of the 3 processes has not answered for 0.1 minutes"
    assert not any(is_running(pid) for pid in pids)
    assert saved[-1].step == 3


class Trap:
    """What cannot be read in a follower."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("1 / 0 if 'RANK' in __import__('os').environ else None",)


@pytest.mark.slow
def test_an_error_in_a_process_is_that_of_the_run(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Together.map
    monkeypatch.setattr(Together, "map", lambda self, made: usual(self, (made, Trap()))[0])
    with pytest.raises(ProcessError, match=r"^process 1 of 2 failed: ZeroDivisionError: division by zero$"):
        fit(RUNS["recall"], toy, 2)


@pytest.mark.slow
def test_nothing_is_left_of_a_run_that_fails_here(toy: Dataset) -> None:
    pids: list[int] = []

    def fail(now: Progress) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        fit(RUNS["recall"], toy, 2, Hooks(progress=fail), began=pids.extend)
    assert len(pids) == 1
    assert not is_running(pids[0])
    fit(RUNS["recall"], toy, 2)  # and another one can begin


# Where it runs


def test_one_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for_one = {"WORLD_SIZE": "1", "RANK": "0", "MASTER_ADDR": "here", "MASTER_PORT": "1"}
    assert Place.of({}) is None
    assert Place.of(for_one) is None
    with gathered(1, "cpu") as group:
        assert group is ALONE


def test_it_is_said_how_each_process_ended() -> None:
    codes = {1: "import os; os.kill(os.getpid(), 9)", 2: "raise SystemExit(3)", 3: ""}
    started = Started(processes={place: Popen([sys.executable, "-c", code]) for place, code in codes.items()})
    for process in started.processes.values():
        process.wait()
    assert started.ended() == {1: "was ended by SIGKILL", 2: "ended with exit code 3"}


def test_a_place_survives_the_environment() -> None:
    place = Place(place=5, count=8, here=1, count_here=4, address="10.0.0.1", port=29500)
    assert Place.of(place.environment()) == place


def test_each_process_has_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(place=0, count=4, here=0, count_here=4, address="10.0.0.1", port=29500)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    with pytest.raises(ConfigError, match="4 processes need as many GPUs, and this machine has 3"):
        backend_for("cuda", place)
    with pytest.raises(ConfigError, match=r"takes a GPU of its own, and not cuda:1; try: device='cuda'"):
        backend_for("cuda:1", place)
    assert backend_for("cpu", place) == "gloo"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    assert backend_for("cuda", replace(place, place=2, here=2)) == "cpu:gloo,cuda:nccl"
    assert taken == [2]


@pytest.mark.parametrize("reserves", [True, False])
def test_there_is_a_file_for_rows_also_where_no_room_can_be_reserved(
    reserves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not reserves:
        monkeypatch.delattr(os, "posix_fallocate")
    assert processes._in_a_file(3, torch.zeros(1, 2)).fill_(1.0).sum() == 6.0
    assert processes._in_a_file(0, torch.zeros(1, 2)).shape == (0, 2)
