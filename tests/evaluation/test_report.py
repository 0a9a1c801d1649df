"""One evaluation as a line of JSON."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hmem.evaluation import report as module
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.metrics import MRR
from hmem.evaluation.queries import queries_of
from hmem.evaluation.report import Report, current_commit, report
from hmem.graph.dataset import Dataset, GraphName


def rules_report(toy: Dataset, graph: GraphName = "train") -> Report:
    return report(
        make_baseline("rules", toy, graph), toy, model="rules", graph=graph, seed=3, settings={"combine": "max"}
    )


def test_a_report_is_one_json_object(toy: Dataset) -> None:
    made = report(
        make_baseline("rules", toy, "train"), toy, model="rules", extra={"epochs": 4}, settings={"λ": 1}, seed=3
    )
    line = json.dumps(made.to_dict(), ensure_ascii=False)
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
    read = json.loads(json.dumps(rules_report(toy).to_dict()))
    assert np.isfinite([value for figures in read["protocols"].values() for value in figures.values()]).all()
