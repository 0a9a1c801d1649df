from pathlib import Path

import pandas as pd
import pytest

from hmem.errors import CheckpointError, ConfigError, DataError, StoreError
from hmem.graph.dataset import load_folder
from hmem.graph.registry import load_dataset
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.store.as_dataset import table_of
from tests.knowledge.conftest import ModelFolder
from tests.knowledge.living import TOY_FACTS, stored_facts

FEW = [("a", "r", "b"), ("b", "r", "c"), ("a", "r", "b")]


def facts_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_facts_from_wherever_they_are(tmp_path: Path) -> None:
    file = tmp_path / "facts.tsv"
    file.write_text("".join("\t".join(fact) + "\n" for fact in FEW))
    table = pd.DataFrame(FEW, columns=["head", "relation", "tail"])
    for place, facts in enumerate((file, str(file), table, table_of(table), FEW, iter(FEW))):
        with KnowledgeBase.create(tmp_path / f"{place}.kb", facts=facts) as kb:
            assert stored_facts(kb) == FEW[:2]
            assert {row.source for row in kb.neighbors("a")} == {"created"}
    with KnowledgeBase.create(tmp_path / "empty.kb") as kb:
        assert len(kb) == 0


def test_of_a_dataset_what_a_model_may_see(tmp_path: Path) -> None:
    folder = tmp_path / "gen"
    folder.mkdir()
    for name, fact in {"train": "a r b", "valid": "a r c", "test": "b r c", "observed": "new r a"}.items():
        (folder / f"{name}.tsv").write_text(fact.replace(" ", "\t") + "\n")
    (folder / "heldout.tsv").write_text("new\n")
    expected = [("a", "r", "b"), ("new", "r", "a")]
    for place, facts in enumerate((folder, str(folder), load_folder(folder))):
        with KnowledgeBase.create(tmp_path / f"{place}.kb", facts=facts) as kb:
            assert stored_facts(kb) == expected
    bundled = load_dataset("wordnet-mini")
    with KnowledgeBase.create(tmp_path / "bundled.kb", facts="wordnet-mini") as kb:
        assert len(kb) == len(bundled.train)


def test_nothing_is_left_of_a_base_that_could_not_be_made(tmp_path: Path) -> None:
    for facts, error in (
        (tmp_path / "none.tsv", DataError),
        ([("a", "r", "\0")], DataError),
        ([("a", "b")], DataError),
    ):
        with pytest.raises(error):
            KnowledgeBase.create(tmp_path / "zoo.kb", facts=facts)
    with pytest.raises(CheckpointError, match="not a model folder"):
        KnowledgeBase.create(tmp_path / "zoo.kb", model=tmp_path / "none", facts=FEW)
    assert facts_in(tmp_path) == []


def test_an_old_base_is_replaced_only_when_told_and_only_by_a_whole_one(
    tmp_path: Path, model_folder: ModelFolder
) -> None:
    path = tmp_path / "zoo.kb"
    KnowledgeBase.create(path, facts=FEW).close()
    with pytest.raises(StoreError, match="exists already"):
        KnowledgeBase.create(path, facts=TOY_FACTS)
    with pytest.raises(DataError):
        KnowledgeBase.create(path, facts=[("a", "r", "x" * 20_000)], overwrite=True)
    with KnowledgeBase.open(path) as kb:
        assert stored_facts(kb) == FEW[:2]
        with pytest.raises(StoreError, match="open"):
            KnowledgeBase.create(path, facts=TOY_FACTS, overwrite=True)
    with KnowledgeBase.create(path, facts=TOY_FACTS, model=model_folder("recall"), overwrite=True) as kb:
        assert len(kb) == len(TOY_FACTS)
        assert len(kb.predict("dog.n.01", "hyponym", 3)) == 3
    assert facts_in(tmp_path) == ["zoo.kb"]


def test_options_say_how_to_read_a_file(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    file.write_text("from,to,how\na,b,r\n")
    with KnowledgeBase.create(tmp_path / "zoo.kb") as kb:
        written = kb.import_(file, columns=("from", "how", "to"))
        assert (len(written.changed), written.unchanged) == (1, 0)
        assert stored_facts(kb) == [("a", "r", "b")]
        assert kb.neighbors("a")[0].source == "facts.csv"
        assert kb.import_([("a", "r", "b"), ("b", "r", "a")], source="me").unchanged == 1
        assert kb.neighbors("a")[1].source == "me"
        with pytest.raises(ConfigError):
            kb.import_(tmp_path, header=True)


def test_imports_tell_how_far_they_are(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with KnowledgeBase.create(tmp_path / "zoo.kb") as kb:
        kb.import_(TOY_FACTS, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(TOY_FACTS), len(TOY_FACTS))
