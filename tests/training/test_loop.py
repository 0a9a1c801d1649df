"""What a training run promises: the same seed, the same weights, whatever interrupts it."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hmem.config import Config
from hmem.errors import CheckpointError, NonFiniteError
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import as_triples
from hmem.model.build import Network
from hmem.model.explicit import ExplicitMemory
from hmem.model.presets import PRESETS
from hmem.model.query import Query
from hmem.model.weights import read_tensors, write_tensors
from hmem.training import loop, loss
from hmem.training.clock import Speedometer
from hmem.training.hooks import Hooks, Outcome, Progress
from hmem.training.loop import matmul_precision, train
from hmem.training.loss import answer_loss
from hmem.training.schedule import rate
from hmem.training.start import make_optimizer, new_model, start_from_rules
from hmem.training.state import State
from tests.model.problems import MEMORIES, both_ways, memory_of, small

Weights = dict[str, Tensor]
# 32 facts: two whole batches and a rest in each of three epochs
STEPS = {"epochs": 3, "batch_size": 13, "validate_every": 1}
EVERYTHING: dict[str, Any] = {
    **STEPS,
    "memory_dropout": 0.2,
    "retrieved_dropout": 0.2,
    "neighbor_dropout": 0.2,
    "link_withholding": 0.3,
    "identity_dropout": 0.3,
    "label_smoothing": 0.1,
    "weight_decay": 0.01,
    "negatives": 7,
    "seed": 5,
}


def one_step(config: Config) -> Config:
    """The shortest propagation there is: these tests train often."""
    assert config.propagation is not None
    return replace(config, propagation=replace(config.propagation, dim=2, steps=1))


RUNS = {
    "a completed memory with every dropout": small("tpr", training=EVERYTHING),
    "recall": small("recall", training={**STEPS, "retrieved_dropout": 0.1, "neighbor_dropout": 0.1}),
    "propagation": one_step(small("any-graph", training={**STEPS, "link_withholding": 0.3, "neighbor_dropout": 0.1})),
}
every_run = pytest.mark.parametrize("run", list(RUNS))


def fit(config: Config, toy: Dataset, hooks: Hooks | None = None, resume: State | None = None) -> Outcome:
    return train(config, toy.train, toy.num_entities, toy.num_relations, hooks=hooks, resume=resume)


def weights(model: Network) -> Weights:
    """What training steps move; `placing` follows from it at the end."""
    found_last = ("placing", "kinds")
    return {name: value.detach().clone() for name, value in model.state_dict().items() if name not in found_last}


def same(left: Weights, right: Weights) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def broken_off(steps: int, validate: Callable[[Network], float] | None = None, **hooks: Any) -> Hooks:
    """Hooks that interrupt a run after so many steps: it asks before the first, after each, and after a validation."""
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] > steps

    def validated(model: Network) -> float:
        assert validate is not None
        asked[0] -= 1
        return validate(model)

    return Hooks(stop=stop, validate=None if validate is None else validated, **hooks)


def metric_of(model: Network) -> float:
    """A metric that depends on the weights and goes up and down."""
    return math.sin(1e4 * math.fsum(value for each in model.parameters() for value in each.flatten().tolist()))


class Scripted:
    """Validation metrics from a list, and the weights that each was given for."""

    def __init__(self, *metrics: float) -> None:
        self.metrics, self.seen = list(metrics), list[Weights]()

    def __call__(self, model: Network) -> float:
        self.seen.append(weights(model))
        return self.metrics[len(self.seen) - 1]


# The same weights


@every_run
def test_the_same_seed_gives_the_same_weights(run: str, toy: Dataset) -> None:
    torch.manual_seed(1)
    first = fit(RUNS[run], toy)
    torch.manual_seed(2)  # what the caller did with the global generator is of no importance
    torch.rand(10)
    second = fit(RUNS[run], toy)
    assert same(weights(first.model), weights(second.model))
    assert first.stopped == "done"
    assert not first.model.training


def test_the_same_seed_places_unseen_entities_alike(toy: Dataset) -> None:
    placing, again = (memory_of(fit(RUNS["recall"], toy).model).placing for _ in range(2))
    assert torch.equal(placing, again)
    assert placing.any()


@every_run
def test_another_seed_gives_other_weights(run: str, toy: Dataset) -> None:
    config = RUNS[run]
    other = replace(config, training=replace(config.training, seed=config.training.seed + 256))
    assert not same(weights(fit(config, toy).model), weights(fit(other, toy).model))


def test_the_seed_reaches_start_order_and_noise(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three for itself, and seeds that differ in their high bits only."""
    asked: list[Query] = []
    dropped: list[Tensor] = []

    def spy(model: Any, answer: Any, vectors: Any, query: Query, *rest: Any) -> Tensor:
        asked.append(query)
        dropped.append(answer.weighted.absent)
        return answer_loss(model, answer, vectors, query, *rest)

    monkeypatch.setattr(loss, "answer_loss", spy)
    starts, orders, noises = [], [], []
    for seed in (0, 1, 256, 2**32):
        config = small("tpr-inf", training={"epochs": 1, "neighbor_dropout": 0.5, "seed": seed})
        starts.append(memory_of(new_model(config, 18, 4)).embeddings.entity)
        fit(config, toy)
        orders.append(asked[-1].entity)
        noises.append(dropped[-1])
    for parts in (starts, orders, noises):
        for place, part in enumerate(parts):
            assert not any(torch.equal(part, other) for other in parts[:place])


