"""`hmem figures`: the paper's figures, as pictures, as numbers in CSV files, and summed up in tables on the screen."""

import inspect
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable

import typer

from hmem.cli import options, output
from hmem.errors import ConfigError, DataError

if TYPE_CHECKING:
    from hmem.figures.compared_models import ComparedModel, Kind
    from hmem.figures.degree import DegreeCurve, DegreeEffect
    from hmem.figures.growth import GrowthEffect
    from hmem.figures.tables import Tables
    from hmem.graph.dataset import Dataset

app = typer.Typer(help="Draw the paper's figures: PNG, SVG, and the numbers as CSV.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write to.")]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: seconds on one core.")]
Caption = Annotated[bool, typer.Option(help="Write the caption below the picture.")]
Models = Annotated[
    list[Path], typer.Option("--model", metavar="DIR", help="A folder that `hmem train` wrote; may be repeated.")
]
ModelData = Annotated[
    str | None,
    typer.Option("--data", metavar="DATA", help="The dataset; if left out, that of the first model."),
]
WithRules = Annotated[bool, typer.Option("--rules/--no-rules", help="Also rank with length-1 rules.")]

FOLDER = Path("figures")
QUICK_COUNTS = (1, 3, 10, 30, 100, 300)
QUICK_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
QUICK_QUERIES, QUICK_LINKS = 500, 2_000
BUNDLED, WORDNET = "wordnet-mini", "WN18"


@runtime_checkable
class Result(Protocol):
    """Numbers that can be drawn and written down."""

    def tables(self) -> "Tables": ...


def figure(compute: Callable[..., Result]) -> Callable[..., Result]:
    """Make a command of a function that computes a figure, with the options that all figures have."""

    def command(*, out: Out = FOLDER, caption: Caption = True, json_path: options.Json = None, **own: object) -> None:
        prepare(out)
        write(compute.__name__, compute(**own), out, caption=caption, json_path=json_path)

    own = inspect.signature(compute).parameters
    shared = {name: each for name, each in inspect.signature(command).parameters.items() if name != "own"}
    every = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own.values(), *shared.values())]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in every}
    app.command(compute.__name__, help=compute.__doc__)(command)
    return compute


@figure
def capacity(
    seeds: Annotated[int, typer.Option(min=1, help="How often everything is drawn anew.")] = 10, quick: Quick = False
) -> Result:
    """Retrieval from a random memory against the number of stored bindings: the paper's simulation."""
    from hmem.figures.capacity import COUNTS, capacity

    if quick:
        return capacity(counts=QUICK_COUNTS, seeds=min(seeds, 3), memories=5)
    return capacity(counts=COUNTS, seeds=seeds)


@figure
def degree(
    model: Models,
    data: ModelData = None,
    graph: options.Graph = "train",
    rules: WithRules = True,
    device: options.Device = "auto",
    quick: Quick = False,
) -> Result:
    """MRR against the size of the asked entity's neighborhood, with the fitted line and the paper's six bins."""
    from hmem.figures.degree import degree_effect

    dataset, models = _compared(model, data, rules, device)
    return degree_effect(dataset, models, graph=graph, sample=QUICK_QUERIES if quick else None)


@figure
def growth(
    model: Models,
    data: ModelData = None,
    graph: options.Graph = "train",
    draws: Annotated[int, typer.Option(min=1, help="Random orders in which the facts arrive.")] = 3,
    rules: WithRules = True,
    device: options.Device = "auto",
    quick: Quick = False,
) -> Result:
    """MRR on entities never seen in training against the share of the facts about them that is in memory."""
    from hmem.figures.growth import growth_effect

    dataset, models = _compared(model, data, rules, device)
    smaller = {"shares": QUICK_SHARES, "draws": min(draws, 2), "sample": QUICK_QUERIES}
    return growth_effect(dataset, models, graph=graph, **(smaller if quick else {"draws": draws}))


@figure
def harmony(quick: Quick = False) -> Result:
    """Two Harmony surfaces over a two-dimensional memory, with their optima."""
    from hmem.figures.harmony_surface import harmony_surfaces

    return harmony_surfaces(resolution=31 if quick else 81)


@figure
def traversal(
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help=f"The graph; {WORDNET} if it is here, else {BUNDLED}."),
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="How many links to read back; all if left out.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random vectors and of the sample.")] = 0,
    device: options.Device = "auto",
    quick: Quick = False,
) -> Result:
    """How many links of a graph come back from untrained memories, by degree, for each binding."""
    from hmem.figures.capacity import shape_label
    from hmem.figures.traversal import traversal
    from hmem.runs.device import resolve_device

    dataset = output.load(data or _default_graph(quick))
    return traversal(
        dataset,
        sample=min(sample or QUICK_LINKS, QUICK_LINKS) if quick else sample,
        seed=seed,
        device=resolve_device(device),
        progress=lambda recall: output.note(
            f"{dataset.name}: {shape_label(recall.config)} gives {recall.overall:.1%} of the links back"
        ),
    )


