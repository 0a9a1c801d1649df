"""Several processes, or one in parts, go down the gradient of the whole batch."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from hmem.config import Config
from hmem.graph.dataset import Dataset
from hmem.model.propagation import Propagation
from hmem.training.material import Material, material_of
from hmem.training.processes import Processes
from hmem.training.steps import Steps
from tests.model.problems import MEMORIES, small
from tests.training.test_loop import EVERYTHING, STEPS, one_step

CPU = torch.device("cpu")
HIDDEN = {**STEPS, "link_withholding": 0.3, "neighbor_dropout": 0.3}
RUNS = {name: small(name, training=EVERYTHING) for name in MEMORIES}
RUNS |= {name: one_step(small(name, training=HIDDEN)) for name in ("propagate", "any-graph")}


class Part(Processes):
    """One of several processes, without the others."""

    def __init__(self, place: int, count: int) -> None:
        self.place, self.count = place, count


def prepared(config: Config, toy: Dataset) -> Material:
    made = material_of(config, toy.train, toy.num_entities, toy.num_relations, CPU, None)
    made.model.double().train()
    return made


def gradient(material: Material, processes: Processes, parts: int = 1, by_batch: bool = False) -> list[Tensor]:
    """The loss, and the gradient of every parameter, of the rest at the end of the first epoch."""
    steps = Steps(deepcopy(material), CPU, processes)
    steps.parts = parts
    if by_batch:  # as on a GPU
        steps.gradient = None
    batch = steps.batches.at(2)  # 6 facts
    loss = steps._gradient(batch, processes.share(len(batch)), 2)
    assert loss is not None
    return [loss, *(torch.zeros_like(each) if each.grad is None else each.grad for each in steps.model.parameters())]


@pytest.mark.parametrize("run", RUNS)
def test_the_shares_add_up_to_the_whole_batch(run: str, toy: Dataset) -> None:
    """Whatever is hidden, dropped and drawn; also of processes that have no question."""
    material = prepared(RUNS[run], toy)
    for by_batch in (False, True) if isinstance(material.model, Propagation) else (False,):
        whole = gradient(material, Part(0, 1), by_batch=by_batch)
        assert any(each.any() for each in whole)
        for count in (2, 3, 14):
            shares = [gradient(material, Part(place, count), by_batch=by_batch) for place in range(count)]
            for all_at_once, *each in zip(whole, *shares, strict=True):
                torch.testing.assert_close(torch.stack(each).sum(0), all_at_once, rtol=1e-6, atol=1e-7)
        in_parts = gradient(material, Part(0, 1), parts=3, by_batch=by_batch)
        for all_at_once, apart in zip(whole, in_parts, strict=True):
            torch.testing.assert_close(apart, all_at_once, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("run", RUNS)
def test_every_parameter_has_a_gradient(run: str, toy: Dataset) -> None:
    """Or has none in any step: processes count one that is missing as zero, which the optimizer does not."""
    material = prepared(RUNS[run], toy)
    steps = Steps(material, CPU)
    steps.take(0, 1.0)
    assert [name for name, each in steps.model.named_parameters() if each.requires_grad and each.grad is None] == []


class Timed:
    """The gradients of a GPU by a clock of their own: kernels are compiled first, and all questions cost as one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now, self.seconds, self.compiled = 0.0, seconds, set[int]()
        monkeypatch.setattr("hmem.training.steps.time.perf_counter", lambda: self.now)

    def gradient(self, batch: object, rows: range, step: int) -> Tensor:
        self.now += self.seconds + 8 * (len(rows) not in self.compiled)
        self.compiled.add(len(rows))
        return torch.zeros(())


@pytest.mark.parametrize(("seconds", "facts", "parts"), [(0.03, 13, 1), (0.5, 13, 1), (8.0, 3, 2)])
def test_a_gpu_asks_as_much_as_it_can_in_the_time(
    toy: Dataset, monkeypatch: pytest.MonkeyPatch, seconds: float, facts: int, parts: int
) -> None:
    steps = Steps(prepared(RUNS["propagate"], toy), CPU, Part(0, 1))
    timed = Timed(monkeypatch, seconds)
    monkeypatch.setattr(steps, "_gradient", timed.gradient)
    steps.device = torch.device("cuda")
    steps.facts = steps.training.batch_size
    steps.fit_into(2.0, 0)
    assert (steps.facts, steps.parts) == (facts, parts)