def test_training_leaves_the_global_generator_alone(toy: Dataset) -> None:
    before = torch.get_rng_state()
    fit(RUNS["recall"], toy)
    assert torch.equal(torch.get_rng_state(), before)


@every_run
@pytest.mark.parametrize("steps", [0, 4, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 3, 8, 9))])
def test_an_interrupted_run_goes_on_to_the_same_weights(run: str, steps: int, toy: Dataset, tmp_path: Path) -> None:
    """Stopped before it began, in an epoch, between two, and after the last step of all."""
    config, path = RUNS[run], tmp_path / "state.safetensors"
    whole = fit(config, toy, Hooks(validate=metric_of))

    def keep(state: State) -> None:
        write_tensors(path, *state.to_tensors())

    broken = fit(config, toy, broken_off(steps, metric_of, checkpoint=keep))
    assert (broken.stopped, broken.epochs) == ("interrupted", steps / 3)
    resumed = fit(config, toy, Hooks(validate=metric_of), State.from_tensors(*read_tensors(path)))
    assert (resumed.stopped, resumed.epochs, resumed.best) == ("done", 3.0, whole.best)
    assert same(weights(resumed.model), weights(whole.model))


@every_run
def test_a_run_may_be_interrupted_at_every_step(run: str, toy: Dataset) -> None:
    config, state = RUNS[run], None
    kept: list[State] = []
    for _ in range(9):
        fit(config, toy, broken_off(1, metric_of, checkpoint=kept.append), state)
        state = State.from_tensors(*kept[-1].to_tensors())
    resumed = fit(config, toy, Hooks(validate=metric_of), state)
    whole = fit(config, toy, Hooks(validate=metric_of))
    assert same(weights(resumed.model), weights(whole.model))
    assert resumed.best == whole.best


@every_run
def test_a_checkpoint_may_be_resumed_from_twice(run: str, toy: Dataset) -> None:
    kept: list[State] = []
    fit(RUNS[run], toy, broken_off(4, checkpoint=kept.append))
    runs = [fit(RUNS[run], toy, resume=kept[-1]) for _ in range(2)]
    assert same(weights(runs[0].model), weights(runs[1].model))
    assert same(weights(runs[0].model), weights(fit(RUNS[run], toy).model))