def _compared(
    folders: Sequence[Path], data: str | None, rules: bool, device: str
) -> "tuple[Dataset, list[ComparedModel]]":
    """The models in the order given, and the rules, all over the entities of one dataset."""
    from hmem.figures.compared_models import compared_model, compared_rules
    from hmem.runs.fit import load

    saved = [load(folder, device) for folder in folders]
    dataset = output.load(data or saved[0].dataset)
    for folder, each in zip(folders, saved, strict=True):
        if each.vocab != dataset.vocab:
            trained = f"{folder} was trained on ({each.dataset})"
            problem = f"{dataset.name} has other entities or relations than {trained}"
            raise DataError(f"{problem}; a figure compares models of one graph")
    presets = [each.preset for each in saved]
    models = [
        compared_model(each.preset if presets.count(each.preset) == 1 else str(folder), each.model, each.model.device)
        for folder, each in zip(folders, saved, strict=True)
    ]
    return dataset, [*models, *([compared_rules(dataset)] if rules else [])]


def _default_graph(quick: bool) -> str:
    from hmem.graph.registry import find_entry, locate

    return BUNDLED if quick or locate(find_entry(WORDNET)) is None else WORDNET


def prepare(out: Path) -> None:
    """Fail before the work, not after it."""
    from hmem.figures.plotting import require_matplotlib

    require_matplotlib()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError("{path} is no folder; expected one, or a place for a new one", path=out) from None


def write(
    name: str, result: Result, out: Path, *, caption: bool = True, json_path: str | None = None, quiet: bool = False
) -> None:
    """The picture, and a CSV file for each table of its numbers; then say what there is."""
    from hmem.figures.degree import DegreeEffect
    from hmem.figures.drawings import PICTURES
    from hmem.figures.growth import GrowthEffect
    from hmem.figures.plotting import write_picture
    from hmem.figures.tables import write_csv

    if not quiet and json_path != "-":
        if isinstance(result, DegreeEffect):
            show_degree(result)
        elif isinstance(result, GrowthEffect):
            show_growth(result)
    written = write_picture(PICTURES[type(result)](result), out, name, caption=caption)
    for table, rows in result.tables().items():
        written.append(out / f"{table}.csv")
        write_csv(written[-1], rows)
    output.write_json(json_path, result.tables())
    output.console(stderr=json_path == "-").print(f"Wrote {', '.join(map(str, written))}", soft_wrap=True)


def show_degree(result: "DegreeEffect") -> None:
    from hmem.figures.degree import BINS, paper_row

    title = f"{result.dataset}, test: MRR by the number of neighbors of the asked entity"
    table = output.table(["model", "protocol"], BINS, title=title)
    for curve in result.curves:
        table.add_row(curve.name, curve.protocol, *map(output.decimal, curve.six.mrr.tolist()))
    kinds: tuple[Kind, ...] = ("explicit", "implicit")
    for kind in kinds:
        paper = paper_row(result.dataset, kind)
        if not math.isnan(paper[0]):  # there is such a row
            table.add_row(f"paper, {kind}", "", *map(output.decimal, paper))
    output.show(table)
    lines = output.table(
        ["model", "protocol"],
        ["per 100 neighbors", "per doubling"],
        title="How MRR changes with neighbors: slope of the fitted line (95 % interval)",
    )
    for curve in result.curves:
        lines.add_row(curve.name, curve.protocol, *_slopes(curve))
    output.show(lines)


def _slopes(curve: "DegreeCurve") -> list[str]:
    """How much MRR changes with a hundred neighbors more and with twice as many, each with its 95 % interval."""
    return [
        f"{by * line.slope:+.3f} ({by * line.low:+.3f} to {by * line.high:+.3f})" if math.isfinite(line.slope) else "–"
        for line, by in ((curve.per_neighbor, 100), (curve.per_doubling, 1))
    ]


def show_growth(result: "GrowthEffect") -> None:
    title = f"{result.dataset}, test: MRR by the share of facts in memory"
    table = output.table(["model", "protocol"], [f"{share:.0%}" for share in result.shares], title=title)
    for curve in result.curves:
        table.add_row(curve.name, curve.protocol, *map(output.decimal, curve.mrr.mean(axis=0).tolist()))
    output.show(table)
