"""A row is trained once, ranked on both graphs, and goes on where it was interrupted."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import report
from hmem.graph.dataset import Dataset
from hmem.model.build import ModelScorer
from hmem.model.checkpoint import load
from hmem.model.index import FrozenIndex
from hmem.reproduction import reproduce as reproduction
from hmem.reproduction.paper_rows import GRAPHS, Run
from hmem.reproduction.reproduce import (
    Surroundings,
    baselines,
    missing_graphs,
    reproduce,
    runs_of,
    stage_of,
)
from hmem.reproduction.results import metrics_of, read_lines
from hmem.runs.callbacks import Callback
from hmem.runs.folder import claimed
from tests.reproduction.rows import make_line, make_row

RUN = Run(row=make_row(), seed=0)


@pytest.fixture
def where(tmp_path: Path) -> Surroundings:
    return Surroundings(results=tmp_path / "paper.jsonl", models=tmp_path / "models", commit="abc")


class StopAfter(Callback):
    """Ends the run when it is asked for the given time."""

    def __init__(self, times: int) -> None:
        self.left = times

    def should_stop(self) -> bool:
        self.left -= 1
        return self.left < 0


def no_training(*arguments: Any, **options: Any) -> Any:
    raise AssertionError("this was trained already")


def test_a_run_leaves_a_line_for_each_graph(toy: Dataset, where: Surroundings) -> None:
    assert stage_of([], RUN, where.models) == "to train"
    lines = reproduce(RUN, toy, GRAPHS, where)
    assert lines is not None
    assert read_lines(where.results) == json.loads(json.dumps(lines))
    assert [line["graph"] for line in lines] == list(GRAPHS)
    for line in lines:
        assert (line["row"], line["model"], line["dataset"], line["split"]) == ("toy_tpr", "TPR", "toy", "test")
        assert (line["commit"], line["device"], line["seed"]) == ("abc", "cpu", 0)
        assert line["settings"] == RUN.settings
        assert (line["epochs"], line["stopped"]) == (3.0, "done")
        assert line["parameters"] > 0
        assert line["training_seconds"] >= 0
        assert 0 < line["valid_mrr_all"] <= line["valid_mrr_typed"] <= 1
        assert line["protocols"].keys() == line["breakdowns"].keys() == {"all", "typed"}
        assert line["protocols"]["all"]["both.count"] == 10
    assert stage_of(read_lines(where.results), RUN, where.models) == "done"
    assert missing_graphs(read_lines(where.results), RUN) == []


def test_metrics_are_those_of_the_model_that_was_kept(toy: Dataset, where: Surroundings) -> None:
    lines = reproduce(RUN, toy, GRAPHS, where) or []
    saved = load(RUN.folder(where.models))
    assert saved.config == RUN.config
    assert (saved.dataset, saved.preset) == ("toy", "tpr")
    for line in lines:
        graph = line["graph"]
        again = report(ModelScorer(saved.model, FrozenIndex(toy.inference_graph(graph))), toy, model="", graph=graph)
        for protocol, metrics in again.protocols.items():
            assert metrics_of(line, protocol)["MRR"] == pytest.approx(metrics[MRR], abs=1e-6)
    assert lines[0]["breakdowns"] != lines[1]["breakdowns"]  # the validation facts are in one graph only
    valid = saved.metrics["reports"][0]
    assert (valid["split"], round(valid["protocols"]["all"][MRR], 6)) == ("valid", lines[0]["valid_mrr_all"])
    assert "calibration" in saved.metrics


def test_a_trained_model_is_only_ranked(toy: Dataset, where: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    before = reproduce(RUN, toy, ["train"], where) or []
    assert stage_of(read_lines(where.results), RUN, where.models) == "to rank"
    assert missing_graphs(read_lines(where.results), RUN) == ["train+valid"]
    monkeypatch.setattr(reproduction, "carry_out", no_training)
    after = reproduce(RUN, toy, GRAPHS, where) or []
    assert after[0]["protocols"] == before[0]["protocols"]
    assert len(read_lines(where.results)) == 3


def test_retraining_starts_from_nothing(toy: Dataset, where: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reproduce(RUN, toy, ["train"], where) or []
    again = reproduce(RUN, toy, ["train"], dataclasses.replace(where, retrain=True)) or []
    assert again[0]["protocols"] == first[0]["protocols"]  # the same seed
    monkeypatch.setattr(reproduction, "carry_out", no_training)
    with pytest.raises(AssertionError, match="trained already"):
        reproduce(RUN, toy, ["train"], dataclasses.replace(where, retrain=True))


def test_a_model_of_other_data_is_not_used(toy: Dataset, where: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce(RUN, toy, ["train"], where)
    toy.vocab.entities.add("an unseen entity")
    monkeypatch.setattr(reproduction, "carry_out", no_training)
    with pytest.raises(AssertionError, match="trained already"):
        reproduce(RUN, toy, ["train"], where)


def test_an_interrupted_run_goes_on(toy: Dataset, where: Surroundings, tmp_path: Path) -> None:
    assert reproduce(RUN, toy, GRAPHS, dataclasses.replace(where, callbacks=(StopAfter(6),))) is None
    assert read_lines(where.results) == []
    assert stage_of([], RUN, where.models) == "to resume"
    resumed = reproduce(RUN, toy, GRAPHS, where) or []
    whole = reproduce(RUN, toy, GRAPHS, dataclasses.replace(where, models=tmp_path / "other")) or []
    assert [line["protocols"] for line in resumed] == [line["protocols"] for line in whole]
    folder = RUN.folder(where.models)
    assert not (folder / "training.safetensors").exists()
    logged = [json.loads(line)["step"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert logged == [4, 4, 5, 8, 8, 12, 12]  # 32 facts in batches of 8, three times; stopped after the fifth
    weights = (RUN.folder(models) / "model.safetensors" for models in (where.models, tmp_path / "other"))
    assert len({path.read_bytes() for path in weights}) == 1


def test_what_was_interrupted_on_other_data_starts_anew(toy: Dataset, where: Surroundings) -> None:
    assert reproduce(RUN, toy, GRAPHS, dataclasses.replace(where, callbacks=(StopAfter(6),))) is None
    toy.vocab.entities.add("an unseen entity")
    (line,) = reproduce(RUN, toy, ["train"], where) or []
    assert line["epochs"] == 3.0
    assert json.loads((RUN.folder(where.models) / "run.json").read_text())["counts"]["entities"] == 19


def test_progress_is_told(toy: Dataset, where: Surroundings) -> None:
    told: list[int] = []
    reproduce(RUN, toy, ["train"], dataclasses.replace(where, callbacks=(lambda now: told.append(now.step),)))
    assert told[-1] == 12


def test_another_process_is_left_to_its_run(toy: Dataset, where: Surroundings) -> None:
    with claimed(RUN.folder(where.models)) as is_ours:
        assert is_ours
        assert reproduce(RUN, toy, GRAPHS, where) is None
    assert read_lines(where.results) == []
    assert reproduce(RUN, toy, GRAPHS, where) is not None


def test_seeds(toy: Dataset) -> None:
    rows = [make_row(seeds=(0, 1, 2)), make_row(key="other")]
    assert [(run.row.key, run.seed) for run in runs_of(rows)] == [
        ("toy_tpr", 0),
        ("toy_tpr", 1),
        ("toy_tpr", 2),
        ("other", 0),
    ]
    assert [run.seed for run in runs_of(rows, 7)] == [7, 7]


def test_baselines_are_computed_once(toy: Dataset, where: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    first = baselines(toy, [make_line(RUN)], where.results)
    assert [(line["model"], line["graph"]) for line in first] == [
        ("counts", "train"),
        ("counts", "train+valid"),
        ("rules", "train"),
        ("rules", "train+valid"),
        ("frequency", "train"),
        ("frequency", "train+valid"),
    ]
    lines = read_lines(where.results)
    assert lines == json.loads(json.dumps(first))
    monkeypatch.setattr(reproduction, "make_baseline", no_training)
    assert baselines(toy, lines, where.results) == lines
    assert len(read_lines(where.results)) == 6