def test_checkpoints_on_the_way_are_good_to_resume_from(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small("recall", training=STEPS)
    monkeypatch.setattr(loop, "CHECKPOINT_MINUTES", 1e-9)
    kept: list[State] = []

    def keep(state: State) -> None:
        kept.append(State.from_tensors(*state.to_tensors()))

    whole = fit(config, toy, Hooks(checkpoint=keep))
    assert [state.step for state in kept] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    resumed = fit(config, toy, resume=kept[4])
    assert same(weights(resumed.model), weights(whole.model))
    rare: list[State] = []
    monkeypatch.undo()
    fit(config, toy, Hooks(checkpoint=rare.append))
    assert len(rare) == 1


# What is asked


def test_an_epoch_asks_for_every_fact_from_both_ends(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    def spy(model: Any, answer: Any, vectors: Any, query: Query, *rest: Any) -> Tensor:
        assert query.target is not None
        asked.extend(zip(query.entity.tolist(), query.role.tolist(), query.target.tolist(), strict=True))
        return answer_loss(model, answer, vectors, query, *rest)

    monkeypatch.setattr(loss, "answer_loss", spy)
    fit(small("tpr-inf", training=STEPS), toy)
    facts = [(head, relation, tail) for head, relation, tail in toy.train.tolist()]
    epochs = [asked[place * 64 : (place + 1) * 64] for place in range(3)]
    assert len(asked) == 3 * 64
    for epoch in epochs:
        assert sorted(epoch) == sorted(both_ways(facts, toy.num_relations))
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize(
    ("preset", "setting"),
    [
        ("tpr", {"memory_dropout": 0.3}),
        ("tpr", {"retrieved_dropout": 0.3}),
        ("tpr", {"neighbor_dropout": 0.3}),
        ("tpr", {"identity_dropout": 0.5}),
        ("tpr", {"link_withholding": 1.0}),
        ("tpr", {"label_smoothing": 0.2}),
        ("tpr", {"negatives": 5}),
        ("tpr", {"learning_rate": 1e-2}),
        ("tpr", {"weight_decay": 0.5}),
        ("tpr", {"batch_size": 10}),
        ("recall", {"exact_rate": 1.0}),
        ("recall", {"link_withholding": 0.0}),
    ],
)
def test_every_setting_matters(preset: str, setting: dict[str, Any], toy: Dataset) -> None:
    usual = fit(small(preset, training={"epochs": 3}), toy)
    changed = fit(small(preset, training={"epochs": 3, **setting}), toy)
    assert not same(weights(usual.model), weights(changed.model))


@pytest.mark.parametrize("name", MEMORIES)
def test_the_loss_falls(name: str, toy: Dataset) -> None:
    """To less than half of what it was, and of what guessing among the 18 entities costs."""
    told: list[Progress] = []
    dims = {"entity_dim": 16, "relation_dim": 4 if PRESETS[name]["memory"]["binding"] == "tpr" else 16}
    config = small(name, dims, {"epochs": 40, "learning_rate": 3e-2, "link_withholding": 0.0})
    fit(config, toy, Hooks(progress=told.append))
    assert told[-1].loss < 0.5 * min(told[0].loss, math.log(18))


def test_only_entities_of_the_training_facts_are_known(toy: Dataset) -> None:
    kept = toy.train[~(toy.train[:, [0, 2]] == 5).any(axis=1)]
    model = train(small("tpr", training={"epochs": 1}), kept, toy.num_entities + 2, toy.num_relations).model
    met = set(kept[:, [0, 2]].ravel().tolist())
    assert model.is_trained.tolist() == [entity in met for entity in range(toy.num_entities + 2)]
    assert 5 not in met
    start = new_model(small("tpr", training={"epochs": 1}), toy.num_entities + 2, toy.num_relations)
    assert start.is_trained.all()


# When it ends, and with which weights


def test_patience_stops_and_the_best_weights_are_kept(toy: Dataset) -> None:
    metrics = Scripted(0.1, 0.5, 0.4, 0.5, 0.3, 0.9)
    config = small("recall", training={**STEPS, "epochs": 50, "patience": 3})
    outcome = fit(config, toy, Hooks(validate=metrics))
    assert (outcome.stopped, outcome.best, outcome.epochs) == ("patience", 0.5, 5.0)
    assert same(weights(outcome.model), metrics.seen[1])


def test_what_it_began_with_is_measured_and_kept_if_nothing_is_better(toy: Dataset) -> None:
    config = small("recall", training={**STEPS, "epochs": 50, "patience": 2})
    start = State(weights=new_model(config, toy.num_entities, toy.num_relations).state_dict())
    for metrics, best in ((0.5, 0.4, 0.3), 0.5), ((0.5, 0.6, 0.3, 0.2), 0.6):
        outcome = fit(config, toy, Hooks(validate=Scripted(*metrics)), resume=start)
        assert (outcome.began, outcome.best, outcome.stopped) == (0.5, best, "patience")
    assert fit(config, toy, Hooks(validate=Scripted(0.5, 0.4, 0.3))).began is None


def test_patience_survives_an_interruption(toy: Dataset) -> None:
    config = small("recall", training={**STEPS, "epochs": 50, "patience": 3})
    kept: list[State] = []
    metrics = Scripted(0.5, 0.4, 0.3, 0.2, 0.1)
    fit(config, toy, broken_off(9, metrics, checkpoint=kept.append))
    assert len(metrics.seen) == 3
    outcome = fit(config, toy, Hooks(validate=metrics), State.from_tensors(*kept[-1].to_tensors()))
    assert (outcome.stopped, outcome.epochs) == ("patience", 4.0)
    assert same(weights(outcome.model), metrics.seen[0])


def test_validation_comes_every_so_often_and_at_the_end(toy: Dataset) -> None:
    metrics = Scripted(0.1, 0.2, 0.3)
    config = small("recall", training={**STEPS, "epochs": 5, "validate_every": 2})
    told: list[Progress] = []
    outcome = fit(config, toy, Hooks(validate=metrics, progress=told.append))
    assert [(now.epoch, now.validated) for now in told if now.validated is not None] == [(2, 0.1), (4, 0.2), (5, 0.3)]
    assert same(weights(outcome.model), metrics.seen[2])
    assert outcome.best == 0.3


def test_the_last_step_is_judged_even_if_the_run_is_interrupted_there(toy: Dataset) -> None:
    """A run that resumes from it has no step left in which to do so."""
    config = small("recall", training={**STEPS, "validate_every": 2})
    kept: list[State] = []
    metrics = Scripted(0.1, 0.9)
    broken = fit(config, toy, broken_off(9, metrics, checkpoint=kept.append))
    assert (broken.stopped, len(metrics.seen)) == ("interrupted", 2)
    resumed = fit(config, toy, Hooks(validate=metrics), kept[-1])
    assert (resumed.stopped, resumed.best) == ("done", 0.9)
    assert same(weights(resumed.model), metrics.seen[1])


def test_without_validation_the_last_weights_are_kept(toy: Dataset) -> None:
    told: list[Progress] = []
    outcome = fit(RUNS["recall"], toy, Hooks(progress=told.append))
    assert outcome.best is None
    assert all(now.best is None and now.validated is None for now in told)


def test_time_stops(toy: Dataset) -> None:
    metrics = Scripted(0.7)
    config = small("recall", training={"epochs": 10**6, "minutes": 1e-3, "validate_every": 10**6, "batch_size": 13})
    told: list[Progress] = []
    outcome = fit(config, toy, Hooks(validate=metrics, progress=told.append))
    assert (outcome.stopped, outcome.best) == ("time", 0.7)
    assert 0 < outcome.epochs < 10**6
    assert 0.06 <= outcome.seconds < 4
    assert told[-1].share == 1.0
    assert math.isfinite(told[-1].loss)
    assert same(weights(outcome.model), metrics.seen[0])


def test_time_goes_on_counting_after_an_interruption(toy: Dataset) -> None:
    config = small("recall", training={"epochs": 10**6, "minutes": 1e3})
    kept: list[State] = []
    fit(config, toy, broken_off(2, checkpoint=kept.append))
    spent = State.from_tensors(*kept[-1].to_tensors())
    spent.seconds = 60_001.0
    outcome = fit(config, toy, broken_off(20), spent)
    assert (outcome.stopped, spent.step) == ("time", 2)
    assert outcome.seconds > 60_000


@pytest.mark.parametrize("step", [1e30, 1e16])
def test_a_loss_that_is_no_number_is_an_error_with_advice(step: float, toy: Dataset) -> None:
    config = small("tpr-inf", training={"epochs": 30, "learning_rate": step})
    with pytest.raises(NonFiniteError) as caught:
        fit(config, toy)
    assert "after" in str(caught.value)
    assert f"try a lower learning_rate (it was {step}, and " in str(caught.value)


def test_a_loss_that_is_no_number_goes_back_to_the_best_weights_with_a_lower_rate(
    toy: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, told, given = 0, [], answer_loss  # type: int, list[Progress], Any

    def once_nan(*arguments: Any) -> Tensor:
        nonlocal asked
        asked += 1
        found: Tensor = given(*arguments)
        return found * (math.nan if asked == 5 else 1.0)

    monkeypatch.setattr(loss, "answer_loss", once_nan)
    config = small("tpr-inf", training={"epochs": 8, "batch_size": 13, "validate_every": 1})
    metrics = iter([0.9, *[0.1] * 20])
    outcome = fit(config, toy, Hooks(validate=lambda model: next(metrics), progress=told.append))
    notes = [now.note for now in told if now.note]
    assert notes == ["the loss is nan after 6 steps: back to the best weights, and on with a learning rate of 0.0006"]
    assert all(torch.isfinite(value).all() for value in outcome.model.state_dict().values())
    assert outcome.epochs > 2


@pytest.mark.parametrize("value", [math.nan, 1e6])
def test_if_no_rate_is_low_enough_the_best_weights_are_kept(
    toy: Dataset, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    """A loss that has exploded is as bad as one that is no number."""
    asked, told, given = 0, [], answer_loss  # type: int, list[Progress], Any

    def exploding(*arguments: Any) -> Tensor:
        nonlocal asked
        asked += 1
        found: Tensor = given(*arguments)
        return found if asked <= 4 else found * value

    monkeypatch.setattr(loss, "answer_loss", exploding)
    config = small("tpr-inf", training={"epochs": 30, "validate_every": 1, "patience": None})
    outcome = fit(config, toy, Hooks(validate=lambda model: 0.5, progress=told.append))
    assert (outcome.stopped, outcome.best) == ("learning rate too high", 0.5)
    assert outcome.epochs < 30
    assert all(torch.isfinite(each).all() for each in outcome.model.state_dict().values())
    notes = [now.note for now in told if now.note]
    assert len(notes) > 1
    assert notes[-1].endswith("is too high, and one of 1.6e-05 as well; the best weights are kept")


def test_scores_that_are_no_numbers_are_a_setback_too(toy: Dataset) -> None:
    """The loss of a step says nothing of the weights that follow from it."""
    told: list[Progress] = []
    looks = 0

    def validate(model: Network) -> float:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise NonFiniteError("the model gave NaN as a score")
        return 0.5

    fit(small("tpr-inf", training=STEPS), toy, Hooks(validate=validate, progress=told.append))
    (note,) = [now.note for now in told if now.note]
    assert note.startswith("the loss is nan after 6 steps: back to the best weights, and on with ")
    assert looks == 3


def test_a_batch_that_does_not_fit_is_worked_on_in_parts(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small("tpr-inf", training={"epochs": 1, "batch_size": 32})
    whole = weights(fit(config, toy).model)
    given, told = loss.memory_loss, []  # type: Any, list[Progress]

    def at_most_16(model: Any, query: Query, *rest: Any) -> Tensor:
        if len(query) > 16:
            raise torch.OutOfMemoryError("no room")
        found: Tensor = given(model, query, *rest)
        return found

    monkeypatch.setattr(loss, "memory_loss", at_most_16)
    outcome = fit(config, toy, Hooks(progress=told.append))
    assert [now.note for now in told if now.note][-1].startswith("out of memory: each batch is worked on in 4 parts")
    for name, value in weights(outcome.model).items():
        torch.testing.assert_close(value, whole[name], rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(loss, "memory_loss", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("never")))
    with pytest.raises(torch.OutOfMemoryError):
        fit(config, toy)


def test_the_best_weights_so_far_are_handed_out(toy: Dataset) -> None:
    metrics, kept = iter([0.3, 0.2, 0.4]), []  # type: Any, list[float]
    config = small("tpr-inf", training={"epochs": 3, "validate_every": 1})
    fit(config, toy, Hooks(validate=lambda model: next(metrics), improved=lambda model, metric: kept.append(metric)))
    assert kept == [0.3, 0.4]


@pytest.mark.parametrize(("takes", "looks"), [(0, [8, 16, 24, 32, 40, 48, 56, 61]), (5, [8, 34, 60])])
def test_looks_are_spread_over_the_time_if_the_clock_ends_the_run(
    toy: Dataset, monkeypatch: pytest.MonkeyPatch, takes: int, looks: list[int]
) -> None:
    """A second for each step and a minute for all of a million epochs; dear looks are fewer."""
    now, seen = [0.0], list[float]()

    def validate(model: Network) -> float:
        seen.append(now[0])
        now[0] += takes
        return 0.5

    def step() -> bool:
        now[0] += 1
        return False

    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    training = {"epochs": 10**6, "minutes": 61 / 60, "validate_every": 10**6 / 8, "patience": None}
    outcome = fit(small("recall", training=training), toy, Hooks(validate=validate, stop=step))
    assert outcome.stopped == "time"
    assert seen == looks


# What is told


def test_progress_is_told_at_the_end_of_epochs_and_on_the_way(toy: Dataset) -> None:
    told: list[Progress] = []
    config = small("recall", training={"epochs": 2, "batch_size": 1})
    fit(config, toy, Hooks(progress=told.append))
    assert [now.step for now in told] == [20, 32, 40, 60, 64]
    assert [now.epoch for now in told] == [0, 1, 1, 1, 2]
    assert all(now.epochs == 2 for now in told)
    assert [now.share for now in told] == pytest.approx([step / 64 for step in (20, 32, 40, 60, 64)])
    assert all(now.loss > 0 for now in told)
    assert all(now.triples_per_second > 0 for now in told[1:])
    assert sorted(now.seconds for now in told) == [now.seconds for now in told]


def test_slow_steps_are_told_one_by_one(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []
    monkeypatch.setattr("hmem.training.loop.LOG_SECONDS", -1.0)
    fit(small("recall", training={"epochs": 1, "batch_size": 8}), toy, Hooks(progress=told.append))
    assert [now.step for now in told] == [1, 2, 3, 4]


def test_a_run_that_stops_looks_at_its_loss_first(toy: Dataset) -> None:
    """Also in the middle of an epoch, so that no log and no checkpoint has a loss of NaN."""
    told: list[Progress] = []
    kept: list[State] = []
    fit(RUNS["recall"], toy, broken_off(1, progress=told.append, checkpoint=kept.append))
    assert [now.step for now in told] == [1]
    assert kept[-1].loss == told[0].loss > 0


def test_the_speedometer_counts_facts_since_it_was_last_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    speed = Speedometer()
    readings = []
    for seconds, facts in [(1, 100), (2, 300), (2.5, 300), (4, 400)]:
        now[0] = seconds
        readings.append(speed.at(facts))
    assert readings == [0.0, 200.0, 200.0, 50.0]


# Optimizer and precision


def test_the_exact_channels_step_faster_and_are_not_decayed() -> None:
    config = small("recall", training={"learning_rate": 0.1, "exact_rate": 7.0, "weight_decay": 0.3})
    model = new_model(config, 5, 2)
    usual, own, fast = make_optimizer(model, config.training).param_groups
    assert model.exact is not None
    assert model.paths is not None
    exact = {id(each) for channel in (model.exact, model.paths) for each in channel.parameters()}
    assert {id(each) for each in fast["params"]} == exact
    assert [id(each) for each in own["params"]] == [id(model.own)]
    assert len(usual["params"]) + 1 + len(exact) == len(list(model.parameters()))
    assert (usual["full_rate"], usual["weight_decay"]) == (0.1, 0.3)
    assert (fast["full_rate"], fast["weight_decay"]) == (pytest.approx(0.7), 0.0)
    assert len(make_optimizer(new_model(small("tpr"), 5, 2), config.training).param_groups) == 1


def test_a_role_bias_that_starts_from_counts_is_not_decayed(toy: Dataset) -> None:
    config = small("tpr", memory={"role_bias": "counted"}, training={"weight_decay": 0.3})
    model = memory_of(new_model(config, toy.num_entities, toy.num_relations))
    usual, counted = make_optimizer(model, config.training).param_groups
    assert isinstance(model.memory, ExplicitMemory)
    assert model.memory.weighting is not None
    bias = model.memory.weighting.role_bias
    assert bias is not None
    assert [id(each) for each in counted["params"]] == [id(bias)]
    assert (usual["weight_decay"], counted["weight_decay"]) == (0.3, 0.0)
    assert counted["full_rate"] == usual["full_rate"]
    assert not bias.any()
    start_from_rules(model, Neighborhoods.build(toy.train, toy.num_entities, toy.num_relations), 0)
    assert bias.min() == -2
    assert bias.max() > 0


def test_the_self_bias_starts_from_counts_and_is_not_decayed() -> None:
    config = small("tpr", memory={"own_bias": True}, training={"weight_decay": 0.3})
    model = memory_of(new_model(config, 4, 2))
    facts = as_triples([(0, 0, 0), (1, 0, 1), (2, 0, 3), (0, 0, 1), (0, 1, 2)])  # half of the first relation leads back
    start_from_rules(model, Neighborhoods.build(facts, 4, 2), 0)
    assert model.own is not None
    assert model.own.tolist() == pytest.approx([0.0, -5.0, 0.0, -5.0])
    _, counted = make_optimizer(model, config.training).param_groups
    assert counted["weight_decay"] == 0
    assert [id(each) for each in counted["params"]] == [id(model.own)]


def test_what_is_whitened_steps_as_far_as_if_it_were_not() -> None:
    config = small("cconv", memory={"entity_dim": 9, "relation_dim": 9}, training={"learning_rate": 0.1})
    model = memory_of(new_model(config, 5, 2))
    usual, raw = make_optimizer(model, config.training).param_groups
    assert [id(each) for each in raw["params"]] == [id(model.embeddings.entity), id(model.embeddings.role)]
    assert len(usual["params"]) + 2 == len(list(model.parameters()))
    assert (usual["full_rate"], raw["full_rate"]) == (0.1, pytest.approx(0.3))  # √9 times as far


def test_the_rate_follows_the_schedule(toy: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[float]] = []
    usual = torch.optim.AdamW.step

    def step(self: torch.optim.AdamW, *rest: Any) -> Any:
        seen.append([group["lr"] for group in self.param_groups])
        return usual(self, *rest)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    config = small("recall", training={"epochs": 10, "learning_rate": 0.1})
    fit(config, toy)
    rates = [0.1 * rate(step / 10) for step in range(10)]
    assert [usual for usual, _, _ in seen] == pytest.approx(rates)
    assert [own for _, own, _ in seen] == pytest.approx(rates)
    assert [fast for _, _, fast in seen] == pytest.approx([10 * usual for usual in rates])


@pytest.mark.parametrize(("precision", "word"), [("float32", "highest"), ("tf32", "high"), ("bfloat16", "medium")])
def test_precision_is_put_back(precision: str, word: str) -> None:
    before = torch.get_float32_matmul_precision()

    def fail() -> None:
        with matmul_precision(precision):
            assert torch.get_float32_matmul_precision() == word
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert torch.get_float32_matmul_precision() == before


def test_a_single_fact_can_be_trained_on() -> None:
    outcome = train(small("recall", training={"epochs": 2}), as_triples([[0, 0, 1]]), 3, 1)
    assert outcome.stopped == "done"
    assert all(value.isfinite().all() for value in outcome.model.state_dict().values())


def test_a_state_that_cannot_be_saved_does_not_end_the_run(toy: Dataset) -> None:
    def full(state: State) -> None:
        raise CheckpointError("the disk is full")

    with pytest.warns(UserWarning, match="goes on, but its state is not saved: the disk is full"):
        assert fit(RUNS["recall"], toy, Hooks(checkpoint=full)).stopped == "done"
    with pytest.raises(CheckpointError, match="full"):  # where nothing else is left of it
        fit(RUNS["recall"], toy, broken_off(1, checkpoint=full))
