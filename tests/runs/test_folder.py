"""The folder of a run, and what makes two runs the same."""

import errno
import io
from pathlib import Path
from typing import Any

import pytest
import torch

from hmem.errors import CheckpointError
from hmem.model.checkpoint import Model
from hmem.model.weights import write_tensors
from hmem.runs.folder import RunFolder, claimed, difference, read_facts, read_run
from hmem.sqlite_files import FACTS, STATE
from hmem.training.hooks import Progress
from hmem.training.state import State

LOOK = Progress(epoch=1, epochs=2, step=3, share=0.5, loss=0.7, triples_per_second=9.0, seconds=1.0, best=None)


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


def test_two_runs_may_differ_in_nothing_that_has_a_name() -> None:
    assert difference({"a": {"b": 1}}, {"a": {"b": 1}}) == "other settings"


def test_a_log_that_cannot_be_written_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    folder.log(LOOK)
    whole = (tmp_path / "log.jsonl").read_bytes()

    class Full(io.FileIO):
        """A disk with room for a few more bytes."""

        def write(self, line: Any) -> int:
            if self.tell() > len(whole):
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(line[:5])

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", lambda path, mode, buffering: Full(path, "ab"))
        with pytest.warns(UserWarning, match="the training goes on, but not its log: No space left on device"):
            folder.log(LOOK)
        folder.log(LOOK)
    assert (tmp_path / "log.jsonl").read_bytes() == whole  # no half line


@pytest.mark.parametrize(
    ("before", "hint"),
    [
        ("nothing", "make room, and train again"),
        ("a model", "the best one before calibration is there"),
        ("a state", "make room, and go on from its last state"),
    ],
)
def test_a_model_that_cannot_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, hint: str) -> None:
    def no_room(folder: RunFolder, model: Model) -> None:
        raise CheckpointError("could not be written (No space left on device)", path=tmp_path / "model.safetensors")

    model, folder = object.__new__(Model), RunFolder(tmp_path)
    monkeypatch.setattr(RunFolder, "_save", no_room if before != "a model" else lambda folder, model: None)
    folder.keep(model)
    monkeypatch.setattr(RunFolder, "_save", no_room)
    if before == "a state":
        folder.checkpoint(State(weights={"a": torch.zeros(1)}))
    with pytest.raises(CheckpointError, match=rf"could not be saved: model\.safetensors could not.*; {hint}") as raised:
        folder.finish(model)
    assert raised.value.path == tmp_path


def test_facts_of_which_some_are_missing(tmp_path: Path) -> None:
    write_tensors(tmp_path / FACTS, {"trained": torch.zeros(1, dtype=torch.int64)})
    with pytest.raises(CheckpointError, match=r"facts\.safetensors: the keys 'valid' are missing"):
        read_facts(tmp_path)


def test_a_claim_on_a_lock_that_was_just_removed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmem.runs.folder.os.path.samestat", lambda one, other: False)
    with claimed(tmp_path) as is_ours:
        assert not is_ours
