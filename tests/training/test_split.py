"""A model whose vectors are shared out is the same model, and takes the same steps."""

import os
import signal
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hmem.config import Config
from hmem.errors import CheckpointError, NonFiniteError, ProcessError
from hmem.evaluation.evaluate import Validator, counted_ranks, rank_queries
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import Queries
from hmem.evaluation.ranks import Ranks
from hmem.graph.dataset import Dataset
from hmem.model.build import ModelScorer
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.presets import PRESETS
from hmem.model.weights import read_tensors, write_tensors
from hmem.training import material
from hmem.training.hooks import Hooks, Progress
from hmem.training.material import VECTORS, Material, material_of
from hmem.training.processes import ALONE, Processes
from hmem.training.split import SplitSteps, steps_of
from hmem.training.state import State
from hmem.training.steps import Steps
from tests.model.problems import MEMORIES, memory_of, small
from tests.training.test_loop import EVERYTHING, STEPS, broken_off
from tests.training.test_processes import assert_alike, fit, in_double, is_running
from tests.training.threads import in_threads

CPU = torch.device("cpu")
SPLIT = [name for name in MEMORIES if "cconv" not in name and PRESETS[name]["memory"].get("kind") != "implicit"]
HIDDEN = {**EVERYTHING, "negatives": None}
SOME = {**STEPS, "candidates": 6}


def config_of(name: str, candidates: int | None, training: dict[str, Any] | None = None) -> Config:
    return small(name, training={**HIDDEN, **(training or {}), "candidates": candidates})


def precise_material(config: Config, toy: Dataset) -> Material:
    made = material_of(config, toy.train, toy.num_entities, toy.num_relations, CPU)
    made.model.double()
    if config.training.candidates is not None:
        embeddings = memory_of(made.model).embeddings
        embeddings.entity = embeddings.entity.double()
    return made


def same_start(name: str, toy: Dataset, candidates: int) -> tuple[Steps, SplitSteps]:
    """A whole model and one in parts, with the same weights."""
    whole, apart = (steps_of(precise_material(config_of(name, count), toy), CPU) for count in (None, candidates))
    assert isinstance(apart, SplitSteps)
    given = {key: value for key, value in whole.model.state_dict().items() if key in apart.model.state_dict()}
    apart.model.load_state_dict(given)
    apart.table.rows.copy_(memory_of(whole.model).embeddings.entity.detach())
    return whole, apart


