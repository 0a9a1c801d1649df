from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hmem.errors import UnknownNameError
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.results import Question
from hmem.knowledge.session import Session
from hmem.serve.remembered import Remembered
from tests.serve.clients import NEW

QUESTIONS = [
    Question(entity="dog.n.01", relation="hypernym", k=3),
    Question(entity="dog.n.01", relation="hypernym", k=4),
    Question(entity="dog.n.01", relation="hypernym", k=3, new_only=False),
    Question(entity="dog.n.01", relation="hypernym", k=3, direction="head"),
]


@pytest.fixture
def kb(zoo: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(zoo) as opened:
        yield opened


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """All questions that the model is asked."""
    asked: list[Question] = []
    answer_each = Session.answer_each

    def noted(self: Session, questions: list[Question]) -> object:
        asked.extend(questions)
        return answer_each(self, questions)

    monkeypatch.setattr(Session, "answer_each", noted)
    return asked


def test_what_was_asked_is_not_computed_again_and_is_the_same(kb: KnowledgeBase, computed: list[Question]) -> None:
    remembered = Remembered()
    with kb.session() as session:
        first = remembered.answer_each(session, QUESTIONS + QUESTIONS[:2])
        assert computed == QUESTIONS
        assert remembered.answer_each(session, QUESTIONS[::-1]) == first[3::-1]
        assert computed == QUESTIONS
        assert first[:4] == session.answer_each(QUESTIONS)
    assert first[4:] == first[:2]
    assert remembered.hits == len(QUESTIONS)


def test_a_write_or_another_model_and_everything_is_forgotten(kb: KnowledgeBase, computed: list[Question]) -> None:
    remembered = Remembered()
    link = kb.model_link
    assert link is not None
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: kb.add(NEW, "hypernym", "dog.n.01"),
        lambda: kb.use_model(link.folder),
    ]
    for place, change in enumerate(changes, 1):
        change()
        for _ in range(2):
            with kb.session() as session:
                found = remembered.answer_each(session, QUESTIONS)
                assert found == remembered.answer_each(session, QUESTIONS)
        assert computed == QUESTIONS * place


def test_the_oldest_make_room_and_errors_are_not_kept(kb: KnowledgeBase, computed: list[Question]) -> None:
    remembered = Remembered(most=9)  # rows: two answers of three and one that is none
    unknown = Question(entity="dingo", relation="hypernym")
    with kb.session() as session:
        for question in (*QUESTIONS[:3:2], QUESTIONS[0], unknown, unknown, QUESTIONS[3], QUESTIONS[0], QUESTIONS[2]):
            (found,) = remembered.answer_each(session, [question])
            assert isinstance(found, UnknownNameError) == (question is unknown)
    assert computed == [QUESTIONS[0], QUESTIONS[2], unknown, unknown, QUESTIONS[3], QUESTIONS[2]]
