"""`hmem baseline`: what any model has to beat."""

from typing import Annotated, Literal

import typer

from hmem.cli import options, output
from hmem.cli.reports import show_reports

app = typer.Typer(help="Rank with counts, rules, frequency or at random: no training, no GPU.", no_args_is_help=True)


@app.command()
def counts(
    data: options.Data,
    split: options.Split = "test",
    graph: options.Graph = "train",
    breakdowns: options.Breakdowns = False,
    json_path: options.Json = None,
) -> None:
    """Co-occurrence: of the entities that share a fact with this one, how many have the answer?"""
    _run("counts", data, split, graph, breakdowns, json_path)


@app.command()
def rules(
    data: options.Data,
    split: options.Split = "test",
    graph: options.Graph = "train",
    combine: Annotated[
        Literal["max", "noisy-or"], typer.Option(help="Score by the best rule, or by all that fire.")
    ] = "max",
    breakdowns: options.Breakdowns = False,
    json_path: options.Json = None,
) -> None:
    """Length-1 rules mined from the training facts, ranked by confidence."""
    _run("rules" if combine == "max" else "rules (noisy-or)", data, split, graph, breakdowns, json_path)


@app.command()
def frequency(
    data: options.Data,
    split: options.Split = "test",
    graph: options.Graph = "train",
    breakdowns: options.Breakdowns = False,
    json_path: options.Json = None,
) -> None:
    """The entities that stand most often in the asked role, whichever entity is asked about."""
    _run("frequency", data, split, graph, breakdowns, json_path)


@app.command()
def random(
    data: options.Data,
    split: options.Split = "test",
    graph: options.Graph = "train",
    seed: Annotated[int, typer.Option(help="Another seed, another order.")] = 0,
    breakdowns: options.Breakdowns = False,
    json_path: options.Json = None,
) -> None:
    """A random order: the floor of every metric."""
    _run("random", data, split, graph, breakdowns, json_path, seed)


def _run(
    name: str,
    data: str,
    split: options.SplitName,
    graph: options.GraphName,
    breakdowns: bool,
    json_path: str | None,
    seed: int = 0,
) -> None:
    from hmem.evaluation.baselines import make_baseline
    from hmem.evaluation.report import report

    dataset = output.load(data)
    scorer = make_baseline(name, dataset, graph, seed)
    settings = {"combine": scorer.combine} if hasattr(scorer, "combine") else {}
    drawn = seed if name == "random" else None
    made = report(scorer, dataset, model=name, split=split, graph=graph, settings=settings, seed=drawn)
    show_reports([made], dataset, breakdowns=breakdowns, json_path=json_path)