@pytest.mark.parametrize("name", SPLIT)
def test_with_all_entities_as_candidates_it_is_the_usual_step(
    name: str, toy: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same loss and gradients, whatever is hidden, dropped and smoothed."""
    whole, apart = same_start(name, toy, candidates=1000)
    found: list[Tensor] = []
    monkeypatch.setattr(apart.table, "step", lambda fetched, gradient, *_: found.append(gradient))
    loss, other = whole.take(1, 1.0), apart.take(1, 1.0)
    torch.testing.assert_close(loss, other)
    expected = memory_of(whole.model).embeddings.entity.grad
    assert expected is not None
    seen = torch.zeros_like(expected).index_copy(0, apart.sight.entities, found[0])
    torch.testing.assert_close(seen, expected)
    for (key, value), given in zip(
        ((key, each) for key, each in whole.model.named_parameters() if key != VECTORS),
        apart.model.parameters(),
        strict=True,
    ):
        torch.testing.assert_close(given.grad, value.grad, msg=key)


@pytest.mark.parametrize("count", [2, 3, 30])  # more than there are questions, too
@pytest.mark.parametrize("name", ["recall", "tpr"])
def test_processes_with_a_part_of_the_rows_take_the_steps_of_one(name: str, count: int, toy: Dataset) -> None:
    material = precise_material(config_of(name, 6), toy)

    def train(processes: Processes) -> tuple[list[float], Tensor, Tensor, HMem]:
        steps = steps_of(deepcopy(material), CPU, processes)
        assert isinstance(steps, SplitSteps)
        losses = [float(loss) for step in range(4) if (loss := steps.take(step, 1.0)) is not None]
        return losses, processes.collect(steps.table.rows), processes.collect(steps.table.moments["mean"]), steps.model

    losses, rows, means, model = train(ALONE)
    for found in in_threads(count, train):
        assert found[0] == pytest.approx(losses, rel=1e-7)
        torch.testing.assert_close(found[1], rows)
        torch.testing.assert_close(found[2], means)
        for value, expected in zip(found[3].parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(value, expected)
    assert (rows != steps_of(material, CPU).table.rows).any()  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", SPLIT)
def test_ranks_are_those_among_all_entities(name: str, count: int, toy: Dataset) -> None:
    """Counted by every process among its own, they add up to those of the whole model."""
    material, rng = precise_material(config_of(name, 6), toy), np.random.default_rng(0)
    entities, roles, targets = (
        rng.integers(most, size=40) for most in (toy.num_entities, 2 * toy.num_relations, toy.num_entities)
    )
    queries = Queries(entities, roles, targets, np.zeros(40, dtype=int))
    filtered, graph = toy.filter_graph(), FrozenIndex(toy.inference_graph("train"))

    def ranks(processes: Processes) -> tuple[Ranks, HMem]:
        steps = steps_of(deepcopy(material), CPU, processes)
        assert isinstance(steps, SplitSteps)
        for step in range(4):
            steps.take(step, 1.0)
        model = steps.whole()
        return counted_ranks(steps.asked(), queries, filtered), model

    for found, model in [ranks(ALONE)] if count == 1 else in_threads(count, ranks):
        expected = rank_queries(ModelScorer(model, graph), queries, filtered, [Candidates("all", toy)])["all"]
        for each in ("optimistic", "pessimistic", "candidates"):
            assert getattr(found, each).tolist() == getattr(expected, each).tolist(), each
        assert len(set(found.optimistic.tolist())) > 5


def test_a_score_that_is_no_number_is_an_error(toy: Dataset) -> None:
    steps = steps_of(precise_material(config_of("recall", 6), toy), CPU)
    assert isinstance(steps, SplitSteps)
    steps.table.rows[3] = torch.nan
    with pytest.raises(NonFiniteError, match="NaN as a score"):
        Validator(toy, None)(steps.asked())


# Whole runs


def test_a_run_gives_the_usual_model(toy: Dataset) -> None:
    """With all entities as candidates in an optimizer of its own for the rows; the best weights, all in one model."""
    told, states, kept = list[Progress](), list[State](), list[tuple[HMem, float]]()
    validator = Validator(toy, None)

    def keep(model: Any, metric: float) -> None:
        kept.append((deepcopy(model), metric))

    hooks = Hooks(validate=validator, progress=told.append, checkpoint=states.append, improved=keep)
    outcome = fit(small("recall", training=SOME), toy, 1, hooks)
    assert kept
    for model, metric in [*kept, (memory_of(outcome.model), outcome.best)]:
        assert validator(ModelScorer(model.eval(), validator.graph)) == pytest.approx(metric, abs=1e-6)
    assert outcome.model.state_dict().keys() == fit(small("recall", training=STEPS), toy, 1).model.state_dict().keys()
    assert memory_of(outcome.model).placing.any()
    assert states[-1].tables["rows"].shape == (toy.num_entities, 6)


def resumed(saved: State, tmp_path: Path) -> State:
    """A state as it is read again."""
    write_tensors(tmp_path / "state", *saved.to_tensors())
    return State.from_tensors(*read_tensors(tmp_path / "state"))


def test_a_run_goes_on_where_it_was(toy: Dataset, tmp_path: Path) -> None:
    config, saved = small("recall", training=SOME), list[State]()
    fit(config, toy, 1, broken_off(4, checkpoint=saved.append))
    assert saved[-1].step == 4
    assert_alike(fit(config, toy, 1, resume=resumed(saved[-1], tmp_path)), fit(config, toy, 1), rtol=1e-6)


def test_the_state_of_other_entities_is_refused(toy: Dataset, tmp_path: Path) -> None:
    config, saved = small("recall", training=SOME), list[State]()
    fit(config, toy, 1, broken_off(4, checkpoint=saved.append))
    rows = saved[-1].tables["rows"]
    for tables in ({"rows": rows[:-1]}, {"square": rows[:, 0]}, {"rows": rows.long()}, {"rows": rows, "other": rows}):
        with pytest.raises(CheckpointError, match="other vectors than the model"):
            fit(config, toy, 1, resume=replace(saved[-1], tables=tables))


def test_training_begins_with_the_vectors_of_a_model(toy: Dataset) -> None:
    before = fit(small("recall", training=SOME), toy, 1).model
    config = small("recall", training={**SOME, "learning_rate": 1e-9, "fit_absence": False})
    after = fit(config, toy, 1, resume=State(weights=before.state_dict())).model
    torch.testing.assert_close(memory_of(after).embeddings.entity, memory_of(before).embeddings.entity)


def test_a_setback_leads_to_the_first_or_the_best_rows(toy: Dataset) -> None:
    steps = steps_of(precise_material(config_of("recall", 6), toy), CPU)
    assert isinstance(steps, SplitSteps)
    first = steps.table.rows.clone()
    steps.take(0, 1.0)
    assert not torch.equal(steps.table.rows, first)
    steps.begin_again()
    assert torch.equal(steps.table.rows, first)
    assert not steps.table.moments["times"].any()
    steps.take(0, 1.0)
    steps.keep()
    best = steps.table.rows.clone()
    steps.take(1, 1.0)
    steps.begin_again()
    assert torch.equal(steps.table.rows, best)


def test_two_processes_share_the_rows_out(toy: Dataset, tmp_path: Path) -> None:
    """Real ones; and one goes on where two have stopped."""
    config, saved, told = small("recall", training=SOME), list[State](), list[Progress]()
    validator = Validator(toy, None)
    alone = fit(config, toy, 1, Hooks(validate=validator))
    together = fit(config, toy, 2, Hooks(validate=validator, progress=told.append, checkpoint=saved.append))
    assert_alike(together, alone)
    assert together.best == alone.best
    assert told[-1].step == 9


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [*((name, 3) for name in SPLIT), ("recall", 2)])
def test_any_number_of_processes_takes_the_steps_of_one(
    name: str, count: int, toy: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In double precision, as in test_processes.py."""
    monkeypatch.setattr(material, "new_model", in_double)
    alone, together = list[Progress](), list[Progress]()
    config = small(name, training={**HIDDEN, "candidates": 6})
    one = fit(config, toy, 1, Hooks(progress=alone.append))
    assert_alike(fit(config, toy, count, Hooks(progress=together.append)), one, rtol=1e-6)
    assert [now.loss for now in together] == pytest.approx([now.loss for now in alone], rel=1e-7)


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_processes(toy: Dataset, tmp_path: Path) -> None:
    config, saved = small("recall", training=SOME), list[State]()
    fit(config, toy, 3, broken_off(4, checkpoint=saved.append))
    assert saved[-1].step == 4
    state = resumed(saved[-1], tmp_path)
    assert_alike(fit(config, toy, 2, resume=state), fit(config, toy, 1))


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run(toy: Dataset, tmp_path: Path) -> None:
    """Its rows are lost, and the last checkpoint is whole."""
    config, saved, pids = small("recall", training=SOME), list[State](), list[int]()
    validator = Validator(toy, None)

    def progress(now: Progress) -> None:
        if now.step == 6 and now.validated is not None:
            os.kill(pids[1], signal.SIGKILL)

    hooks = Hooks(validate=validator, progress=progress, checkpoint=saved.append, improved=lambda model, metric: None)
    with pytest.raises(ProcessError, match=r"^process 2 of 3 was ended by SIGKILL$"):
        fit(config, toy, 3, hooks, began=pids.extend)
    assert not any(is_running(pid) for pid in pids)
    assert 0 < saved[-1].step <= 6
    state = resumed(saved[-1], tmp_path)
    assert_alike(
        fit(config, toy, 1, Hooks(validate=validator), resume=state), fit(config, toy, 1, Hooks(validate=validator))
    )
