import os
import shutil
from pathlib import Path

import pytest

from hmem.errors import StoreError
from hmem.knowledge.attached import FILES, Attached, attach, checksum_of
from hmem.knowledge.store import Store
from tests.knowledge.conftest import ModelFolder


@pytest.fixture
def folder(tmp_path: Path, model_folder: ModelFolder) -> Path:
    """A copy of a model that may be changed."""
    return Path(shutil.copytree(model_folder("recall"), tmp_path / "models" / "zoo"))


def test_what_is_attached_is_read_back(tmp_path: Path, folder: Path) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        assert Attached.of(store) is None
        store.add([("a", "r", "b")])
        attach(store, folder)
        found = Attached.of(store)
        assert found == Attached(folder=folder.resolve(), checksum=checksum_of(folder), moment=1, trained_until=1)
        assert store.meta("model") == os.path.join("models", "zoo"), "relative, so that both can be moved"
        store.add([("a", "r", "c")])
        attach(store, folder, trained_until=1)
        assert Attached.of(store) == Attached(
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
        found = Attached.of(store)
        assert found is not None
        assert found.load(store, "cpu").dataset == "toy"


def test_a_missing_folder_is_told_with_a_way_out(tmp_path: Path, folder: Path) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        attach(store, folder)
        folder.rename(folder.with_name("gone"))
        found = Attached.of(store)
        assert found is not None
        with pytest.raises(StoreError, match=r"the model of .*zoo.kb is not where it was, .*models/zoo; .*hmem kb use"):
            found.load(store, "cpu")


@pytest.mark.parametrize("name", FILES)
def test_a_changed_folder_is_noticed(tmp_path: Path, folder: Path, name: str) -> None:
    with Store.create(tmp_path / "zoo.kb") as store:
        attach(store, folder)
        with (folder / name).open("ab") as file:
            file.write(b" ")
        found = Attached.of(store)
        assert found is not None
        with pytest.raises(StoreError, match=r"has changed since it was attached to .*attach it again: hmem kb use"):
            found.load(store, "cpu")


def test_figures_and_cards_do_not_count(folder: Path) -> None:
    before = checksum_of(folder)
    (folder / "metrics.json").write_text("{}")
    (folder / "README.md").unlink()
    assert checksum_of(folder) == before
    (folder / "entities.tsv").unlink()
    assert checksum_of(folder) != before
