from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from hmem.errors import CheckpointError
from hmem.model import weights
from hmem.model.weights import read_tensors, write_tensors


def test_tensors_are_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "training.safetensors"
    write_tensors(path, {"a": torch.ones(2)}, {"state": "1"})
    before = path.read_bytes()

    def fail(tensors: object, file: Path, metadata: object = None) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weights, "save_file", fail)
    with pytest.raises(OSError, match="No space left"):
        write_tensors(path, {"a": torch.zeros(2)})
    assert path.read_bytes() == before
    tensors, metadata = read_tensors(path)
    assert (tensors["a"].tolist(), metadata) == ([1.0, 1.0], {"state": "1"})


def test_a_full_disk_is_one_clear_error_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "training.safetensors"
    write_tensors(path, {"x": torch.zeros(3)})
    before = path.read_bytes()

    def full(tensors: object, filename: Path, metadata: object = None) -> None:
        filename.write_bytes(b"half")
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(weights, "save_file", full)
    with pytest.raises(
        CheckpointError,
        match=r"safetensors: could not be written \(No space left on device\); .*; free some space",
    ):
        write_tensors(path, {"x": torch.ones(3)})
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == [path.name]
