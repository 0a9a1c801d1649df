import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hmem.errors import StoreError
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.model_link import ModelLink, attach, checksum_of
from hmem.knowledge.store.store import Store
from hmem.sqlite_files import MODEL
from tests.knowledge.conftest import MakeBase, ModelFolder


@pytest.fixture
def folder(tmp_path: Path, model_folder: ModelFolder) -> Path:
    """A copy of a model that may be changed."""
    return Path(shutil.copytree(model_folder("recall"), tmp_path / "models" / "zoo"))


def test_what_is_attached_is_read_back(tmp_path: Path, folder: Path) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        assert ModelLink.of(store) is None
        store.add([("a", "r", "b")])
        attach(store, folder)
        found = ModelLink.of(store)
        assert found == ModelLink(folder=folder.resolve(), checksum=checksum_of(folder), moment=1, trained_until=1)
        assert store.metas().get("model") == os.path.join("models", "zoo"), "relative, so that both can be moved"
        store.add([("a", "r", "c")])
        attach(store, folder, trained_until=1)
        assert ModelLink.of(store) == ModelLink(
            folder=folder.resolve(), checksum=checksum_of(folder), moment=2, trained_until=1
        )
        assert found is not None
        assert found.load(store, "cpu").preset == "recall"


def test_base_and_model_can_be_moved_together(tmp_path: Path, folder: Path) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        attach(store, folder)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(tmp_path / "zoo.kb", moved)
    shutil.move(tmp_path / "models", moved)
    with Store.open(moved / "zoo.kb") as store:
        found = ModelLink.of(store)
        assert found is not None
        assert found.load(store, "cpu").dataset == "toy"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("{base}@1", 1),
        ("zoo.kb@1", 1),
        ("gone/zoo.kb@1", 1),
        ("zoo.kb", 3),
        ("WN18", 3),
        ("zoo.kb@9", 3),
        ("park.kb@1", 3),
        ("{other}@1", 3),
        (7, 3),
    ],
)
def test_a_model_trained_from_the_base_says_until_when(
    tmp_path: Path, folder: Path, data: str | int, expected: int
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Store.create(other / "zoo.kb").close()
    with Store.create(tmp_path / "zoo.kb") as store:
        for tail in "bcd":
            store.add([("a", "r", tail)])
        shown = data.format(base=store.path, other=other / "zoo.kb") if isinstance(data, str) else data
        (folder / "run.json").write_text(json.dumps({"data": shown}))
        attach(store, folder)
        found = ModelLink.of(store)
        assert found is not None
        assert found.trained_until == expected
        attach(store, folder, trained_until=2)
        assert ModelLink.of(store) == replace(found, trained_until=2), "what is told comes first"


def test_a_model_in_use_keeps_the_moment_it_was_trained_until(tmp_path: Path, folder: Path) -> None:
    (folder / "run.json").write_text("{not JSON")
    with Store.create(tmp_path / "zoo.kb") as store:
        store.add([("a", "r", "b")])
        attach(store, folder)
        store.add([("a", "r", "c")])
        attach(store, Path(shutil.copytree(folder, tmp_path / "copy")))
        found = ModelLink.of(store)
        assert found is not None
        assert (found.folder.name, found.moment, found.trained_until) == ("copy", 2, 1)
        (folder / "entities.tsv").write_text("another\n")
        attach(store, folder)
        found = ModelLink.of(store)
        assert found is not None
        assert found.trained_until == 2


def test_it_is_read_in_one_look(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only reading is allowed, `version` may change at every look: nothing may wait for it to stand still."""
    numbers = iter(range(1000))
    monkeypatch.setattr(Store, "version", property(lambda store: next(numbers)))
    with Store.create(tmp_path / "zoo.kb") as store:
        attach(store, folder)
        found = ModelLink.of(store)
        assert found is not None
        assert found.folder == folder.resolve()


def refused(store: Store, reason: str) -> str:
    """The command that is advised where the attached model cannot be loaded for a reason."""
    found = ModelLink.of(store)
    assert found is not None
    with pytest.raises(StoreError, match=reason) as told:
        found.load(store, "cpu")
    assert told.value.hint is not None
    return told.value.hint.command


def test_a_missing_folder_is_told_with_a_way_out(tmp_path: Path, folder: Path) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        attach(store, folder)
        folder.rename(folder.with_name("gone"))
        advised = refused(store, r"the model of zoo.kb is not where it was, .*models/zoo; ")
        assert advised == f"hmem kb use {store.path} MODEL"


@pytest.mark.parametrize("name", MODEL)
def test_a_changed_folder_is_noticed(tmp_path: Path, folder: Path, name: str) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        attach(store, folder)
        with (folder / name).open("ab") as file:
            file.write(b" ")
        advised = refused(store, r"has changed since it was attached to zoo.kb; if that was")
        assert advised == f"hmem kb use {store.path} {folder.resolve()}"


def test_figures_and_cards_do_not_count(folder: Path) -> None:
    before = checksum_of(folder)
    (folder / "metrics.json").write_text("{}")
    (folder / "README.md").unlink()
    assert checksum_of(folder) == before
    (folder / "entities.tsv").unlink()
    assert checksum_of(folder) != before


def test_base_is_used_by_writing_nothing_down(make_base: MakeBase) -> None:
    kb = make_base("recall")
    assert kb.model_link is not None
    kb.use_model("base")
    assert kb.model_link is None
    assert kb.model.preset == "any-graph"


def test_base_is_what_a_new_knowledge_base_has(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "zoo.kb", model="base", facts=[("a", "r", "b")]) as kb:
        assert kb.model_link is None


def test_a_model_on_another_drive_has_its_whole_path(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_way(path: object, start: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("hmem.knowledge.model_link.os.path.relpath", no_way)
    with Store.create(tmp_path / "zoo.kb") as store:
        attach(store, folder)
        link = ModelLink.of(store)
        assert link is not None
        assert link.folder == folder.resolve()
