"""A model folder that was tampered with, or is replaced while it is read, is never half believed."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hmem.errors import CheckpointError
from hmem.model import checkpoint
from hmem.model.checkpoint import ASIDE, load, save
from hmem.model.weights import check_sizes
from hmem.sqlite_files import SAVED
from tests.model.problems import memory_of
from tests.model.test_checkpoint import folder, saved_model

__all__ = ["folder"]


def change(path: Path, **values: object) -> None:
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, **values}), encoding="utf-8")


def test_sizes_that_the_weights_do_not_have_take_no_memory(folder: Path) -> None:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings["config"]["memory"]["entity_dim"] = 10**9
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(CheckpointError, match="do not belong together"):
        load(folder)


@pytest.mark.parametrize("version", [-1, 0, True, 99])
def test_a_format_that_never_was_is_refused(folder: Path, version: object) -> None:
    change(folder / "config.json", format=version)
    with pytest.raises(CheckpointError, match="format"):
        load(folder)


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[1], lines[0], *lines[2:]],  # shuffled
        lambda lines: [lines[0], lines[0], *lines[2:]],  # twice the same
        lambda lines: ["", *lines[1:]],
        lambda lines: ["a\0b", *lines[1:]],
    ],
)
@pytest.mark.parametrize("kind", ["entities", "relations"])
def test_other_names_are_refused(folder: Path, kind: str, damage: Callable[[list[str]], list[str]]) -> None:
    path = folder / f"{kind}.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line}\n" for line in damage(lines)), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"not those that were saved|stands there twice"):
        load(folder)


def test_a_name_that_stands_twice_is_refused_without_a_checksum(folder: Path) -> None:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del settings["names"]  # as in folders of earlier versions
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert len(load(folder).vocab.entities) == 9
    (folder / "entities.tsv").write_text("e0\n" * 9, encoding="utf-8")
    with pytest.raises(CheckpointError, match="stands there twice"):
        load(folder)


def test_a_folder_replaced_while_it_is_read_gives_one_of_the_two_models(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other model is saved between the names and the weights, where its parts would have been mixed."""
    other = saved_model("recall")
    with torch.no_grad():
        memory_of(other.model).embeddings.entity.fill_(7.0)
    real = check_sizes
    replaced: list[bool] = []

    def replace_first(*arguments: object) -> None:
        if not replaced:
            replaced.append(True)
            save(folder, other)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("hmem.model.checkpoint.check_sizes", replace_first)
    entities = memory_of(load(folder).model).embeddings.entity
    assert replaced
    assert bool((entities == 7.0).all())


def test_a_folder_in_the_middle_of_a_save_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = folder / f"{ASIDE}x"
    hidden.mkdir()
    os.replace(folder / "config.json", hidden / "config.json")
    waited = threading.Event()

    def finish(_: float) -> None:
        waited.set()
        if hidden.exists():
            os.replace(hidden / "config.json", folder / "config.json")
            hidden.rmdir()

    monkeypatch.setattr("hmem.model.checkpoint.time.sleep", finish)
    assert load(folder).dataset == "toy"
    assert waited.is_set()


def test_what_a_killed_save_left_is_removed_later(folder: Path) -> None:
    old, new = folder / f"{ASIDE}old", folder / f"{ASIDE}new"
    for each in (old, new):
        each.mkdir()
    os.utime(old, (0, 0))
    save(folder, saved_model())
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize("moved", range(1, 1 + len(SAVED)))  # the first is the weights, within the folder aside
def test_a_save_that_is_killed_while_files_are_moved_in_is_ended_by_the_next_load(
    folder: Path, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = saved_model()
    with torch.no_grad():
        memory_of(again.model).embeddings.entity.fill_(7.0)

    def replace(source: Path, target: Path, renamed: Callable[[Path, Path], None] = os.replace) -> None:
        nonlocal moved
        moved -= 1
        if moved < 0:
            raise SystemExit  # and nothing is cleaned up either
        renamed(source, target)

    with monkeypatch.context() as killed:
        killed.setattr("hmem.model.checkpoint.os.replace", replace)
        killed.setattr("hmem.model.checkpoint.shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(SystemExit):
            save(folder, again)
    monkeypatch.setattr(checkpoint, "PATIENCE", 1)
    assert bool((memory_of(load(folder).model).embeddings.entity == 7.0).all())
    assert not list(folder.glob(f"{ASIDE}*"))
