"""`hmem baseline`: what any model has to beat."""

from typing import Annotated, Literal

import typer

from hmem.cli import options, output
from hmem.cli.reports import show_reports
from hmem.errors import ConfigError


def baseline(
    name: Annotated[
        Literal["counts", "rules", "frequency", "random"],
        typer.Argument(metavar="NAME", help="counts, rules, frequency or random."),
    ],
    data: options.Data,
    split: options.Split = "test",
    graph: options.Graph = "train",
    combine: Annotated[
        Literal["max", "noisy-or"] | None,
        typer.Option(help="Of rules: score by the best rule (max), or by all that fire."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of random: another seed, another order.")] = None,
    breakdowns: options.Breakdowns = False,
    json_path: options.Json = None,
) -> None:
    """Rank with counts, rules, frequency or at random: no training, no GPU.

    counts: of the entities that share a fact with this one, how many have the answer? rules: length-1 rules mined from
    the training facts, ranked by confidence. frequency: the entities that stand most often in the asked role, whichever
    entity is asked about. random: a random order, the floor of every metric.
    """
    from hmem.evaluation.baselines import make_baseline
    from hmem.evaluation.report import report

    for option, given, of in (("--combine", combine, "rules"), ("--seed", seed, "random")):
        if given is not None and name != of:
            raise ConfigError(f"{option} is of the baseline {of}, not of {name}")
    dataset = output.load(data)
    model = "rules (noisy-or)" if combine == "noisy-or" else name
    scorer = make_baseline(model, dataset, graph, seed or 0)
    settings = {"combine": scorer.combine} if hasattr(scorer, "combine") else {}
    drawn = (seed or 0) if name == "random" else None
    made = report(scorer, dataset, model=model, split=split, graph=graph, settings=settings, seed=drawn)
    show_reports([made], dataset, breakdowns=breakdowns, json_path=json_path)
