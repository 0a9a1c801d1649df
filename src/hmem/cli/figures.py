"""`hmem figures`: the paper's figures and the numbers behind them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hmem.cli import options, output
from hmem.cli.drawing import prepare, show_degree, show_growth, write
from hmem.errors import DataError

if TYPE_CHECKING:
    from hmem.figures.compared_models import Contender
    from hmem.graph.dataset import Dataset

app = typer.Typer(help="Draw the paper's figures: PNG, SVG, and the numbers as CSV.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: seconds on one core.")]
Caption = Annotated[bool, typer.Option(help="Write the caption below the picture.")]
Models = Annotated[
    list[Path], typer.Option("--model", metavar="DIR", help="A folder that `hmem train` wrote; may be repeated.")
]
ModelData = Annotated[
    str | None, typer.Option("--data", metavar="DATA", help="The dataset; the one the first model knows if left out.")
]
WithRules = Annotated[bool, typer.Option("--rules/--no-rules", help="Also rank with length-1 rules.")]

FOLDER = Path("figures")
QUICK_COUNTS = (1, 3, 10, 30, 100, 300)
QUICK_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
QUICK_QUERIES, QUICK_LINKS = 500, 2_000
BUNDLED, WORDNET = "wordnet-mini", "WN18"


@app.command()
def capacity(
    seeds: Annotated[int, typer.Option(min=1, help="How often everything is drawn anew.")] = 10,
    quick: Quick = False,
    out: Out = FOLDER,
    caption: Caption = True,
    json_path: options.Json = None,
) -> None:
    """Retrieval from a random memory against the number of stored bindings: the paper's simulation."""
    prepare(out)
    from hmem.figures.capacity import COUNTS, capacity
    from hmem.figures.drawings import capacity_picture

    if quick:
        result = capacity(counts=QUICK_COUNTS, seeds=min(seeds, 3), memories=5)
    else:
        result = capacity(counts=COUNTS, seeds=seeds)
    write("capacity", result, capacity_picture(result), out, caption, json_path)


@app.command()
def degree(
    model: Models,
    data: ModelData = None,
    graph: options.Graph = "train",
    rules: WithRules = True,
    device: options.Device = "auto",
    quick: Quick = False,
    out: Out = FOLDER,
    caption: Caption = True,
    json_path: options.Json = None,
) -> None:
    """MRR against the size of the asked entity's neighborhood, with the fitted line and the paper's six bins."""
    prepare(out)
    from hmem.figures.degree import degree_effect
    from hmem.figures.drawings import degree_picture

    dataset, contenders = _contenders(model, data, rules, device)
    result = degree_effect(dataset, contenders, graph=graph, sample=QUICK_QUERIES if quick else None)
    if json_path != "-":
        show_degree(result)
    write("degree", result, degree_picture(result), out, caption, json_path)


@app.command()
def growth(
    model: Models,
    data: ModelData = None,
    graph: options.Graph = "train",
    draws: Annotated[int, typer.Option(min=1, help="Random orders in which the facts arrive.")] = 3,
    rules: WithRules = True,
    device: options.Device = "auto",
    quick: Quick = False,
    out: Out = FOLDER,
    caption: Caption = True,
    json_path: options.Json = None,
) -> None:
    """MRR on entities never seen in training against the share of the facts about them that is in memory."""
    prepare(out)
    from hmem.figures.drawings import growth_picture
    from hmem.figures.growth import SHARES, growth

    dataset, contenders = _contenders(model, data, rules, device)
    result = growth(
        dataset,
        contenders,
        graph=graph,
        shares=QUICK_SHARES if quick else SHARES,
        draws=min(draws, 2) if quick else draws,
        sample=QUICK_QUERIES if quick else None,
    )
    if json_path != "-":
        show_growth(result)
    write("growth", result, growth_picture(result), out, caption, json_path)


@app.command()
def harmony(quick: Quick = False, out: Out = FOLDER, caption: Caption = True, json_path: options.Json = None) -> None:
    """Two Harmony surfaces over a two-dimensional memory, with their optima."""
    prepare(out)
    from hmem.figures.drawings import harmony_picture
    from hmem.figures.harmony_surface import harmony_surfaces

    result = harmony_surfaces(resolution=31 if quick else 81)
    write("harmony", result, harmony_picture(result), out, caption, json_path)


@app.command()
def traversal(
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help=f"The graph; {WORDNET} if it is here, else {BUNDLED}."),
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="How many links to read back; all if left out.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random vectors and of the sample.")] = 0,
    device: options.Device = "auto",
    quick: Quick = False,
    out: Out = FOLDER,
    caption: Caption = True,
    json_path: options.Json = None,
) -> None:
    """How many links of a graph come back from untrained memories, by degree, for each binding."""
    prepare(out)
    from hmem.figures.drawings import traversal_picture
    from hmem.figures.shapes import shape_label
    from hmem.figures.traversal import traversal
    from hmem.runs.device import resolve_device

    dataset = output.load(data or _default_graph(quick))
    result = traversal(
        dataset,
        sample=min(sample or QUICK_LINKS, QUICK_LINKS) if quick else sample,
        seed=seed,
        device=resolve_device(device),
        progress=lambda recall: output.note(
            f"{dataset.name}: {shape_label(recall.config)} gives {recall.overall:.1%} of the links back"
        ),
    )
    write("traversal", result, traversal_picture(result), out, caption, json_path)


def _contenders(
    folders: Sequence[Path], data: str | None, rules: bool, device: str
) -> "tuple[Dataset, list[Contender]]":
    """The models in the order given, and the rules; all of them know the entities of one dataset."""
    from hmem.figures.compared_models import model_contender, rules_contender
    from hmem.runs.fit import load

    saved = [load(folder, device) for folder in folders]
    dataset = output.load(data or saved[0].dataset)
    for folder, each in zip(folders, saved, strict=True):
        if each.vocab != dataset.vocab:
            raise DataError(
                f"{dataset.name} has other entities or relations than {folder} was trained on ({each.dataset}); "
                "a figure compares models of one graph"
            )
    presets = [each.preset for each in saved]
    contenders = [
        model_contender(each.preset if presets.count(each.preset) == 1 else str(folder), each.model, each.model.device)
        for folder, each in zip(folders, saved, strict=True)
    ]
    return dataset, [*contenders, *([rules_contender(dataset)] if rules else [])]


def _default_graph(quick: bool) -> str:
    from hmem.graph.registry import find_entry, locate

    return BUNDLED if quick or locate(find_entry(WORDNET)) is None else WORDNET
