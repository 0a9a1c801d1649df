"""`hmem evaluate`: rank a split with a trained model."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hmem.cli import options, output
from hmem.errors import DataError

if TYPE_CHECKING:
    from hmem.graph.dataset import Dataset
    from hmem.model.checkpoint import SavedModel
    from hmem.model.hmem import ModelScorer
    from hmem.model.index import FrozenIndex


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `hmem train` wrote.")],
    data: Annotated[
        str | None,
        typer.Argument(help="The dataset, which may be about other entities; the one it was trained on if left out."),
    ] = None,
    split: options.Split = "test",
    graph: options.Graph = "train",
    protocol: Annotated[
        Literal["all", "typed", "both"], typer.Option(help="Who may be an answer; see docs/evaluation.md.")
    ] = "both",
    baselines: Annotated[bool, typer.Option("--baselines", help="Also rank with rules and frequency.")] = False,
    device: options.Device = "auto",
    breakdowns: options.Breakdowns = False,
    json_path: options.Json = None,
) -> None:
    """Rank every fact of a split from both sides: MR, MRR and Hits, filtered, ties shared."""
    from hmem.cli.show import show_reports
    from hmem.evaluation.baselines import make_baseline
    from hmem.evaluation.protocol import PROTOCOLS, Protocol
    from hmem.evaluation.report import report
    from hmem.model.checkpoint import load
    from hmem.model.hmem import ModelScorer
    from hmem.model.index import FrozenIndex

    place = options.resolve_device(device)
    saved = load(model, place)
    dataset = _dataset_of(saved, data, model)
    protocols: tuple[Protocol, ...] = PROTOCOLS if protocol == "both" else (protocol,)
    index = FrozenIndex(dataset.inference_graph(graph), place)
    scorer = ModelScorer(saved.model, index)
    if dataset.vocab != saved.vocab:
        scorer = _newcomer(saved, dataset, index)
    made = [
        report(
            scorer,
            dataset,
            model=saved.preset,
            split=split,
            graph=graph,
            protocols=protocols,
            settings=(saved.metrics.get("reports") or [{}])[0].get("settings", {}),
            seed=saved.config.training.seed,
            extra=saved.metrics.get("training", {}),
        )
    ]
    for name in ("rules", "frequency") if baselines else ():
        made.append(
            report(
                make_baseline(name, dataset, graph), dataset, model=name, split=split, graph=graph, protocols=protocols
            )
        )
    show_reports(made, dataset, breakdowns=breakdowns, json_path=json_path)


def _dataset_of(saved: "SavedModel", data: str | None, folder: Path) -> "Dataset":
    """The dataset to rank: the one that the model was trained on, unless told otherwise."""
    if data is None:
        run = folder / "run.json"
        data = json.loads(run.read_text(encoding="utf-8"))["data"] if run.exists() else saved.dataset
    return output.load(data)


def _newcomer(saved: "SavedModel", dataset: "Dataset", index: "FrozenIndex") -> "ModelScorer":
    """The model on a graph with other entities, all or some of which it has never met."""
    from hmem.model.hmem import ModelScorer
    from hmem.model.implicit import ImplicitMemory
    from hmem.model.placing import place_all
    from hmem.model.renumber import renumber

    unknown = [name for name in dataset.vocab.relations if name not in saved.vocab.relations]
    if unknown:
        raise DataError(
            f'{dataset.name} has relations that the model was not trained with, such as "{unknown[0]}"; '
            f"a model of {saved.dataset} can meet new entities, but not new relations"
        )
    if isinstance(saved.model.memory, ImplicitMemory):
        raise DataError(
            f"{dataset.name} has entities that the model was not trained with, and its memories are implicit: they "
            "know nobody else; train an explicit one"
        )
    model = renumber(saved.model, saved.vocab, dataset.vocab)
    output.note(f"{int((~model.is_trained).sum()):,} of {dataset.num_entities:,} entities are new to the model.")
    return ModelScorer(model, index, place_all(model, index))
