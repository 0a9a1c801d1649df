"""`hmem evaluate`: the figures of a folder that `hmem train` wrote."""

import contextlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hmem.cli.main import app
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import report
from hmem.graph.registry import load_dataset
from hmem.model.build import ModelScorer
from hmem.model.checkpoint import load
from hmem.model.index import FrozenIndex
from tests.cli.test_train import QUICK, Run, here, run, write_toy

__all__ = ["here", "run"]  # fixtures

KEYS = [
    "dataset", "split", "graph", "model", "protocols", "breakdowns", "settings", "seed", "seconds", "device", "commit",
    "training_seconds", "epochs", "stopped", "parameters",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `hmem train toy --out model … --seed 3` writes. To be read, not changed."""
    folder = tmp_path_factory.mktemp("trained")
    write_toy(folder / "toy")
    with contextlib.chdir(folder):
        assert CliRunner().invoke(app, ["train", "toy", "--out", "model", *QUICK, "--seed", "3"]).exit_code == 0
    return folder / "model"


@pytest.fixture
def model(here: Path, trained: Path) -> Path:
    shutil.copytree(trained, here / "model")
    return Path("model")


def figures(run: Run, *arguments: object) -> Any:
    code, out, err = run("evaluate", *arguments, "--json", "-")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_prints_both_protocols(run: Run, model: Path) -> None:
    code, out, err = run("evaluate", model)
    assert (code, err) == (0, "")
    assert "toy, test: 10 queries" in out
    assert [line.split()[:2] for line in out.splitlines()[4:] if line] == [["recall", "all"], ["recall", "typed"]]


def test_json_is_all_there_is_and_has_the_documented_keys(run: Run, model: Path) -> None:
    made = figures(run, model)
    assert list(made) == KEYS
    assert made == made | {
        "dataset": "toy", "split": "test", "graph": "train", "model": "recall", "seed": 3, "device": "cpu",
        "epochs": 3.0, "stopped": "done",
    }  # fmt: skip
    assert list(made["protocols"]) == list(made["breakdowns"]) == ["all", "typed"]
    assert made["settings"]["preset"] == "recall"
    assert made["settings"]["memory"]["entity_dim"] == 6
    assert made["protocols"]["all"]["both.count"] == 10
    code, out, _ = run("evaluate", model, "--json", "figures.json")
    assert code == 0
    assert "MRR" in out
    written = json.loads(Path("figures.json").read_text())
    assert written["protocols"] == made["protocols"]


@pytest.mark.parametrize(("split", "graph"), [("test", "train"), ("test", "train+valid"), ("valid", "train")])
def test_the_figures_are_those_of_the_model_on_that_graph(run: Run, model: Path, split: Any, graph: Any) -> None:
    made = figures(run, model, "--split", split, "--graph", graph)
    dataset, saved = load_dataset("toy"), load(model)
    scorer = ModelScorer(saved.model, FrozenIndex(dataset.inference_graph(graph)))
    expected = report(scorer, dataset, model="recall", split=split, graph=graph)
    assert made["protocols"] == expected.protocols
    assert made["breakdowns"] == expected.breakdowns
    assert (made["split"], made["graph"]) == (split, graph)


def test_validation_facts_in_the_graph_change_the_answers(run: Run) -> None:
    assert run("train", "toy", "--out", "model", *QUICK, "--preset", "tpr-inf").code == 0
    plain, plus = (figures(run, "model", "--graph", graph)["protocols"]["all"] for graph in ("train", "train+valid"))
    assert plain != plus
    assert "tpr-inf+" in run("evaluate", "model", "--graph", "train+valid").out


def test_training_and_evaluation_agree_on_the_validation_split(run: Run, model: Path) -> None:
    made = figures(run, model, "--split", "valid")
    assert made["protocols"] == load(model).metrics["reports"][0]["protocols"]


@pytest.mark.parametrize(("protocol", "names"), [("all", ["all"]), ("typed", ["typed"]), ("both", ["all", "typed"])])
def test_protocols(run: Run, model: Path, protocol: str, names: list[str]) -> None:
    made = figures(run, model, "--protocol", protocol)
    assert list(made["protocols"]) == list(made["breakdowns"]) == names
    everything = figures(run, model)["protocols"]
    assert made["protocols"] == {name: everything[name] for name in names}
    assert everything["typed"][MRR] >= everything["all"][MRR]


def test_baselines_stand_beside_the_model(run: Run, model: Path) -> None:
    made = figures(run, model, "--baselines", "--protocol", "all")
    assert [each["model"] for each in made] == ["recall", "counts", "rules", "frequency"]
    dataset = load_dataset("toy")
    for each in made[1:]:
        expected = report(make_baseline(each["model"], dataset, "train"), dataset, model=each["model"])
        assert each["protocols"]["all"] == expected.protocols["all"]
    out = run("evaluate", model, "--baselines").out
    assert re.search(r"^ *rules +all ", out, re.MULTILINE)
    assert re.search(r"^ *frequency +typed ", out, re.MULTILINE)


def test_breakdowns(run: Run, model: Path) -> None:
    out = run("evaluate", model, "--breakdowns", "--protocol", "all").out
    assert "recall by linked (all)" in out
    assert "recall by relation (all)" in out
    assert "by linked" not in run("evaluate", model).out


def test_a_breakdown_without_parts_is_left_out(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = {"count": 1, "mrr": 1.0, "hits@1": 1.0, "hits@10": 1.0, "mr": 1.0}
    monkeypatch.setattr(
        "hmem.evaluation.report.breakdown", lambda *_: {"linked by degree": {}, "relation": {"r": figures}}
    )
    out = run("evaluate", model, "--breakdowns", "--protocol", "all").out
    assert "by relation" in out
    assert "linked" not in out


def test_facts_in_the_graph_are_not_ranked(run: Run, model: Path) -> None:
    code, out, err = run("evaluate", model, "--split", "valid", "--graph", "train+valid")
    assert (code, out) == (2, "")
    assert err == ('hmem: the valid facts are in the graph "train+valid": ranking them would ask for what is given\n')


def test_a_dataset_in_another_order_gives_the_same_figures(run: Run, model: Path, here: Path) -> None:
    other = write_toy(here / "other")
    text = (other / "train.tsv").read_text()
    (other / "train.tsv").write_text("".join(reversed(text.splitlines(keepends=True))))  # the same names, renumbered
    code, out, err = run("evaluate", model, "other", "--json", "-")
    assert (code, err) == (0, "0 of 18 entities are new to the model.\n")
    assert json.loads(out)["protocols"] == figures(run, model)["protocols"]


def test_a_graph_of_new_entities_is_ranked_by_what_the_model_knows_of_relations(
    run: Run, model: Path, here: Path
) -> None:
    other = write_toy(here / "other")
    for path in other.iterdir():
        path.write_text(path.read_text().replace(".n.0", ".x.0"))
    code, out, err = run("evaluate", model, "other", "--json", "-")
    assert (code, err) == (0, "18 of 18 entities are new to the model.\n")
    made = json.loads(out)["breakdowns"]["all"]["linked"]
    assert made["linked"]["mrr"] > made["unlinked"]["mrr"]


def test_new_relations_and_unseen_entities_of_implicit_memories_are_refused(run: Run, model: Path, here: Path) -> None:
    other = write_toy(here / "other")
    text = (other / "train.tsv").read_text()
    (other / "train.tsv").write_text(text.replace("similar_to", "like"))
    code, out, err = run("evaluate", model, "other")
    assert (code, out) == (1, "")
    assert err == (
        'hmem: other has relations that the model was not trained with, such as "like"; '
        "a model of toy can meet new entities, but not new relations\n"
    )
    (other / "train.tsv").write_text(text.replace("puppy.n.01", "whelp.n.01"))
    assert run("train", "toy", "--out", "im", *QUICK, "--preset", "tpr-im").code == 0
    code, out, err = run("evaluate", "im", "other")
    assert (code, out) == (1, "")
    assert err.startswith("hmem: other has entities that the model was not trained with, and its memories are implicit")


def test_the_same_dataset_elsewhere_is_fine(run: Run, model: Path, here: Path) -> None:
    shutil.move(here / "toy", here / "moved")
    made = figures(run, model, "moved")
    assert made["dataset"] == "moved"
    code, out, err = run("evaluate", model)
    assert (code, out) == (1, "")
    assert err.startswith('hmem: no dataset "toy"')


def test_a_folder_that_is_no_model(run: Run) -> None:
    Path("empty").mkdir()
    for folder in ("empty", "nowhere"):
        assert run("evaluate", folder, "toy") == (
            1,
            "",
            f"hmem: {folder}: not a model folder (no config.json); make one: hmem train DATA --out DIR\n",
        )


def test_mistyped_options(run: Run, model: Path) -> None:
    for option, value in (("--split", "train"), ("--graph", "all"), ("--protocol", "al")):
        code, out, err = run("evaluate", model, option, value)
        assert (code, out) == (2, "")
        assert option in err
        assert "is not one of" in err.replace("│\n│ ", "")
    assert run("evaluate", model, "--device", "tpu").err == 'hmem: device is auto, cpu, cuda or cuda:N, not "tpu"\n'


@pytest.mark.parametrize("content", ["{}", '{"reports": []}', None])
def test_a_model_that_was_never_measured_can_be(run: Run, model: Path, content: str | None) -> None:
    if content is None:
        (model / "metrics.json").unlink()
    else:
        (model / "metrics.json").write_text(content)
    made = figures(run, model)
    assert (made["settings"]["memory"]["entity_dim"], made["model"], made["seed"]) == (6, "recall", 3)
    assert "epochs" not in made


def test_base_needs_no_training(run: Run) -> None:
    code, out, err = run("evaluate", "base", "toy")
    assert (code, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()[4:] if line] == [["any-graph", "all"], ["any-graph", "typed"]]
    code, _, err = run("evaluate", "base")
    assert (code, err) == (2, "hmem: base is a model of no one graph; say which DATA to rank\n")


def test_a_model_without_its_run_is_ranked_on_the_dataset_it_names(run: Run, model: Path) -> None:
    expected = figures(run, model)
    (Path(model) / "run.json").unlink()
    assert {**figures(run, model), "seconds": expected["seconds"]} == expected
