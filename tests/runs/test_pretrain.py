"""Pre-training in a folder: what is written, how it goes on, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hmem
from hmem.errors import CheckpointError, ConfigError, InterruptedRunError
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from hmem.runs.folder import claimed
from hmem.runs.pretrain import pretrain_in
from hmem.training.pretrain import Budget, Look


def graph(name: str = "ring", seed: int = 0) -> Dataset:
    """Enough facts that a tenth of them can be asked for."""
    rng = np.random.default_rng(seed)
    facts = np.unique(
        np.stack([rng.integers(30, size=500), rng.integers(3, size=500), rng.integers(30, size=500)], 1), axis=0
    )
    vocab = Vocabulary([f"e{each}" for each in range(30)], ["a", "b", "c"])
    return Dataset(name=name, vocab=vocab, train=as_triples(facts), valid=as_triples([]), test=as_triples([]))


def run(folder: Path, **how: Any) -> hmem.Model:
    return pretrain_in(folder, [graph()], Budget(steps=4), **{"excerpts": 1, "made": 0, "device": "cpu", **how})


def test_a_stopped_run_goes_on_to_the_same_model(tmp_path: Path) -> None:
    whole, looks = run(tmp_path / "whole"), list[Look]()
    with pytest.raises(InterruptedRunError, match="stopped after 1 steps"):
        run(tmp_path / "cut", stop=iter([False, False, False, True]).__next__)  # three graphs, then the first step
    assert not (tmp_path / "cut" / "config.json").exists()
    with pytest.raises(ConfigError, match=r"the interrupted run had weights=\[1.0\], not \[2.0\]"):
        run(tmp_path / "cut", weights=[2.0], resume=True)
    run(tmp_path / "cut", resume=True, progress=looks.append)
    assert [look.step for look in looks] == [4]
    log = (tmp_path / "cut" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in log] == [1, 4]
    assert not (tmp_path / "cut" / "training.safetensors").exists()
    resumed = hmem.load(tmp_path / "cut")
    for name, value in resumed.model.state_dict().items():
        assert torch.equal(value, whole.model.state_dict()[name]), name
    assert resumed.dataset == "ring and generated graphs"
    assert (len(resumed.vocab.entities), resumed.metrics["training"]["steps"]) == (0, 4)
    assert hmem.evaluate(resumed, split()).protocols["all"]["both.count"] == 40  # a graph with names that it has not


def test_what_is_stopped_before_its_first_step_leaves_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", stop=lambda: True)
    with pytest.raises(CheckpointError, match="no interrupted run"):
        run(tmp_path / "cut", resume=True)
    run(tmp_path / "cut")  # what is left does not stand in the way


def test_a_weight_for_each_graph(tmp_path: Path) -> None:
    for weights in ([1.0, 2.0], [0.0]):
        with pytest.raises(ConfigError, match="a positive number for each of 1 graphs"):
            run(tmp_path / "a", weights=weights)
    assert not (tmp_path / "a").exists()


def split() -> Dataset:
    dataset = graph()
    return Dataset(
        name="split", vocab=dataset.vocab, train=dataset.train[20:], valid=as_triples([]), test=dataset.train[:20]
    )


def test_a_folder_has_one_training_at_a_time(tmp_path: Path) -> None:
    with claimed(tmp_path / "busy"), pytest.raises(ConfigError, match=r"another process is training in .*busy"):
        run(tmp_path / "busy")
