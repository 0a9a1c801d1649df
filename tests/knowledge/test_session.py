import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hmem.errors import (
    CheckpointError,
    ConfigError,
    EmptyNeighborhoodError,
    HMemError,
    NonFiniteError,
    UnknownNameError,
    UntrainedRelationError,
)
from hmem.evaluation.calibration import Calibration, Shares, calibration_of
from hmem.evaluation.outcomes import Outcomes
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.ranked import Ranked
from hmem.knowledge.results import Direction, Question
from hmem.knowledge.session import whole
from tests.knowledge.conftest import MakeBase, ModelFolder
from tests.knowledge.living import RELATIONS, TOY_FACTS, UNSEEN, UNTRAINED


def some_calibration() -> Calibration:
    log_p = np.linspace(-8, 0, 50)
    none = np.zeros(50, dtype=np.int64)
    return calibration_of(Outcomes(log_p, log_p > -3, np.arange(50) % 5 == 4, np.arange(50) // 5, none), Shares(0.1))


@pytest.fixture(params=["recall", "tpr"])
def calibrated(request: pytest.FixtureRequest, tmp_path: Path, model_folder: ModelFolder) -> Path:
    folder = Path(shutil.copytree(model_folder(request.param), tmp_path / "calibrated"))
    (folder / "metrics.json").write_text(json.dumps({"calibration": some_calibration().to_dict()}))
    return folder


def test_probabilities_are_those_of_the_calibration(make_base: MakeBase, calibrated: Path) -> None:
    kb = make_base(None)
    kb.use_model(calibrated)
    kb.add(UNSEEN[0], "hypernym", "wolf.n.01")
    table = some_calibration()
    found = kb.predict("wolf.n.01", "hyponym", 100, new_only=False)
    with kb.session() as session:
        wolf, role = session.names.entity("wolf.n.01"), session.names.role("hyponym", "tail")
        judged = session.predictor.judge(
            np.full(len(found), wolf),
            np.full(len(found), role),
            np.array([session.names.entity(row.tail) for row in found]),
        )
    assert [row.probability for row in found] == pytest.approx(table.probability(judged.log_p, judged.leads).tolist())
    assert any(row.stored for row in found)
    for row in found[:5]:
        assert kb.explain(*row.names).probability == pytest.approx(row.probability)
        assert kb.score_many([row.names])[0].probability == pytest.approx(row.probability)
    missing = [row.probability or 0.0 for row in kb.missing("wolf.n.01", 50)]
    assert missing == sorted(missing, reverse=True)
    assert "%" in repr(found)


def test_an_entity_that_has_outgrown_training_has_no_probability(make_base: MakeBase, calibrated: Path) -> None:
    made = replace(some_calibration(), most=np.array([2, 3, 1, 1, 2, 3, 1, 1]))
    (calibrated / "metrics.json").write_text(json.dumps({"calibration": made.to_dict()}))
    kb = make_base(None)
    kb.use_model(calibrated)
    pups = [(f"pup{number}", "hypernym", "dog.n.01") for number in range(30)]
    before = kb.predict("dog.n.01", "hyponym")
    kb.add_many(pups)
    assert kb.has_outgrown("dog.n.01")
    asked = ("dog.n.01", "hypernym", "cat.n.01")
    tables = kb.predict(*asked[:2]), kb.missing("dog.n.01"), kb.score_many([asked]), [kb.explain(*asked)]
    for table in tables:
        assert {row.probability for row in table} == {None}
    assert not kb.has_outgrown("pup0")
    both = kb.score_many([asked, ("pup0", "hypernym", "cat.n.01")])
    assert [row.probability is None for row in both] == [True, False]
    kb.remove_many(pups)
    assert kb.predict("dog.n.01", "hyponym").to_dicts() == before.to_dicts()
    assert all(row.probability is not None for row in before)


def test_a_calibration_that_cannot_be_read_is_told(tmp_path: Path, model_folder: ModelFolder) -> None:
    folder = Path(shutil.copytree(model_folder("recall"), tmp_path / "model"))
    (folder / "metrics.json").write_text('{"calibration": {"method": "tea leaves"}}')
    with (
        KnowledgeBase.create(tmp_path / "zoo.kb", model=folder, facts=TOY_FACTS) as kb,
        pytest.raises(CheckpointError, match=r"the calibration in metrics\.json cannot be used"),
    ):
        kb.predict("dog.n.01", "hypernym")


WAYS: list[tuple[Direction, bool]] = [("tail", True), ("head", False)]
MIXED = [
    Question(entity=entity, relation=relation, direction=direction, k=k, new_only=new_only)
    for entity, k in (("dog.n.01", 3), ("wolf.n.01", 1000))
    for relation in RELATIONS[:2]
    for direction, new_only in WAYS
]


def test_questions_of_all_kinds_are_answered_in_one_pass(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_base("recall")
    alone = [
        kb.predict(each.entity, each.relation, each.k, direction=each.direction, new_only=each.new_only)
        for each in MIXED
    ]
    passes: list[int] = []
    best = Predictor.best

    def counted(self: Predictor, entities: np.ndarray, *more: object) -> list[Ranked]:
        passes.append(len(entities))
        return best(self, entities, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Predictor, "best", counted)
    with kb.session() as session:
        together = whole(session.answer_each([*MIXED, *MIXED[:2]]))
    assert passes == [len(MIXED)], "a repeated question is asked once"
    assert together[: len(MIXED)][:2] == together[len(MIXED) :]
    for found, expected, question in zip(together, alone, MIXED, strict=False):
        assert [row.names for row in found] == [row.names for row in expected]
        assert [row.stored for row in found] == [row.stored for row in expected]
        assert [row.score for row in found] == pytest.approx([row.score for row in expected], abs=1e-5)
        assert {row.direction for row in found} == {question.direction}
        assert [row.answer for row in found] == [
            row.tail if question.direction == "tail" else row.head for row in found
        ]


def test_the_error_of_one_question_is_not_that_of_others(make_base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_base("recall")
    kb.add(UNSEEN[0], "eats", "mutton")
    asked = [
        Question(entity="dog.n.01", relation="hypernym"),
        Question(entity="dingo", relation="hypernym"),
        Question(entity="dog.n.01", relation="eats"),
        Question(entity=UNSEEN[0], relation="hypernym"),
        Question(entity="dog.n.01", relation="hypernym", k=0),
        Question(entity="dog.n.01", relation="hypernym", k=7),
    ]
    best = Predictor.best

    def picky(self: Predictor, entities: np.ndarray, roles: np.ndarray, k: list[int], *more: object) -> list[Ranked]:
        if 7 in k:
            raise NonFiniteError("not that one")
        return best(self, entities, roles, k, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Predictor, "best", picky)
    with kb.session() as session:
        found = session.answer_each(asked)
    with pytest.raises(UnknownNameError):
        whole(found)
    kinds = [HMemError, UnknownNameError, UntrainedRelationError, EmptyNeighborhoodError, ConfigError, NonFiniteError]
    assert [isinstance(each, kind) for each, kind in zip(found, kinds, strict=True)] == [False] + [True] * 5
    assert found[0] == kb.predict("dog.n.01", "hypernym").rows


def test_names_are_checked(make_base: MakeBase) -> None:
    kb = make_base("recall")
    kb.add_many([(UNSEEN[0], "eats", "mutton"), (UNSEEN[1], "hypernym", "dog.n.01")])
    with kb.session() as session:
        assert session.saved.vocab.entities[session.names.entity("dog.n.01")] == "dog.n.01"
        assert session.names.subject(UNSEEN[1]) == session.names.entity(UNSEEN[1]) > session.names.entity(UNTRAINED)
        assert session.names.role("hyponym", "tail") == session.names.role("hyponym", "head") + len(RELATIONS)
        with pytest.raises(ConfigError, match='direction is "tail", to ask for tails'):
            session.names.role("hyponym", "left")
        with pytest.raises(
            EmptyNeighborhoodError, match=r'"unicorn.*" has no facts yet; add one first: hmem facts add'
        ):
            session.names.subject(UNTRAINED)
        with pytest.raises(
            EmptyNeighborhoodError, match=r'".*" has only facts with relations .* --from \S+ --out DIR$'
        ):
            session.names.subject(UNSEEN[0])
        with pytest.raises(
            UntrainedRelationError, match=r'the relation "eats" is stored and shown.*hmem train --from \S+ --out DIR$'
        ):
            session.names.role("eats", "tail")
    kb.remove(UNSEEN[0], "eats", "mutton")
    with kb.session() as session, pytest.raises(EmptyNeighborhoodError, match="has no facts yet"):
        session.names.subject(UNSEEN[0])


def test_names_that_may_have_been_meant_are_found_outside_of_the_session(make_base: MakeBase) -> None:
    kb = make_base("recall")
    for suggest, expected in ((False, ()), (True, ("hypernym", "hyponym"))):
        with (
            pytest.raises(UnknownNameError, match='no relation "hypernim"') as raised,
            kb.session(suggest=suggest) as now,
        ):
            now.names.role("hypernim", "tail")
        assert (raised.value.option, raised.value.found) == ("relation", "hypernim")
        assert raised.value.suggestions == expected
    with pytest.raises(UnknownNameError) as raised:
        kb.predict("x" * 1000, "hypernym")
    assert str(raised.value) == f'no entity "{"x" * 77}..."'
