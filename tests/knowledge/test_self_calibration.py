"""Probabilities of the bundled model, by the facts of the base it is asked on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hmem.evaluation.isotonic import Steps
from hmem.evaluation.joined import USUAL, Weights
from hmem.graph.generated import generated
from hmem.knowledge import self_calibration
from hmem.knowledge.base import KnowledgeBase


@pytest.fixture(autouse=True)
def few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_calibration, "MOST", 40)


def base_of(path: Path, most: int | None = None) -> KnowledgeBase:
    """Facts of a graph made from rules."""
    dataset = generated(3)
    names = [[*dataset.vocab.entities], [*dataset.vocab.relations], [*dataset.vocab.entities]]
    facts = [tuple(name[each] for name, each in zip(names, row, strict=True)) for row in dataset.train.tolist()]
    kb = KnowledgeBase.create(path)
    kb.add_many(facts[:most])
    return kb


def test_few_facts_give_scores_and_many_give_probabilities(tmp_path: Path) -> None:
    with base_of(tmp_path / "few.kb", 100) as kb:
        fact = next(iter(kb.store.listing(limit=1)))
        assert all(each.probability is None for each in kb.predict(fact.head, fact.relation))
    with base_of(tmp_path / "many.kb") as kb:
        found = kb.predict(fact.head, fact.relation)
        assert all(each.probability is not None and 0 <= each.probability <= 1 for each in found)
        assert [each.if_missing for each in found] == sorted((each.if_missing or 0 for each in found), reverse=True)


def test_it_is_done_again_when_the_base_has_grown_or_has_a_new_relation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    def count(counted: self_calibration.SelfCalibration) -> tuple[Weights, None]:
        done.append(counted.live.graph.num_facts)
        return USUAL, None

    monkeypatch.setattr(self_calibration.SelfCalibration, "_calibrate", count)
    with base_of(tmp_path / "zoo.kb", 300) as kb:
        fact = next(iter(kb.store.listing(limit=1)))

        def ask() -> int:
            kb.predict(fact.head, fact.relation)
            return len(done)

        with kb.session() as session:
            assert session.probabilities.self_calibration is not None
            counted = session.probabilities.self_calibration
        assert counted.is_due()
        assert (ask(), ask(), counted.is_due()) == (1, 1, False)
        kb.add("new", fact.relation, fact.tail)
        assert ask() == 1
        kb.add("new", "unheard-of", fact.tail)
        assert ask() == 2
        kb.add_many((f"more {each}", fact.relation, fact.tail) for each in range(200))
        assert (ask(), done) == (3, [300, 302, 502])


def test_a_base_keeps_it_for_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "zoo.kb"
    with base_of(path) as kb:
        fact = next(iter(kb.store.listing(limit=1)))
        found = kb.predict(fact.head, fact.relation)

    def again(self: object) -> None:
        raise AssertionError("it was counted again")

    monkeypatch.setattr(self_calibration.SelfCalibration, "_calibrate", again)
    with KnowledgeBase.open(path, read_only=True) as kb:
        kept = kb.predict(fact.head, fact.relation)
        assert [row.names for row in kept] == [row.names for row in found]
        assert [row.probability for row in kept] == pytest.approx([row.probability for row in found], abs=1e-5)
        note = kb.store.metas()["calibration"]
    wrong = (
        "[" * 9_999,
        "[]",
        note.replace('"found":{', '"found":5,"was":{'),
        note.replace(f'"form":{self_calibration.FORM}', '"form":0'),
        note.replace('"weights":[', '"weights":[NaN,'),
    )
    for other in wrong:
        with KnowledgeBase.open(path) as kb:
            kb.store.set_meta(calibration=other)
            with pytest.raises(AssertionError, match="counted again"):
                kb.predict(fact.head, fact.relation)


def test_steps_that_are_nearly_one_are_kept(tmp_path: Path) -> None:
    """Numbers are written with seven digits, and steps have to rise."""
    path = tmp_path / "zoo.kb"
    steps = Steps(starts=np.array([-2.0, -1.00000001, -1.0]), values=np.array([0.1, 0.2, 0.3]))
    with base_of(path) as kb, kb.session() as session:
        counted = session.probabilities.self_calibration
        assert counted is not None
        calibration = counted.current()
        assert calibration is not None
        counted.found = replace(calibration, steps=steps)
        counted.keep_in(kb.store)
    with KnowledgeBase.open(path) as kb, kb.session() as session:
        counted = session.probabilities.self_calibration
        assert counted is not None
        assert not counted.is_due()
        assert counted.found is not None
        assert counted.found.steps(np.array([-1.5, -1.0])).tolist() == [0.1, 0.3]


def test_a_base_that_was_opened_to_be_read_is_told_to_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "zoo.kb"
    with base_of(path) as kb:
        fact = next(iter(kb.store.listing(limit=1)))
    with KnowledgeBase.open(path, read_only=True) as kb:
        kb.predict(fact.head, fact.relation)
        assert "calibration" not in kb.store.metas()
        kb.keep_calibration()
        assert "calibration" in kb.store.metas()


def test_it_is_kept_however_long_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = self_calibration.SelfCalibration.note
    monkeypatch.setattr(self_calibration.SelfCalibration, "note", lambda self: " " * 50_000 + note(self))
    path, waited = tmp_path / "zoo.kb", []
    base_of(path).close()
    for _ in range(2):
        with KnowledgeBase.open(path, read_only=True) as kb:
            with kb.session() as session:
                assert session.probabilities.self_calibration is not None
                session.probabilities.self_calibration.before = lambda: waited.append(len(waited))
            fact = next(iter(kb.store.listing(limit=1)))
            kb.predict(fact.head, fact.relation)
            kb.keep_calibration()
    assert waited == [0]
