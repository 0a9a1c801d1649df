"""Train a row of the paper's tables, rank the test facts with it, and keep the figures.

What was done already is not done again: a row whose results are in the file is left alone, one whose model is trained
is only ranked, and one that was interrupted goes on from its last checkpoint.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from hmem.config import to_dict
from hmem.errors import CheckpointError
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import current_commit, report
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.registry import counts
from hmem.model.checkpoint import SavedModel, load, read_tensors, save
from hmem.model.hmem import ModelScorer
from hmem.model.index import FrozenIndex
from hmem.reproduction.paper_rows import GRAPHS, Row, Run
from hmem.reproduction.results import BASELINES, Line, append_result, find_baseline, find_run, line_of
from hmem.runs.folder import LOG, RUN, STATE, cost_of, train_in
from hmem.training.loop import Outcome, Progress
from hmem.training.state import State

if sys.platform != "win32":
    import fcntl

Stage = Literal["done", "to rank", "to resume", "to train"]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Where a reproduction works and whom it tells; `stop` is asked after each step."""

    results: Path  # a file, or a folder with a file for each dataset
    models: Path
    device: str = "cpu"
    commit: str | None = None
    retrain: bool = False
    progress: Callable[[Progress], None] | None = None
    stop: Callable[[], bool] | None = None


def runs_of(rows: Sequence[Row], seed: int | None = None) -> list[Run]:
    """The trainings that rows ask for: one for each of their seeds, or for `seed` alone."""
    return [Run(row=row, seed=each) for row in rows for each in (row.seeds if seed is None else (seed,))]


def missing_graphs(lines: Sequence[Line], run: Run) -> list[GraphName]:
    return [graph for graph in GRAPHS if find_run(lines, run, graph) is None]


def is_complete(lines: Sequence[Line], runs: Sequence[Run], dataset: str) -> bool:
    """Whether every figure of these runs and of the baselines is there, so that nobody has to look at the data."""
    known = all(find_baseline(lines, name, dataset, graph) for name in BASELINES for graph in GRAPHS)
    return known and not any(missing_graphs(lines, run) for run in runs)


def stage_of(lines: Sequence[Line], run: Run, models: Path) -> Stage:
    folder = run.folder(models)
    if not missing_graphs(lines, run):
        return "done"
    if (folder / "config.json").exists():
        return "to rank"
    return "to resume" if (folder / STATE).exists() else "to train"


def reproduce(run: Run, dataset: Dataset, graphs: Sequence[GraphName], where: Surroundings) -> list[Line] | None:
    """Train what is missing, rank the test facts on each of `graphs`, and add the lines to the results.

    None if it was interrupted, or if another process is at it.
    """
    folder = run.folder(where.models)
    with claimed(folder) as is_ours:
        fitted = fit(run, dataset, folder, where) if is_ours else None
        if fitted is None:
            return None
        lines = [rank(run, fitted, dataset, graph, where) for graph in graphs]
        for line in lines:
            append_result(where.results, line)
        return lines


def fit(run: Run, dataset: Dataset, folder: Path, where: Surroundings) -> SavedModel | None:
    """The trained model of a run, from its folder where it is there; None if training was interrupted."""
    if where.retrain:
        for name in ("config.json", STATE):
            (folder / name).unlink(missing_ok=True)
    finished = _finished(run, dataset, folder, where.device)
    if finished is not None:
        return finished
    about = {
        "data": run.row.dataset,
        "counts": counts(dataset),
        "preset": run.row.preset,
        "config": to_dict(run.config),
    }
    state = _interrupted(folder, about)
    if state is None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LOG).unlink(missing_ok=True)
        (folder / RUN).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    outcome, graph = train_in(
        folder,
        run.config,
        dataset,
        device=where.device,
        progress=where.progress,
        stop=where.stop,
        resume=state,
    )
    if outcome.stopped == "interrupted":
        return None
    saved = _saved(run, dataset, outcome, graph)
    save(folder, saved)
    (folder / STATE).unlink(missing_ok=True)
    return saved


def trained(run: Run, dataset: Dataset, where: Surroundings) -> SavedModel | None:
    """The model of a run: from its folder, or trained now; None if it was interrupted or another process is at it."""
    folder = run.folder(where.models)
    with claimed(folder) as is_ours:
        return fit(run, dataset, folder, dataclasses.replace(where, retrain=False)) if is_ours else None


def rank(run: Run, fitted: SavedModel, dataset: Dataset, graph: GraphName, where: Surroundings) -> Line:
    """The test figures of a trained model on one graph, in both protocols."""
    scorer = ModelScorer(fitted.model, FrozenIndex(dataset.inference_graph(graph), where.device))
    made = report(
        scorer,
        dataset,
        model=run.row.name,
        graph=graph,
        settings=run.settings,
        seed=run.seed,
        extra={"row": run.row.key, **fitted.metrics["training"]},
    )
    return {
        **line_of(made),
        "dataset": run.row.dataset,  # as the row says it, by which it is found again
        "device": device_name(where.device),
        "commit": where.commit or current_commit(),
    }


def baselines(dataset: Dataset, lines: Sequence[Line], results: Path) -> list[Line]:
    """The test figures of rules and frequency on both graphs: those among `lines`, or else ranked now and added."""
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


@contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Whether the run of this folder is ours: several processes can share one list of rows. The claim ends with the
    process, however it ends. Where the system has no such locks, everything is ours."""
    if sys.platform == "win32":
        yield True
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _finished(run: Run, dataset: Dataset, folder: Path, device: str) -> SavedModel | None:
    """The model that the run left; None if there is none that this version can use."""
    try:
        saved = load(folder, device)
    except CheckpointError:
        return None
    is_whole = saved.config == run.config and saved.vocab == dataset.vocab and "training" in saved.metrics
    return saved if is_whole else None


def _interrupted(folder: Path, about: dict[str, Any]) -> State | None:
    """Where the same run stopped; None if there is nothing whole to go on from."""
    try:
        if (folder / STATE).exists() and json.loads((folder / RUN).read_text(encoding="utf-8")) == about:
            return State.from_tensors(*read_tensors(folder / STATE))
    except (OSError, ValueError, CheckpointError):
        return None
    return None


def _saved(run: Run, dataset: Dataset, outcome: Outcome, graph: FrozenIndex) -> SavedModel:
    """The model with what its training took, as `hmem train` keeps it."""
    model, facts = outcome.model, cost_of(outcome)
    made = report(
        ModelScorer(model, graph),
        dataset,
        model=run.row.preset,
        split="valid",
        settings=run.settings,
        seed=run.seed,
        extra=facts,
    )
    valid = {f"valid_mrr_{protocol}": round(figures[MRR], 6) for protocol, figures in made.protocols.items()}
    return SavedModel(
        model=model,
        config=run.config,
        vocab=dataset.vocab,
        dataset=dataset.name,
        preset=run.row.preset,
        metrics={"reports": [line_of(made)], "training": {**facts, **valid}},
    )
