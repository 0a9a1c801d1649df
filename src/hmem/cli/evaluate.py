"""`hmem evaluate`: rank a split with a trained model."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hmem.cli import options, output
from hmem.cli.progress import import_progress
from hmem.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from hmem.graph.dataset import Dataset


def evaluate(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A folder that `hmem train` wrote; or `base`, which comes with hmem."),
    ],
    data: Annotated[
        str | None,
        typer.Argument(help="The dataset, which may be about other entities; the one it was trained on if left out."),
    ] = None,
    split: options.Split = "test",
    graph: options.Graph = "train",
    protocol: Annotated[
        Literal["all", "typed", "both"], typer.Option(help="Which entities are candidates; see docs/evaluation.md.")
    ] = "both",
    baselines: Annotated[bool, typer.Option("--baselines", help="Also rank with counts, rules and frequency.")] = False,
    device: options.Device = "auto",
    breakdowns: options.Breakdowns = False,
    json_path: options.Json = None,
) -> None:
    """Rank every fact of a split from both sides: MR, MRR and Hits, filtered, ties shared.

    `hmem evaluate base DATA` ranks any graph without training.
    """
    from hmem.cli.reports import show_reports
    from hmem.evaluation.baselines import BASELINES, make_baseline
    from hmem.evaluation.protocol import PROTOCOLS, Protocol
    from hmem.runs.evaluate import count_unseen
    from hmem.runs.evaluate import evaluate as measure
    from hmem.runs.fit import load

    loaded = load(model, device)
    if data is None and not len(loaded.vocab.entities):
        raise ConfigError(f"{model} is a model of no one graph; say which DATA to rank")
    dataset = output.load(data) if data is not None else _trained_on(model, loaded.dataset)
    protocols: tuple[Protocol, ...] = PROTOCOLS if protocol == "both" else (protocol,)
    with import_progress() as progress:
        told = partial(progress, "questions")
        reports = [measure(loaded, dataset, split=split, graph=graph, protocols=protocols, progress=told)]
    if dataset.vocab != loaded.vocab and len(loaded.vocab.entities):
        output.note(f"{count_unseen(loaded, dataset):,} of {dataset.num_entities:,} entities are new to the model.")
    for name in BASELINES if baselines else ():
        baseline = make_baseline(name, dataset, graph)
        reports.append(measure(baseline, dataset, split=split, graph=graph, protocols=protocols, name=name))
    show_reports(reports, dataset, breakdowns=breakdowns, json_path=json_path)


def _trained_on(folder: Path, dataset: str) -> "Dataset":
    """The data that the model in a folder was trained on, with the same validation facts."""
    from hmem.knowledge.store.as_dataset import dataset_of, is_knowledge_base
    from hmem.runs.folder import read_facts, read_run

    try:
        data = str(read_run(folder)["data"])
    except (CheckpointError, KeyError):
        data = dataset
    facts = read_facts(folder) if is_knowledge_base(data) else None
    return output.load(data) if facts is None else dataset_of(data, valid=facts.valid)
