"""Evaluations as tables."""

import re
from dataclasses import replace

import pytest
from rich.table import Table

from hmem.cli import output
from hmem.cli.reports import breakdown_table, metrics_table
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.report import Report, report
from hmem.graph.dataset import Dataset, GraphName


def cells(table: Table) -> list[str]:
    """The lines of a table, its cells joined by single bars, without the rule below the heading."""
    console = output.console()
    with console.capture() as captured:
        console.print(table)
    lines = (line.strip() for line in captured.get().splitlines())
    return [re.sub(r" {2,}", "|", line) for line in lines if line.strip("─ ")]


def made_up(**values: float) -> Report:
    names = {"mr": "arithmetic_mean_rank", "mrr": "inverse_harmonic_mean_rank"}
    names |= {f"h{k}": f"hits_at_{k}" for k in (1, 3, 10)}
    metrics = {f"both.realistic.{key}": values[short] for short, key in names.items()}
    metrics["both.optimistic.inverse_harmonic_mean_rank"] = values["high"]
    metrics["both.pessimistic.inverse_harmonic_mean_rank"] = values["low"]
    parts = {f"r{i}": {"count": 1000 + i, "mrr": 0.5, "hits@1": 0.25, "hits@10": 1.0, "mr": 2.0} for i in range(14)}
    return Report(
        dataset="d", split="test", graph="train+valid", model="rules", protocols={"all": metrics},
        breakdowns={"all": {"relation": parts}},
    )  # fmt: skip


def test_the_table_of_metrics() -> None:
    table = metrics_table([made_up(mr=1234.56, mrr=0.9384, h1=0.0, h3=1.0, h10=0.5, low=0.93, high=0.95)], "WN18")
    assert cells(table) == [
        "WN18",
        "model|protocol|MR|MRR|H@1|H@3|H@10|MRR range",
        "rules+|all|1,234.6|.938|.000|1.000|.500|.930–.950",
    ]


def rules(toy: Dataset, graph: GraphName) -> Report:
    return report(make_baseline("rules", toy, graph), toy, model="rules", graph=graph)


def test_the_table_has_a_line_for_each_protocol(toy: Dataset) -> None:
    rows = cells(metrics_table([rules(toy, "train"), rules(toy, "train+valid")]))
    assert [row.split("|")[:2] for row in rows[1:]] == [
        ["rules", "all"], ["rules", "typed"], ["rules+", "all"], ["rules+", "typed"],
    ]  # fmt: skip


def test_the_table_of_a_breakdown() -> None:
    made = made_up(mr=1.0, mrr=1.0, h1=1.0, h3=1.0, h10=1.0, low=1.0, high=1.0)
    assert cells(breakdown_table(made, "all", "relation", shown=2)) == [
        "rules+ by relation (all)",
        "relation|queries|MRR|H@1|H@10",
        "r0|1,000|.500|.250|1.000",
        "r1|1,001|.500|.250|1.000",
        "… 12 more",
    ]
    assert len(cells(breakdown_table(made, "all", "relation", shown=14))) == 16


@pytest.mark.parametrize("name", ["[red]", "[/film/actor]", "a [bold] b", "\\[x]"])
def test_names_are_shown_as_they_are(name: str) -> None:
    part = {"count": 1, "mrr": 0.5, "hits@1": 0.25, "hits@10": 1.0, "mr": 2.0}
    made = replace(made_up(mr=1.0, mrr=1.0, h1=1.0, h3=1.0, h10=1.0, low=1.0, high=1.0), model=name, graph="train")
    made = replace(made, breakdowns={"all": {"relation": {name: part}}})
    assert cells(metrics_table([made]))[1].startswith(f"{name}|all|")
    lines = cells(breakdown_table(made, "all", "relation"))
    assert lines[0] == f"{name} by relation (all)"
    assert lines[2].startswith(f"{name}|1|")
