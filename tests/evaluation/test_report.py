"""One evaluation as a line of JSON and as a table."""

import io
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from hmem.evaluation import report as module
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.metrics import MRR
from hmem.evaluation.queries import queries_of
from hmem.evaluation.report import Report, breakdown_table, current_commit, metrics_table, report
from hmem.graph.dataset import Dataset, GraphName


def shown(table: Table) -> list[str]:
    """The lines of a table, without the frame: cells joined by single bars."""
    out = io.StringIO()
    Console(file=out, width=200, no_color=True).print(table)
    lines = [
        line.strip("│┃ ").replace("┃", "│")
        for line in out.getvalue().splitlines()
        if not set(line) <= set("┏┳┓┡╇┩└┴┘━─ ")
    ]
    return ["|".join(cell.strip() for cell in line.split("│")) for line in lines]


def rules_report(toy: Dataset, graph: GraphName = "train") -> Report:
    return report(
        make_baseline("rules", toy, graph), toy, model="rules", graph=graph, seed=3, settings={"combine": "max"}
    )


def test_a_report_is_one_json_object(toy: Dataset) -> None:
    made = report(
        make_baseline("rules", toy, "train"), toy, model="rules", extra={"epochs": 4}, settings={"λ": 1}, seed=3
    )
    line = made.to_json()
    assert "\n" not in line
    assert "λ" in line
    read = json.loads(line)
    assert list(read) == [
        "dataset", "split", "graph", "model", "protocols", "breakdowns", "settings", "seed", "seconds", "device",
        "commit", "epochs",
    ]  # fmt: skip
    expected = {"dataset": "toy", "split": "test", "graph": "train", "model": "rules", "settings": {"λ": 1}, "seed": 3}
    assert read == read | expected | {"device": "cpu", "epochs": 4}
    assert list(read["protocols"]) == list(read["breakdowns"]) == ["all", "typed"]
    assert 0 < read["protocols"]["all"][MRR] <= read["protocols"]["typed"][MRR] <= 1
    assert read["protocols"]["all"]["both.count"] == 2 * len(toy.test)
    assert read["seconds"] >= 0
    assert read["commit"] == current_commit()


def test_figures_of_the_toy_graph(toy: Dataset) -> None:
    """Worked out by hand: of ten questions, the answer to six stands in the memory of the one asked.

    The three hyponym facts are backed by their hypernym mirror, which gives both ends a rule that fires; no rule
    fires for the answers of the two others.
    """
    made = rules_report(toy)
    parts = made.breakdowns["all"]["linked"]
    assert (parts["linked"]["count"], parts["unlinked"]["count"]) == (6, 4)
    assert parts["linked"]["hits@1"] == 1.0


def test_validation_and_chosen_queries(toy: Dataset) -> None:
    scorer = make_baseline("frequency", toy, "train")
    on_valid = report(scorer, toy, model="frequency", split="valid", protocols=["all"])
    assert (on_valid.split, list(on_valid.protocols)) == ("valid", ["all"])
    assert on_valid.protocols["all"]["both.count"] == 2 * len(toy.valid)
    some = queries_of(toy, "test").sample(3)
    assert report(scorer, toy, model="frequency", queries=some).protocols["all"]["both.count"] == 3


def test_a_plus_marks_the_larger_graph(toy: Dataset) -> None:
    assert rules_report(toy).label == "rules"
    plus = rules_report(toy, "train+valid")
    assert plus.label == "rules+"
    assert plus.breakdowns["all"]["linked"]["linked"]["count"] == 8  # fox and dog are linked by a validation fact


def made_up(**figures: float) -> Report:
    names = {"mr": "arithmetic_mean_rank", "mrr": "inverse_harmonic_mean_rank"}
    names |= {f"h{k}": f"hits_at_{k}" for k in (1, 3, 10)}
    metrics = {f"both.realistic.{key}": figures[short] for short, key in names.items()}
    metrics["both.optimistic.inverse_harmonic_mean_rank"] = figures["high"]
    metrics["both.pessimistic.inverse_harmonic_mean_rank"] = figures["low"]
    parts = {f"r{i}": {"count": 1000 + i, "mrr": 0.5, "hits@1": 0.25, "hits@10": 1.0, "mr": 2.0} for i in range(14)}
    return Report(
        dataset="d", split="test", graph="train+valid", model="rules", protocols={"all": metrics},
        breakdowns={"all": {"relation": parts}},
    )  # fmt: skip


def test_the_table_of_figures() -> None:
    table = metrics_table([made_up(mr=1234.56, mrr=0.9384, h1=0.0, h3=1.0, h10=0.5, low=0.93, high=0.95)], "WN18")
    assert shown(table) == [
        "WN18",
        "model|protocol|MR|MRR|H@1|H@3|H@10|MRR range",
        "rules+|all|1,234.6|.938|.000|1.000|.500|.930–.950",
    ]


def test_the_table_has_a_row_for_each_protocol(toy: Dataset) -> None:
    rows = shown(metrics_table([rules_report(toy), rules_report(toy, "train+valid")]))
    assert [row.split("|")[:2] for row in rows[1:]] == [
        ["rules", "all"], ["rules", "typed"], ["rules+", "all"], ["rules+", "typed"],
    ]  # fmt: skip


def test_the_table_of_a_breakdown() -> None:
    made = made_up(mr=1.0, mrr=1.0, h1=1.0, h3=1.0, h10=1.0, low=1.0, high=1.0)
    assert shown(breakdown_table(made, "all", "relation", rows=2)) == [
        "rules+ by relation (all)",
        "relation|queries|MRR|H@1|H@10",
        "r0|1,000|.500|.250|1.000",
        "r1|1,001|.500|.250|1.000",
        "… 12 more",
    ]
    assert len(shown(breakdown_table(made, "all", "relation", rows=14))) == 16


@pytest.mark.parametrize("name", ["[red]", "[/film/actor]", "a [bold] b", "\\[x]"])
def test_names_are_shown_as_they_are(name: str) -> None:
    part = {"count": 1, "mrr": 0.5, "hits@1": 0.25, "hits@10": 1.0, "mr": 2.0}
    made = replace(made_up(mr=1.0, mrr=1.0, h1=1.0, h3=1.0, h10=1.0, low=1.0, high=1.0), model=name, graph="train")
    made = replace(made, breakdowns={"all": {"relation": {name: part}}})
    assert shown(metrics_table([made]))[1].startswith(f"{name}|all|")
    lines = shown(breakdown_table(made, "all", "relation"))
    assert lines[0] == f"{name} by relation (all)"
    assert lines[2].startswith(f"{name}|1|")


def test_the_commit_is_that_of_the_source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "src" / "hmem" / "evaluation" / "report.py"))
    assert current_commit() is None  # an installed package

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init")
    assert current_commit() is None  # nothing committed yet
    git("commit", "--allow-empty", "-m", "first")
    assert current_commit() == git("rev-parse", "HEAD")[:12]
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        assert current_commit() is None  # no git on this machine
    installed = tmp_path / ".venv" / "lib" / "site-packages" / "hmem" / "evaluation"
    installed.mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(installed / "report.py"))
    assert current_commit() is None  # inside another project's tree, whose commit it is not


def test_a_report_can_be_compared_with_itself_after_json(toy: Dataset) -> None:
    read = json.loads(rules_report(toy).to_json())
    assert np.isfinite([value for figures in read["protocols"].values() for value in figures.values()]).all()
