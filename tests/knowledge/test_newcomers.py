"""Entities that came after the base was made: how likely answers about them are."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hmem.evaluation.isotonic import Steps
from hmem.evaluation.joined import USUAL
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import slot_sizes, usual_answers
from hmem.knowledge import self_calibration
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.newcomers import Case, Judged, Likely, Newcomers, Slots, left_out
from hmem.knowledge.predictor import Ids
from hmem.knowledge.probabilities import Probabilities
from hmem.knowledge.ranked import Ranked
from hmem.knowledge.retraining import Retraining

TEAMS = {f"team {team}": [f"skill {team} {skill}" for skill in range(8)] for team in range(5)}
FACTS = [
    (f"worker {person} of {team}", "can", skill)
    for team, skills in TEAMS.items()
    for person in range(8)
    for skill in skills[:7]
]
NEW = [("newcomer", "can", skill) for skill in TEAMS["team 0"][:3]]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base with a newcomer, which has kept what it found of itself; to be copied."""
    path = tmp_path_factory.mktemp("work") / "work.kb"
    with pytest.MonkeyPatch.context() as patch, KnowledgeBase.create(path, facts=FACTS) as kb:
        patch.setattr(self_calibration, "MOST", self_calibration.LEAST)
        kb.add_many(NEW)
        with kb.session() as session:
            assert session.probabilities.calibration is not None
    return path


