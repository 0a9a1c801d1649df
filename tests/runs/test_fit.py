"""`hmem.fit`: one way to train, with a folder or without."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import hmem
from hmem.errors import CheckpointError, ConfigError, InterruptedRunError
from hmem.evaluation.joined import ALONE, Weights, weights_of
from hmem.evaluation.metrics import MRR
from hmem.graph.dataset import Dataset
from hmem.model.presets import preset as settings_of
from hmem.model.weights import read_tensors
from hmem.runs.choose import share_missing
from hmem.runs.fit import configure
from hmem.runs.folder import claimed
from hmem.sqlite_files import SAVED
from hmem.training.hooks import Progress
from hmem.training.state import State

SMALL: dict[str, Any] = {
    "memory": {"entity_dim": 6, "relation_dim": 4},
    "training": {"epochs": 3, "validate_every": 1},
}


def weights(model: hmem.Model) -> list[torch.Tensor]:
    return list(model.model.state_dict().values())


def same(one: hmem.Model, other: hmem.Model) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))


class Recorder(hmem.Callback):
    """Remembers what it was told; ends the run at its step `until`."""

    def __init__(self, until: int | None = None) -> None:
        self.until = until
        self.told: list[str] = []
        self.run: Mapping[str, Any] = {}
        self.asked = 0

    def on_start(self, run: Mapping[str, Any]) -> None:
        self.run = run
        self.told.append("start")

    def on_progress(self, now: Progress) -> None:
        self.told.append(f"step {now.step}")

    def on_validation(self, now: Progress) -> None:
        assert now.validated is not None
        self.told.append("validation")

    def on_end(self, model: hmem.Model) -> None:
        self.told.append(f"end {model.preset}")

    def should_stop(self) -> bool:
        self.asked += 1
        return self.until is not None and self.asked > self.until


def test_without_a_folder_nothing_is_written(toy: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = hmem.fit(toy, "recall", settings=SMALL)
    assert list(tmp_path.iterdir()) == []
    assert repr(model) == "Model('recall', trained on 'toy': Vocabulary(18 entities, 4 relations))"
    assert model.metrics["training"].keys() == {"training_seconds", "epochs", "stopped", "parameters"}
    assert model.metrics["reports"][0]["split"] == "valid"
    assert "calibration" in model.metrics


def test_one_setting_may_be_given_as_text() -> None:
    assert configure(settings_of("recall"), "training.epochs=3").training.epochs == 3
    with pytest.raises(ConfigError, match='found "epochs=3"'):
        configure(settings_of("recall"), "epochs=3")


def test_a_folder_holds_the_same_model(toy: Dataset, tmp_path: Path) -> None:
    model = hmem.fit(toy, "tpr-inf", settings=SMALL, seed=4, out=tmp_path / "m")
    assert {path.name for path in (tmp_path / "m").iterdir()} == {*SAVED, "run.json", "facts.safetensors", "log.jsonl"}
    loaded = hmem.load(str(tmp_path / "m"))
    assert same(model, loaded)
    assert (loaded.preset, loaded.dataset, loaded.config) == ("tpr-inf", "toy", model.config)
    assert loaded.config.training.seed == 4
    run = json.loads((tmp_path / "m" / "run.json").read_text())
    assert list(run) == ["data", "counts", "facts", "preset", "config"]
    assert run["data"] == "toy"
    again = hmem.fit(toy, "tpr-inf", settings=SMALL, seed=4)
    again.save(tmp_path / "saved")
    assert same(hmem.load(tmp_path / "saved"), model)


def test_settings_may_be_assignments(toy: Dataset) -> None:
    flat = ["memory.entity_dim=6", "memory.relation_dim=4", "training.epochs=3", "training.validate_every=1"]
    assert same(hmem.fit(toy, "recall", settings=flat), hmem.fit(toy, "recall", settings=SMALL))
    with pytest.raises(ConfigError, match="did you mean entity_dim"):
        hmem.fit(toy, "recall", settings={"memory": {"entity_dimm": 3}})


def test_callbacks_are_told_in_order(toy: Dataset) -> None:
    recorder, steps = Recorder(), list[int]()
    hmem.fit(toy, "recall", settings=SMALL, callbacks=[recorder, lambda now: steps.append(now.step)])
    assert recorder.told[0] == "start"
    assert recorder.told[1:4] == ["step 1", "step 1", "validation"]
    assert recorder.told[-1] == "end recall"
    assert recorder.told.count("validation") == 3
    assert steps == [1, 1, 2, 2, 3, 3]
    assert recorder.run["config"]["memory"]["entity_dim"] == 6


def test_an_interrupted_run_goes_on(toy: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "m"
    with pytest.raises(InterruptedRunError, match=r"stopped after 1\.0 epochs.* resume=True"):
        hmem.fit(toy, "recall", settings=SMALL, out=out, callbacks=[Recorder(until=2)])
    with pytest.raises(ConfigError, match="resume=True"):
        hmem.fit(toy, "recall", settings=SMALL, out=out)
    with pytest.raises(ConfigError, match=r"the interrupted run had config\.training\.seed=0, not 1"):
        hmem.fit(toy, "recall", settings=SMALL, out=out, seed=1, resume=True)
    assert same(hmem.fit(toy, "recall", settings=SMALL, out=out, resume=True), hmem.fit(toy, "recall", settings=SMALL))
    with pytest.raises(CheckpointError, match="no interrupted run"):
        hmem.fit(toy, "recall", settings=SMALL, out=out, resume=True)
    with pytest.raises(ConfigError, match="overwrite=True"):
        hmem.fit(toy, "recall", settings=SMALL, out=out)
    assert hmem.fit(toy, "recall", settings=SMALL, out=out, overwrite=True).dataset == "toy"


def test_counting_is_part_of_a_model_that_knows_less(tmp_path: Path) -> None:
    """Who works at the same firm lives in the same town; one step of training is not enough to learn that."""
    people = [f"person {each}" for each in range(200)]
    facts = [(each, "works at", f"firm {place % 6}") for place, each in enumerate(people)]
    facts += [(each, "lives in", f"town {place % 6}") for place, each in enumerate(people)]
    data = tmp_path / "staff.tsv"
    data.write_text(
        "".join("\t".join(fact) + "\n" for fact in [*facts, *((*each[:2], each[2] + "b") for each in facts)])
    )
    small = {**SMALL, "training": {"epochs": 1, "counting": None}}
    model = hmem.fit(data, "tpr-inf", settings=small, out=tmp_path / "m")
    choice = model.metrics["counting"]
    assert weights_of(model.config.training.counting) == Weights(*choice["weights"]) != ALONE
    assert choice["joined"] > choice["model"] < choice["counts"]
    measured = model.metrics["reports"][0]["protocols"]["all"][MRR]
    assert measured > choice["joined"] - 0.03  # which was found with half of the questions each
    loaded = hmem.load(tmp_path / "m")
    assert loaded.config.training.counting == model.config.training.counting
    assert hmem.evaluate(loaded, data, split="valid").protocols["all"][MRR] == pytest.approx(measured)
    pure = hmem.fit(data, "tpr-inf", settings={**SMALL, "training": {"epochs": 1}})
    assert (pure.config.training.counting, "counting" in pure.metrics) == (0.0, False)
    assert pure.metrics["reports"][0]["protocols"]["all"][MRR] == pytest.approx(choice["model"])


def test_what_is_about_a_folder_needs_one(toy: Dataset) -> None:
    with pytest.raises(ConfigError, match="resume is about the folder of a run"):
        hmem.fit(toy, "recall", settings=SMALL, resume=True)


def test_without_validation_facts_the_model_is_not_measured(toy: Dataset) -> None:
    model = hmem.fit(replace(toy, valid=toy.valid[:0]), "recall", settings=SMALL)
    assert (model.metrics["reports"], "calibration" in model.metrics) == ([], False)
    assert hmem.evaluate(model, toy).protocols["all"]["both.count"] == 10


def test_a_folder_has_one_training_at_a_time(toy: Dataset, tmp_path: Path) -> None:
    with claimed(tmp_path / "m") as is_ours, claimed(tmp_path / "m") as is_theirs:
        assert (is_ours, is_theirs) == (True, False)
        with pytest.raises(ConfigError, match="another process is training in"):
            hmem.fit(toy, "recall", settings=SMALL, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_run_goes_on_with_the_same_facts_only(toy: Dataset, tmp_path: Path) -> None:
    """A file of as many facts, names and splits, but other ones."""
    with pytest.raises(InterruptedRunError):
        hmem.fit(toy, "recall", settings=SMALL, out=tmp_path / "model", callbacks=[Recorder(until=2)])
    train = toy.train.copy()
    train[[0, 1]] = train[[1, 0]]
    with pytest.raises(ConfigError, match=r"the facts of toy are not those of the interrupted run; begin anew"):
        hmem.fit(replace(toy, train=train), "recall", settings=SMALL, out=tmp_path / "model", resume=True)
    hmem.fit(toy, "recall", settings=SMALL, out=tmp_path / "model", resume=True)


def test_a_run_of_before_there_were_checksums_goes_on(toy: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InterruptedRunError):
        hmem.fit(toy, "recall", settings=SMALL, out=tmp_path / "model", callbacks=[Recorder(until=2)])
    path = tmp_path / "model" / "run.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    del run["facts"]
    path.write_text(json.dumps(run), encoding="utf-8")
    hmem.fit(toy, "recall", settings=SMALL, out=tmp_path / "model", resume=True)


def test_settings_of_memories_are_refused_where_there_are_none() -> None:
    with pytest.raises(ConfigError, match=r"settings of \[memory\] mean nothing.*preset"):
        configure(settings_of("any-graph"), ["memory.entity_dim=8"])
    assert configure(settings_of("recall"), ["memory.entity_dim=8"]).memory.entity_dim == 8
    assert configure(settings_of("any-graph"), {"memory": {}}).propagation is not None


def test_validation_facts_about_trained_entities_are_used_where_others_are_held_out(tmp_path: Path) -> None:
    """As in data sets of out-of-graph entities: only test is about the held-out ones."""
    folder = tmp_path / "ookg"
    folder.mkdir()
    facts = [(f"e{n % 9}", f"r{n % 2}", f"e{(n + 1 + n // 9) % 9}") for n in range(40)]
    splits = {"train": facts[:30], "valid": facts[30:], "observed": [("new", "r0", "e1"), ("new", "r1", "e2")]}
    splits["test"] = [("new", "r0", "e3")]
    for split, rows in splits.items():
        (folder / f"{split}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    (folder / "heldout.tsv").write_text("new\n")
    dataset = hmem.load_dataset(folder)
    assert dataset.notes == (
        "no validation fact is about a held-out entity: they are used as they are, and say less about the test",
    )
    assert share_missing(dataset) == 0.0
    model = hmem.fit(dataset, "recall", settings=SMALL)
    valid = model.metrics["reports"][0]["protocols"]["all"]
    assert valid["both.count"] == 2 * len(dataset.valid)
    assert model.metrics["calibration"]["slots"] is not None
    assert hmem.evaluate(model, dataset).protocols["all"]["both.count"] == 1


def test_a_validation_takes_a_share_of_the_time_and_asks_the_same_after_a_stop(
    toy: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hmem.evaluation.evaluate.FEWEST", 2)
    monkeypatch.setattr("hmem.runs.fit.LOOK_SHARE", 1e-9)
    settings = {"training": {"epochs": 3, "minutes": 60.0, "validate_every": 1.0}}
    how: dict[str, Any] = {"settings": settings, "out": tmp_path / "m", "device": "cpu"}
    with pytest.raises(InterruptedRunError):
        hmem.fit(toy, callbacks=[Recorder(until=2)], **how)
    state = State.from_tensors(*read_tensors(tmp_path / "m" / "training.safetensors"))
    assert state.questions == 2
    monkeypatch.setattr("hmem.runs.fit.LOOK_SHARE", 1.0)
    told = Asked()
    model = hmem.fit(toy, callbacks=[told], resume=True, **how)
    assert model.metrics["reports"][0]["protocols"]["all"]["both.count"] == 2
    assert {what for what, *_ in told.asked} == {"validating", "measuring"}
    assert all(done <= total for what, done, total in told.asked if total is not None)


class Asked(hmem.Callback):
    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int | None]] = []

    def on_asking(self, what: str, done: int, total: int | None) -> None:
        self.asked.append((what, done, total))


def test_less_than_one_process_is_none(toy: Dataset) -> None:
    with pytest.raises(ConfigError, match="processes=0 must be 1 or more"):
        hmem.fit(toy, "recall", processes=0)


def test_splits_in_memory_are_trained_on_and_ranked(tmp_path: Path) -> None:
    facts = [(f"n{i}", "next", f"n{(i + 1) % 9}") for i in range(9)]
    splits = {"train": [*facts, ("n0", "next", "n3")], "valid": facts[:2], "test": facts[2:4]}
    model = hmem.fit(splits, "recall", settings=SMALL, out=tmp_path / "m")
    assert json.loads((tmp_path / "m" / "run.json").read_text())["data"] == "splits"
    assert hmem.evaluate(model, splits).protocols["all"][MRR] > 0
