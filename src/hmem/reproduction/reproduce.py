"""Train a row of the paper's tables, rank the test facts with it, and keep the metrics.

What was done already is not done again: a row whose results are in the file is left alone, one whose model is trained
is only ranked, and one that was interrupted goes on from its last checkpoint.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from hmem.errors import CheckpointError, HMemError, InterruptedRunError
from hmem.evaluation.baselines import BASELINES, make_baseline
from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import current_commit, report
from hmem.graph.dataset import Dataset, GraphName
from hmem.model.checkpoint import Model, load
from hmem.reproduction.paper_rows import GRAPHS, PaperRow, Run
from hmem.reproduction.results import Line, append_result, find_baseline, find_run, line_of
from hmem.runs.evaluate import scorer_of
from hmem.runs.fit import AnyCallback, Plan, bundled_start, carry_out
from hmem.runs.folder import RunFolder, claimed
from hmem.sqlite_files import STATE
from hmem.training.state import State

Stage = Literal["done", "to rank", "to resume", "to train"]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Where a reproduction works, and what it tells of its progress."""

    results: Path  # a file, or a folder with a file for each dataset
    models: Path
    device: str = "cpu"
    commit: str | None = None
    retrain: bool = False
    callbacks: tuple[AnyCallback, ...] = ()


def runs_of(rows: Sequence[PaperRow], seed: int | None = None) -> list[Run]:
    """The trainings that rows ask for: one for each of their seeds, or for `seed` alone."""
    return [Run(row=row, seed=each) for row in rows for each in (row.seeds if seed is None else (seed,))]


def missing_graphs(lines: Sequence[Line], run: Run) -> list[GraphName]:
    return [graph for graph in GRAPHS if find_run(lines, run, graph) is None]


def is_complete(lines: Sequence[Line], runs: Sequence[Run], dataset: str) -> bool:
    """Whether every metric of these runs and of the baselines is there, so that the data need not be loaded."""
    has_baselines = all(find_baseline(lines, name, dataset, graph) for name in BASELINES for graph in GRAPHS)
    return has_baselines and not any(missing_graphs(lines, run) for run in runs)


def stage_of(lines: Sequence[Line], run: Run, models: Path) -> Stage:
    folder = run.folder(models)
    if not missing_graphs(lines, run):
        return "done"
    if RunFolder(folder).is_finished:
        return "to rank"
    return "to resume" if (folder / STATE).exists() else "to train"


def reproduce(run: Run, dataset: Dataset, graphs: Sequence[GraphName], where: Surroundings) -> list[Line] | None:
    """Train what is missing, rank the test facts on each of `graphs`, and add the lines to the results.

    None if it was interrupted, or if another process is at it.
    """
    folder = run.folder(where.models)
    with claimed(folder) as is_ours:
        fitted = _model_in(folder, run, dataset, where) if is_ours else None
        if fitted is None:
            return None
        lines = [rank(run, fitted, dataset, graph, where) for graph in graphs]
        for line in lines:
            append_result(where.results, line)
        return lines


def _model_in(path: Path, run: Run, dataset: Dataset, where: Surroundings) -> Model | None:
    """The trained model of a run, from its folder where it is there; None if training was interrupted."""
    if where.retrain:
        for name in ("config.json", STATE):
            (path / name).unlink(missing_ok=True)
    start = bundled_start(run.config, dataset)
    plan = Plan(data=run.row.dataset, dataset=dataset, preset=run.row.preset, config=run.config, start=start)
    plan = plan.settled(where.device)
    finished = _finished(plan, path, where.device)
    if finished is not None:
        return finished
    folder = RunFolder(path)
    try:
        state: State | None = folder.resume(plan.run)
    except HMemError:  # nothing whole to go on from
        state = plan.start and plan.start()
        folder.begin(plan.run, overwrite=True)
    try:
        return carry_out(plan, folder, state, device=where.device, callbacks=where.callbacks).model
    except InterruptedRunError:
        return None


def trained_model(run: Run, dataset: Dataset, where: Surroundings) -> Model | None:
    """The model of a run: from its folder, or trained now; None if it was interrupted or another process is at it."""
    folder = run.folder(where.models)
    with claimed(folder) as is_ours:
        return _model_in(folder, run, dataset, dataclasses.replace(where, retrain=False)) if is_ours else None


def rank(run: Run, fitted: Model, dataset: Dataset, graph: GraphName, where: Surroundings) -> Line:
    """The test metrics of a trained model on one graph, in both protocols."""
    valid = {
        f"valid_mrr_{protocol}": round(values[MRR], 6)
        for each in fitted.metrics["reports"]
        for protocol, values in each["protocols"].items()
    }
    made = report(
        scorer_of(fitted, dataset, graph),
        dataset,
        model=run.row.name,
        graph=graph,
        settings=run.settings,
        seed=run.seed,
        extra={"row": run.row.key, **fitted.metrics["training"], **valid, **_chosen(run, fitted)},
    )
    return {
        **line_of(made),
        "dataset": run.row.dataset,  # as the row says it, by which it is found again
        "device": device_name(where.device),
        "commit": where.commit or current_commit(),
    }


def _chosen(run: Run, fitted: Model) -> dict[str, Any]:
    """The settings of training that the row leaves open, as they were chosen for the graph."""
    asked, taken = dataclasses.asdict(run.config.training), dataclasses.asdict(fitted.config.training)
    chosen = {name: value for name, value in taken.items() if asked[name] is None and value is not None}
    return {"chosen": chosen} if chosen else {}


def baselines(dataset: Dataset, lines: Sequence[Line], results: Path) -> list[Line]:
    """The test metrics of rules and frequency on both graphs: those among `lines`, or else ranked now and added."""
    found = []
    for name in BASELINES:
        for graph in GRAPHS:
            line = find_baseline(lines, name, dataset.name, graph)
            if line is None:
                line = line_of(report(make_baseline(name, dataset, graph), dataset, model=name, graph=graph))
                append_result(results, line)
            found.append(line)
    return found


def device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def _finished(plan: Plan, folder: Path, device: str) -> Model | None:
    """The model that the run left; None if there is none that this version can use."""
    if not RunFolder(folder).is_finished:
        return None
    try:
        saved = load(folder, device)
    except CheckpointError:
        return None
    is_whole = saved.config == plan.config and saved.vocab == plan.dataset.vocab and "training" in saved.metrics
    return saved if is_whole else None