@pytest.fixture
def kb(work: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(shutil.copy(work, tmp_path)) as kb:
        yield kb


def test_of_a_newcomer_more_is_missing_than_of_others(kb: KnowledgeBase) -> None:
    found = {each.tail: each.probability or 0 for each in kb.predict("newcomer", "can")}
    colleagues = [found[skill] for skill in TEAMS["team 0"][3:7]]
    assert min(colleagues) > 0.5
    first = kb.predict("worker 0 of team 0", "can")[0]
    assert (first.probability or 0) < 0.5
    why = kb.explain("newcomer", "can", TEAMS["team 0"][3])
    assert why.probability == pytest.approx(found[TEAMS["team 0"][3]])


def test_answers_about_a_newcomer_are_as_likely_as_it_says(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    sure, surer = (Judged(*2 * (Steps(starts=np.zeros(1), values=np.full(1, each)),)) for each in (0.77, 0.88))
    monkeypatch.setattr(Newcomers, "_calibrate", lambda *_: Likely(sure, surer))
    assert {(each.probability, each.if_missing) for each in kb.predict("newcomer", "can")} == {(0.77, 0.88)}
    assert kb.explain("newcomer", "can", TEAMS["team 0"][3]).probability == 0.77
    assert 0.77 not in {each.probability for each in kb.predict("worker 0 of team 0", "can")}


def test_missing_facts_come_by_the_probability_that_is_shown(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rising(_: Probabilities, entities: Ids, roles: Ids, ranked: Ranked) -> list[tuple[float | None, float | None]]:
        return [(row / len(entities), None) for row in range(len(entities))]

    assert len(kb.missing("newcomer", k=5)) == 5
    monkeypatch.setattr(Probabilities, "of", rising)
    found = kb.missing("newcomer", k=5)
    assert [each.probability for each in found] == [0.8, 0.6, 0.4, 0.2, 0.0]
    assert [each.rank for each in found] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("others", "said"), [(0.5, 0.33), (0.2, 0.2)])
def test_no_other_answer_is_likelier_than_the_first(others: float, said: float) -> None:
    """Than that of its own question; a first answer with the score of the other would be less likely."""
    first = Steps(starts=np.array([-5.0, -1.0]), values=np.array([0.06, 0.33]))
    judged = Judged(first, Steps(starts=np.zeros(1), values=np.full(1, others)))
    answers = np.array([-0.7, -3.0]), np.array([True, False]), np.array([-0.7, -0.7])
    assert judged(*answers).tolist() == [0.33, said]


def test_who_has_as_much_as_others_is_none(kb: KnowledgeBase) -> None:
    kb.add_many([("newcomer", "can", skill) for skill in TEAMS["team 0"][:7]])
    with kb.session() as session:
        assert session.probabilities.newcomers is not None
        entity, role = session.names.entity("newcomer"), session.names.role("can", "tail")
        assert session.probabilities.newcomers.likely(entity, role) is None
        kb.remove_many([("newcomer", "can", skill) for skill in TEAMS["team 0"][2:7]])
    with kb.session() as session:
        assert session.probabilities.newcomers is not None
        assert session.probabilities.newcomers.likely(entity, role) is not None
        assert session.probabilities.newcomers.likely(0, role) is None  # there from the start


def test_what_suits_those_that_were_there_is_not_taken_for_newcomers(kb: KnowledgeBase) -> None:
    with kb.session() as session:
        assert session.probabilities.self_calibration is not None
        assert session.probabilities.calibration is not None
        of_base, role = session.probabilities.self_calibration.weights, session.names.role("can", "tail")
        assert of_base != USUAL
        assert session.probabilities.weights(session.names.entity("newcomer"), role) == USUAL
        assert session.probabilities.weights(0, role) == of_base


def test_all_but_a_few_facts_are_left_out() -> None:
    facts = np.array([(0, 0, tail) for tail in range(5, 10)] + [(1, 0, 5), (1, 1, 6), (0, 1, 7), (0, 1, 8), (2, 0, 0)])
    slots = Slots.of(facts, 2, role=2)
    assert dict(zip(slots.entities.tolist(), slots.counts.tolist(), strict=True)) == {0: 5, 1: 1, 2: 1}
    hidden = left_out(facts, 2, np.array([0, 1]), Case(role=2, stored=2, kind=2, others=1))
    assert hidden[:5].sum() == 3
    assert hidden[5:7].tolist() == [False, False]  # 1 has no more
    assert hidden[7:].sum() == 2  # of three other facts of 0 one is left
    empty = left_out(facts, 2, np.array([0]), Case(role=2, stored=0, kind=3, others=1))
    assert hidden[:5].sum() == 3
    assert empty[:5].all()
    assert empty[7:9].sum() == 1  # what makes it one of its kind is kept
    assert empty[9]
    assert usual_answers(slot_sizes(Neighborhoods.build(facts.astype(np.int32), 10, 2)), 4).tolist() == [1, 1, 1, 1]


def test_an_entity_is_no_answer_to_a_question_about_itself(kb: KnowledgeBase) -> None:
    assert "newcomer" not in [each.tail for each in kb.predict("newcomer", "can", k=200)]
    kb.add("boss", "can", "boss")  # in this relation such facts occur
    assert "newcomer" in [each.tail for each in kb.predict("newcomer", "can", k=200)]
    kb.remove("boss", "can", "boss")
    assert "newcomer" not in [each.tail for each in kb.predict("newcomer", "can", k=200)]


HOMES = [
    fact
    for person in range(120)
    for fact in (
        (f"p{person}", "works at", f"firm {person % 6}"),
        *([(f"p{person}", "lives in", f"town {person % 6 // 2}")] if person % 5 else []),
    )
]


@pytest.mark.parametrize("preset", ["recall", pytest.param("any-graph", marks=pytest.mark.slow)])
def test_a_trained_model_knows_its_newcomers(tmp_path: Path, preset: str) -> None:
    """Four of five have a home in the town of their firm; some came after training with their firm alone."""
    new = [f"p{person}" for person in range(0, 120, 11)]
    known = [fact for fact in HOMES if fact[0] not in new]
    KnowledgeBase.create(tmp_path / "homes.kb", facts=known).close()
    small = {"memory": {"entity_dim": 12, "relation_dim": 6}} if preset == "recall" else {}
    settings = {**small, "training": {"epochs": 1, "validate_every": 1, "counting": 1.0}}
    Retraining.of(tmp_path / "homes.kb", tmp_path / "m").train(tmp_path / "m", preset, settings=settings)
    with KnowledgeBase.open(tmp_path / "homes.kb") as kb:
        kb.add_many([fact for fact in HOMES if fact[0] in new and fact[1] == "works at"])
        best = [kb.predict(each, "lives in", k=1)[0] for each in new]
        said = sum(each.probability or 0 for each in best) / len(best)
        true = sum(each.names in HOMES for each in best) / len(best)
        assert true >= 0.7
        assert said == pytest.approx(true, abs=0.25)
        assert (kb.predict("p1", "lives in", k=1)[0].probability or 0) < 0.2  # whose home is stored
