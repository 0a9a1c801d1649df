"""`hmem figures`: what it writes and what it refuses."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from typer.testing import CliRunner

from hmem.cli import figures
from hmem.config import Config, from_dict
from hmem.errors import ConfigError, DataError
from hmem.evaluation.baselines import make_baseline
from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import report
from hmem.graph.registry import load_dataset
from hmem.model.checkpoint import Model, save
from hmem.model.hmem import HMem
from tests.cli.conftest import write_small_bundled
from tests.cli.test_train import here

pytest.importorskip("matplotlib")

__all__ = ["here"]  # a fixture

app = typer.Typer()
app.add_typer(figures.app, name="figures")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["figures", *map(str, arguments)])


def done(*arguments: object) -> str:
    answer = run(*arguments)
    assert answer.exit_code == 0, answer.exception
    return str(answer.stdout)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(folder: Path, name: str, *tables: str) -> None:
    """Exactly these files are there, and they are what they seem."""
    assert {path.name for path in folder.iterdir()} == {f"{name}.png", f"{name}.svg", *(f"{t}.csv" for t in tables)}
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (folder / f"{name}.svg").read_text(encoding="utf-8")


def save_model(folder: Path, data: str, preset: str, kind: str = "explicit") -> Path:
    """A model that was never trained: figures do not care."""
    dataset = load_dataset(data)
    config = from_dict(Config, {"memory": {"kind": kind, "entity_dim": 6, "relation_dim": 4}})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = HMem(config.memory, dataset.num_entities, dataset.num_relations)
    save(folder, Model(model=model, config=config, vocab=dataset.vocab, dataset=data, preset=preset))
    return folder


# Without models


def test_capacity(here: Path) -> None:
    out = done("capacity", "--quick", "--out", "pictures")
    assert out == ("Wrote pictures/capacity.png, pictures/capacity.svg, pictures/capacity.csv\n")
    written(here / "pictures", "capacity", "capacity")
    found = rows(here / "pictures" / "capacity.csv")
    assert {float(row["retrieved_filtered"]) for row in found if row["bindings"] == "1"} == {1.0}
    assert {row["binding"] for row in found} == {"tpr", "cconv", "hadamard"}


def test_harmony(here: Path) -> None:
    out = done("harmony", "--quick")
    written(here / "figures", "harmony", "harmony", "harmony-optima")
    assert "figures/harmony-optima.csv" in out
    assert [float(row["stiffness"]) for row in rows(here / "figures" / "harmony-optima.csv")] == [1.1, 6.0]


@pytest.mark.slow
def test_traversal_of_the_bundled_graph(here: Path) -> None:
    answer = run("traversal", "--quick", "--device", "cpu", "--out", "a/b")
    assert answer.exit_code == 0
    written(here / "a" / "b", "traversal", "traversal")
    assert answer.stderr.count("wordnet-mini: ") == 3
    found = rows(here / "a" / "b" / "traversal.csv")
    assert sum(int(row["links"]) for row in found if row["binding"] == "tpr") == 2000


def test_traversal_of_another_graph(here: Path) -> None:
    out = done("traversal", "--data", "toy", "--device", "cpu", "--json", "-")
    tables = json.loads(out)
    assert sum(row["links"] for row in tables["traversal"] if row["binding"] == "cconv") == 80
    assert {row["dataset"] for row in tables["traversal"]} == {"toy"}


def test_wn18_is_taken_where_it_is(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures._default_graph(quick=False) == "wordnet-mini"
    (here / "data" / "WN18").mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (here / "data" / "WN18" / f"{split}.tsv").write_text("a\tb\tc\n")
    monkeypatch.setenv("HMEM_DATA", str(here / "data"))
    assert figures._default_graph(quick=False) == "WN18"
    assert figures._default_graph(quick=True) == "wordnet-mini"


# With models


def test_degree(here: Path) -> None:
    one, other = save_model(here / "one", "toy", "tpr"), save_model(here / "two", "toy", "tpr-im", "implicit")
    out = done("degree", "--model", one, "--model", other, "--data", "toy", "--device", "cpu")
    written(here / "figures", "degree", "degree", "degree-bins", "degree-lines")
    assert "toy, test: MRR by the number of neighbors" in out
    found = rows(here / "figures" / "degree-bins.csv")
    assert list(dict.fromkeys((row["model"], row["kind"]) for row in found)) == [
        ("tpr", "explicit"), ("tpr-im", "implicit"), ("rules", "baseline"),
    ]  # fmt: skip
    dataset = load_dataset("toy")
    expected = report(make_baseline("rules", dataset, "train"), dataset, model="rules").protocols
    rules = {row["protocol"]: row for row in found if (row["model"], row["neighbors"]) == ("rules", "0–99")}
    for protocol in ("all", "typed"):
        assert float(rules[protocol]["mrr"]) == pytest.approx(expected[protocol][MRR], abs=1e-5)
    assert found[1]["mrr"] == ""  # no entity has a hundred neighbors


def test_models_of_one_preset_go_by_their_folders(here: Path) -> None:
    for name in ("one", "two"):
        save_model(here / name, "toy", "tpr")
    out = done("degree", "--model", "one", "--model", "two", "--no-rules", "--device", "cpu", "--json", "-")
    tables = json.loads(out)
    assert list(dict.fromkeys(row["model"] for row in tables["degree-lines"])) == ["one", "two"]


@pytest.mark.parametrize("is_small", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_growth_on_the_bundled_set(here: Path, is_small: bool) -> None:
    if is_small:
        write_small_bundled(here)
    model = save_model(here / "model", "wordnet-mini-gen", "recall")
    out = done("growth", "--model", model, "--quick", "--device", "cpu")
    written(here / "figures", "growth", "growth")
    assert "wordnet-mini-gen, test: MRR by the share" in out
    found = rows(here / "figures" / "growth.csv")
    assert {row["share"] for row in found} == {"0", "0.25", "0.5", "0.75", "1"}
    dataset = load_dataset("wordnet-mini-gen")
    rules = [row for row in found if (row["model"], row["share"], row["protocol"]) == ("rules", "1", "all")]
    expected = report(make_baseline("rules", dataset, "train"), dataset, model="rules").protocols["all"][MRR]
    assert [float(row["mrr"]) for row in rules] == pytest.approx([expected] * 2, abs=1e-5)


# Refusals


def test_a_model_of_another_graph(here: Path) -> None:
    model = save_model(here / "model", "toy", "tpr")
    answer = run("degree", "--model", model, "--data", "wordnet-mini")
    assert isinstance(answer.exception, DataError)
    assert "a figure compares models of one graph" in str(answer.exception)


def test_growth_needs_new_entities(here: Path) -> None:
    answer = run("growth", "--model", save_model(here / "model", "toy", "tpr"), "--device", "cpu")
    assert isinstance(answer.exception, ConfigError)
    assert "toy has no entities held out of training" in str(answer.exception)


def test_a_model_is_needed(here: Path) -> None:
    answer = run("degree", "--data", "toy")
    assert answer.exit_code == 2
    assert "--model" in answer.stderr


def test_pictures_go_into_a_folder(here: Path) -> None:
    Path("file").touch()
    for place in ("file", "file/within"):
        answer = run("harmony", "--quick", "--out", place)
        assert isinstance(answer.exception, ConfigError)
        assert str(answer.exception) == f"{place} is no folder; expected one, or a place for a new one"


def test_without_matplotlib_nothing_is_begun(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    answer = run("degree", "--model", "nowhere")
    assert isinstance(answer.exception, ConfigError)
    assert "pip install 'hmem[plot]'" in str(answer.exception)
    assert not (here / "figures").exists()
