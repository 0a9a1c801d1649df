"""`hmem tune`: a table, a picture, and settings that `hmem train` takes."""

import json
from pathlib import Path

import pytest

from hmem.runs import trials
from tests.cli.conftest import Command, write_splits
from tests.conftest import TOY_TEST, TOY_TRAIN, TOY_VALID

pytest.importorskip("optuna")

FIXED = ("memory.entity_dim=6", "memory.relation_dim=4", "training.epochs=2", "training.validate_every=1")
TUNE = ("tune", "toy", "--preset", "recall", "--device", "cpu", "--budget", "10m", "--out", "tuned")
SET = tuple(part for each in FIXED for part in ("--set", each))


@pytest.fixture
def toy(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy graph, and an end after two trials."""
    monkeypatch.setattr(trials, "MOST_TRIALS", 2)
    return write_splits(here / "toy", TOY_TRAIN, TOY_VALID, TOY_TEST)


def test_a_later_training_takes_what_was_found(command: Command, toy: Path) -> None:
    pytest.importorskip("matplotlib")
    code, out, err = command(*TUNE, *SET, "--plot", "trials.png")
    assert code == 0, err
    assert [line.split("  ")[0] for line in err.splitlines()] == ["trial 0", "trial 1"]
    assert "learning_rate=0.002" in out
    assert "2 trials, 0 given up early. The best is" in out
    assert out.endswith("Next: hmem train toy --config tuned/best.toml --out DIR\n")
    assert {path.name for path in Path().glob("trials.*")} == {"trials.png", "trials.svg"}
    trained = command("train", "toy", "--config", "tuned/best.toml", "--device", "cpu", "--out", "model")
    assert trained.code == 0, trained.err
    written, found = (json.loads(Path(folder, "config.json").read_text()) for folder in ("model", "tuned/model"))
    assert written["preset"] == found["preset"] == "recall"
    assert written["config"]["memory"] == found["config"]["memory"]
    for name in ("learning_rate", "batch_size", "link_withholding", "epochs"):
        assert written["config"]["training"][name] == found["config"]["training"][name]
    ranked = command("evaluate", "tuned/model", "--device", "cpu")
    assert ranked.code == 0, ranked.err


def test_the_numbers_as_json(command: Command, toy: Path) -> None:
    code, out, err = command(*TUNE, *SET, "--json", "-")
    assert (code, err) == (0, "")
    made = json.loads(out)
    assert [trial["number"] for trial in made["trials"]] == [0, 1]
    assert sum(trial["is_best"] for trial in made["trials"]) == 1
    again = command(*TUNE, *SET, "--json", "-")
    assert json.loads(again.out) == made


def test_what_is_refused(command: Command, toy: Path) -> None:
    code, _, err = command(*TUNE, "--set", "memory.entity_dimm=6")
    assert (code, "did you mean entity_dim?" in err) == (2, True)
    code, _, err = command("tune", "toy", "--out", "tuned", "--budget", "soon")
    assert (code, '"soon" is no time' in err) == (2, True)
    Path("full").mkdir()
    Path("full/file").write_text("mine")
    code, _, err = command(*TUNE[:-1], "full")
    assert (code, err) == (2, "hmem: full is not empty; choose another folder\n")
