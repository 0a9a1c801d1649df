import math
from pathlib import Path

import pytest
import torch

from hmem.errors import CheckpointError
from hmem.model.hmem import HMem
from hmem.model.weights import read_tensors, write_tensors
from hmem.training.start import make_optimizer
from hmem.training.state import COUNTERS, State
from tests.model.problems import ask, index_of, random_facts, small


def trained(preset: str = "recall", steps: int = 3) -> tuple[HMem, torch.optim.Optimizer]:
    torch.manual_seed(0)
    config = small(preset)
    model = HMem(config.memory, 9, 3)
    optimizer = make_optimizer(model, config.training)
    for _ in range(steps):
        step(model, optimizer)
    return model, optimizer


def step(model: HMem, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(ask((0, 0), (1, 3), (2, 5)), index_of(random_facts(0))).square().sum().backward()
    optimizer.step()


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("loss", [0.25, math.nan, math.inf])
@pytest.mark.parametrize("metric", [None, 0.5])
def test_comes_back_from_a_file(tmp_path: Path, loss: float, metric: float | None) -> None:
    model, optimizer = trained()
    state = State(step=7, seconds=1.5, loss=loss, looks_without_gain=2)
    if metric is not None:
        state.record(metric, model)
        state.record(metric / 2, model)
    state.captured(model, optimizer)
    write_tensors(tmp_path / "state.safetensors", *state.to_tensors())
    back = State.from_tensors(*read_tensors(tmp_path / "state.safetensors"))
    for name in COUNTERS:
        before, after = getattr(state, name), getattr(back, name)
        assert before == after or (math.isnan(before) and math.isnan(after)), name
    assert same(back.weights, state.weights)
    assert same(back.moments, state.moments)
    assert (back.best_weights is None) is (metric is None)
    if back.best_weights is not None and state.best_weights is not None:
        assert same(back.best_weights, state.best_weights)


def test_a_state_of_an_earlier_version_goes_on() -> None:
    model, optimizer = trained()
    state = State(step=3)
    state.record(0.25, model)
    tensors, metadata = state.captured(model, optimizer).to_tensors()
    old = {name.replace("is_trained", "is_known"): value for name, value in tensors.items()}
    assert {"weights/is_known", "best/is_known"} < old.keys()
    back = State.from_tensors(old, {"state": metadata["state"].replace("_metric", "_figure")})
    assert (back.step, back.best_metric, back.last_metric) == (3, 0.25, 0.25)
    back.restore(*trained(steps=0))
    assert same(back.weights, state.weights)
    assert back.best_weights is not None
    assert same(back.best_weights, dict(model.state_dict()))


def test_a_restored_pair_goes_on_as_the_first_would() -> None:
    model, optimizer = trained()
    state = State().captured(model, optimizer)
    tensors, metadata = state.to_tensors()
    other, other_optimizer = trained(steps=0)
    State.from_tensors(tensors, metadata).restore(other, other_optimizer)
    for _ in range(3):
        step(model, optimizer)
        step(other, other_optimizer)
        assert same(dict(model.state_dict()), dict(other.state_dict()))


def test_a_state_may_be_restored_twice() -> None:
    """What is trained afterwards does not write into it."""
    model, optimizer = trained()
    state = State().captured(model, optimizer)
    moments = {name: value.clone() for name, value in state.moments.items()}
    weights = {name: value.clone() for name, value in state.weights.items()}
    other, other_optimizer = trained(steps=0)
    state.restore(other, other_optimizer)
    step(other, other_optimizer)
    step(model, optimizer)
    assert same(state.moments, moments)
    assert same(state.weights, weights)


def test_the_best_metric_keeps_its_weights() -> None:
    model, optimizer = trained(steps=0)
    state, kept = State(), {}
    for metric in (0.1, 0.3, 0.3, 0.2, 0.4, 0.1):
        state.record(metric, model)
        kept[metric] = {name: value.clone() for name, value in model.state_dict().items()}
        step(model, optimizer)
    assert (state.best_metric, state.last_metric, state.looks_without_gain) == (0.4, 0.1, 1)
    assert same(state.best_weights or {}, kept[0.4])


def test_an_equal_metric_is_no_better_one() -> None:
    model, optimizer = trained(steps=0)
    state = State()
    state.record(0.3, model)
    first = {name: value.clone() for name, value in model.state_dict().items()}
    step(model, optimizer)
    state.record(0.3, model)
    assert state.looks_without_gain == 1
    assert same(state.best_weights or {}, first)


def test_a_new_state_has_seen_nothing() -> None:
    state = State()
    assert (state.step, state.best_metric, state.best_weights, state.looks_without_gain) == (0, None, None, 0)
    assert math.isnan(state.loss)


@pytest.mark.parametrize(
    "state", ["x", "[]", '{"step": "x"}', '{"step": -1}', '{"step": 1e300}', '{"other": 1}', "[" * 100_000, None]
)
def test_counters_that_are_none_are_refused(state: str | None) -> None:
    model, optimizer = trained()
    tensors, metadata = State().captured(model, optimizer).to_tensors()
    with pytest.raises(CheckpointError, match="not the state of a run"):
        State.from_tensors(tensors, {} if state is None else {**metadata, "state": state})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"weights/is_trained": None}, "other weights than the model"),
        ({"weights/is_trained": torch.zeros(3)}, "other weights than the model"),
        ({"best/is_trained": torch.zeros(3)}, "other weights than the model"),
        ({"moments/99.step": torch.zeros([])}, "moments of no parameter"),
        ({"moments/x": torch.zeros([])}, "moments of no parameter"),
        ({"moments/0.exp_avg": torch.zeros(1, 1, 1)}, "moments of another shape"),
        ({"moments/0.exp_avg": None}, "lacks some of its moments"),
    ],
)
def test_what_belongs_to_another_model_is_refused(change: dict[str, torch.Tensor | None], reason: str) -> None:
    model, optimizer = trained()
    tensors, metadata = State().captured(model, optimizer).to_tensors()
    lying = {name: value for name, value in (tensors | change).items() if value is not None}
    with pytest.raises(CheckpointError, match=reason):
        State.from_tensors(lying, metadata).restore(*trained(steps=0))
