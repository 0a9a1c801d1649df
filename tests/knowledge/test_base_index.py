"""A base that opens from an index answers what it would without one, and never from an index of something else."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from hmem.cli import kb as kb_commands
from hmem.errors import DataError
from hmem.graph.names import Vocabulary
from hmem.knowledge import base_index, live_graph
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.base_index import BaseIndex, folder_of, make_index
from hmem.knowledge.store.places import Address
from hmem.knowledge.store.records import Names3
from hmem.model import propagation
from tests.knowledge.propagating import base_of, differences, every_answer, save_network
from tests.laws import examples

FACTS: list[Names3] = [
    ("a", "likes", "b"),
    ("b", "has", "c"),
    ("c", "likes", "d"),
    ("a", "has", "c"),
    ("d", "has", "d"),
]
ANY_FACT = st.tuples(
    st.sampled_from(["a", "b", "c", "d", "x", "y"]),
    st.sampled_from(["likes", "has", "knows"]),
    st.sampled_from(["a", "b", "c", "d", "x", "z"]),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_network(tmp_path_factory.mktemp("models") / "computed", "computed", Vocabulary())


@pytest.fixture
def kb(model: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    with base_of(tmp_path / "zoo.kb", model, FACTS) as base:
        yield base


def opened_by_index(kb: KnowledgeBase) -> bool:
    with kb.session() as session:
        return session.live.index is not None


def afresh(kb: KnowledgeBase, read_only: bool = True) -> KnowledgeBase:
    return KnowledgeBase.open(kb.path, read_only=read_only)


def change(kb: KnowledgeBase, changes: list[Names3]) -> None:
    for fact in changes:
        kb.remove(*fact) if fact in kb else kb.add(*fact)


changes = st.lists(ANY_FACT, max_size=6)


@pytest.mark.parametrize("is_large", [False, True])
@given(before=changes, since=changes, later=changes)
@examples(5)
def test_it_answers_as_without(
    model: Path,
    tmp_path_factory: pytest.TempPathFactory,
    is_large: bool,
    before: list[Names3],
    since: list[Names3],
    later: list[Names3],
) -> None:
    path = tmp_path_factory.mktemp("base") / "zoo.kb"
    with base_of(path, model, FACTS) as kb, patch.dict(propagation.LARGE, {"cpu": 0 if is_large else 10**6}):
        change(kb, before)
        kb.set_value("a", "weight", 7)
        kb.index()
        change(kb, since)
        with afresh(kb) as mapped:
            assert opened_by_index(mapped)
            every_answer(mapped)
            change(kb, later)  # seen by one that is open
            shutil.rmtree(folder_of(kb.path))
            with afresh(kb) as whole:
                assert not opened_by_index(whole)
                assert differences(every_answer(mapped), every_answer(whole)) == []
                for entity, relation in (("a", "has"), ("c", "likes")):
                    if mapped.neighbors(entity):
                        one, other = (base.predict(entity, relation, k=9, new_only=False) for base in (mapped, whole))
                        assert [(row.tail, row.stored) for row in one] == [(row.tail, row.stored) for row in other]
                        scores = [row.score for row in one]
                        assert scores == pytest.approx([row.score for row in other], rel=1e-3, abs=1e-3)


def test_confidences_and_what_a_model_inferred(kb: KnowledgeBase) -> None:
    kb.add("a", "likes", "d", confidence=0.5)
    kb.add("b", "likes", "d", confidence=0.25)
    kb.index()
    kb.revise("a", "likes", "d", confidence=0.75)
    with afresh(kb) as mapped:
        assert opened_by_index(mapped)
        with mapped.session() as session:
            found, weights = session.live.confidences.of_relation(0)
            assert dict(zip(map(tuple, found.tolist()), weights.tolist(), strict=True)) == {
                (0, 0, 3): 0.75,
                (1, 0, 3): 0.25,
            }
        answers = every_answer(mapped)
    shutil.rmtree(folder_of(kb.path))
    with afresh(kb) as whole:
        assert differences(answers, every_answer(whole)) == []
    kb.index()
    with KnowledgeBase.open(kb.path, with_inferred=True) as other:
        assert not opened_by_index(other)


def test_an_index_of_another_base_or_history_is_ignored(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.index()
    shutil.copy(tmp_path / "zoo.kb", tmp_path / "older.kb")
    kb.add("a", "likes", "c")
    kb.index()
    newer = folder_of(kb.path)
    shutil.copytree(newer, tmp_path / "older.kb-index")
    with KnowledgeBase.open(tmp_path / "older.kb") as older:
        older.add("x", "likes", "y")
        assert not opened_by_index(older)
    with base_of(tmp_path / "other.kb", None, FACTS) as other:
        shutil.copytree(newer, tmp_path / "other.kb-index")
        assert BaseIndex.of(other.store) is None


def test_that_of_a_base_in_a_database_lies_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMEM_HOME", str(tmp_path))
    addresses = [f"postgresql://me:secret@host/zoo?schema={schema}" for schema in ("a/b", "a", "b")]
    folders = {folder_of(Address.parse(address)) for address in addresses}
    assert len(folders) == 3
    assert {folder.parent for folder in folders} == {tmp_path / "indexes"}
    assert "secret" not in str(folders)


def test_copied_together_both_are_of_use(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.index()
    shutil.copytree(folder_of(kb.path), tmp_path / "copy.kb-index")
    kb.store.close()
    shutil.copy(tmp_path / "zoo.kb", tmp_path / "copy.kb")
    with KnowledgeBase.open(tmp_path / "copy.kb") as copy:
        assert opened_by_index(copy)


@pytest.mark.parametrize("harm", ["cut", "gone", "header"])
def test_a_damaged_one_is_ignored(kb: KnowledgeBase, harm: str) -> None:
    folder = kb.index()
    match harm:
        case "cut":
            (folder / "fillers.bin").write_bytes(b"")
        case "gone":
            (folder / "entities.names.bin").unlink()
        case _:
            (folder / "header.json").write_text("{")
    with afresh(kb) as base:
        assert not opened_by_index(base)
    kb.index()
    with afresh(kb) as base:
        assert opened_by_index(base)


def test_the_check_of_a_base_compares_its_index_too(kb: KnowledgeBase, capsys: pytest.CaptureFixture[str]) -> None:
    file = kb.index() / "fillers.bin"
    check = kb_commands.check
    check(kb.path)
    file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
    with pytest.raises(typer.Exit):
        check(kb.path)
    assert "of its index, fillers.bin is not what was written" in " ".join(capsys.readouterr().err.split())
    shutil.rmtree(file.parent)
    check(kb.path)


def test_a_large_base_keeps_one_by_itself(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_index, "FROM", 5)
    with afresh(kb) as reader:
        assert not opened_by_index(reader)  # and writes nothing
    assert not folder_of(kb.path).exists()
    assert opened_by_index(kb)
    first = BaseIndex.of(kb.store)
    assert first is not None
    kb.add("a", "likes", "c")
    with afresh(kb, read_only=False) as again:
        assert opened_by_index(again)
        kept = BaseIndex.of(again.store)
        assert kept is not None
        assert kept.about == first.about
    monkeypatch.setattr(live_graph, "MOST_ONE_BY_ONE", 0)
    with afresh(kb, read_only=False) as again:
        assert opened_by_index(again)
        kept = BaseIndex.of(again.store)
        assert kept is not None
        assert kept.moment > first.moment


def test_a_full_disk_is_no_reason_not_to_answer(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(base_index, "FROM", 5)
    monkeypatch.setattr(base_index, "write_graph", full)
    assert not opened_by_index(kb)
    assert [path.name for path in tmp_path.glob("*index*")] == []
    with pytest.raises(OSError, match="No space left"):
        make_index(kb.store)


def test_overwriting_a_base_removes_its_index(kb: KnowledgeBase, model: Path, tmp_path: Path) -> None:
    folder = kb.index()
    kb.close()
    with pytest.raises(DataError):
        KnowledgeBase.create(tmp_path / "zoo.kb", facts=[("a", "r", "\0")], overwrite=True)
    assert folder.exists()  # the base is as it was
    base_of(tmp_path / "zoo.kb", model, FACTS).close()
    assert not folder.exists()


Predict = Callable[[KnowledgeBase], object]


@pytest.mark.parametrize(
    "ask",
    [
        lambda kb: kb.missing("a", k=3),
        lambda kb: kb.explain("a", "has", "d"),
        lambda kb: kb.score("a", "has", "c"),
        lambda kb: kb.audit(k=3),
    ],
    ids=["missing", "explain", "score", "audit"],
)
def test_all_that_can_be_asked_is_the_same_in_a_large_graph(kb: KnowledgeBase, ask: Predict) -> None:
    without = repr(ask(kb))
    kb.index()
    with afresh(kb) as mapped, patch.dict(propagation.LARGE, {"cpu": 0}):
        assert opened_by_index(mapped)
        assert repr(ask(mapped)) == without or "explain" in str(ask)
