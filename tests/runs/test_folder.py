"""The folder of a run, and what makes two runs the same."""

from pathlib import Path

import pytest
import torch

from hmem.errors import CheckpointError
from hmem.model.weights import write_tensors
from hmem.runs.folder import RunFolder, claimed, difference, read_run
from hmem.sqlite_files import STATE
from hmem.training.state import State


def test_the_firstdifference_is_named() -> None:
    before = {"data": "a", "config": {"memory": {"x": 1, "y": None}, "training": {"z": 1}}}
    assert difference(before, {**before, "data": "b"}) == "data=a, not b"
    now = {"data": "a", "config": {"memory": {"x": 1, "y": 3}, "training": {"z": 2}}}
    assert difference(before, now) == "config.memory.y=None, not 3"


@pytest.mark.parametrize(("text", "message"), [(None, "no such file"), ("{", "not JSON"), ("[]", "expected an object")])
def test_a_run_that_cannot_be_read(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(CheckpointError, match=rf"run\.json: {message}"):
        read_run(tmp_path)


@pytest.mark.parametrize("config", ["null", "[]", "5"])
def test_a_run_without_settings_does_not_go_on(tmp_path: Path, config: str) -> None:
    write_tensors(tmp_path / STATE, *State(weights={"a": torch.zeros(1)}).to_tensors())
    (tmp_path / "run.json").write_text(f'{{"config": {config}}}')
    with pytest.raises(CheckpointError, match=r"run\.json: expected an object as config"):
        RunFolder(tmp_path).resume({"config": {}, "facts": ""})


def test_a_claim_leaves_what_was_there(tmp_path: Path) -> None:
    with claimed(tmp_path / "new" / "run") as is_ours:
        assert is_ours
        (tmp_path / "new" / "run" / "mine").write_text("")
    assert [path.name for path in (tmp_path / "new" / "run").iterdir()] == ["mine"]
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="expected a folder, found a file"), claimed(tmp_path / "file"):
        pass
