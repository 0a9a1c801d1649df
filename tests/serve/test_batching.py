import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from hmem.errors import EmptyNeighborhoodError, NonFiniteError, StoreError, UnknownNameError
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.results import Direction, Question
from hmem.knowledge.session import Session
from hmem.serve.batching import Batcher
from hmem.serve.errors import ApiError
from tests.knowledge.living import RELATIONS, TRAINED, UNTRAINED

ASKED: list[tuple[Direction, int]] = [("tail", 3), ("head", 5)]
QUESTIONS = [
    Question(entity=entity, relation=relation, direction=direction, k=k)
    for entity in TRAINED[:6]
    for relation in RELATIONS
    for direction, k in ASKED
]


class Gate:
    """Holds the model's thread until it is opened, so that questions gather."""

    def __init__(self, batcher: Batcher) -> None:
        self._open, self._there = threading.Event(), threading.Event()
        self._call = batcher.call(self._wait)
        assert self._there.wait(30)

    def _wait(self, session: Session) -> None:
        self._there.set()
        self._open.wait(30)

    def open(self) -> None:
        self._open.set()
        self._call.result(30)


@pytest.fixture
def kb(zoo: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(zoo, read_only=True) as made:
        yield made


@pytest.fixture
def sizes() -> list[int]:
    return []


@pytest.fixture
def batcher(kb: KnowledgeBase, sizes: list[int]) -> Iterator[Batcher]:
    made = Batcher(kb, most_waiting=60, observe=sizes.append)
    yield made
    made.close()


def test_questions_that_come_together_are_answered_in_one_pass(
    batcher: Batcher, kb: KnowledgeBase, sizes: list[int]
) -> None:
    gate = Gate(batcher)
    asked = [batcher.predict([question]) for question in QUESTIONS]
    assert batcher.waiting == len(QUESTIONS)
    gate.open()
    together = [future.result(30)[0] for future in asked]
    assert sizes == [len(QUESTIONS)]
    assert batcher.waiting == 0
    for question, answers in zip(QUESTIONS, together, strict=True):
        alone = kb.predict(question.entity, question.relation, question.k, direction=question.direction)
        assert [each.names for each in answers] == [each.names for each in alone]
        assert [each.rank for each in answers] == [each.rank for each in alone]
        assert [each.stored for each in answers] == [each.stored for each in alone]
        assert [each.score for each in answers] == pytest.approx([each.score for each in alone], abs=1e-4)


def test_a_few_that_come_within_the_window_share_a_pass(kb: KnowledgeBase, sizes: list[int]) -> None:
    batcher = Batcher(kb, window=5.0, observe=sizes.append)
    batcher.call(lambda session: None).result(30)  # the model is loaded
    asked = [batcher.predict([question]) for question in QUESTIONS[:3]]
    asked.append(batcher.predict([QUESTIONS[0]] * 253))  # and now the pass is full, so the window is not waited for
    for future in asked:
        future.result(30)
    assert sizes == [256]
    batcher.close()


def test_more_than_one_pass_has_room_for(batcher: Batcher, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmem.serve.batching.MOST_QUESTIONS", 10)
    gate = Gate(batcher)
    asked = [batcher.predict(QUESTIONS[:4]) for _ in range(4)] + [batcher.predict(QUESTIONS[:12])]
    gate.open()
    assert [len(future.result(30)) for future in asked] == [4, 4, 4, 4, 12]
    assert sizes == [8, 8, 12]


def test_one_bad_question_does_not_spoil_the_others(batcher: Batcher) -> None:
    gate = Gate(batcher)
    good, unknown = batcher.predict(QUESTIONS[:2]), batcher.predict([Question(entity="dingo", relation="hypernym")])
    strange = batcher.predict([QUESTIONS[0], Question(entity="dog.n.01", relation="eats")])
    alone = batcher.predict([Question(entity=UNTRAINED, relation="hypernym")])
    first = batcher.predict([Question(entity=UNTRAINED, relation="hypernym"), Question(entity="dingo", relation="is")])
    gate.open()
    assert [len(answers) for answers in good.result(30)] == [3, 5]
    for future, error in ((unknown, UnknownNameError), (strange, UnknownNameError), (alone, EmptyNeighborhoodError)):
        with pytest.raises(error):
            future.result(30)
    with pytest.raises(EmptyNeighborhoodError):  # of two bad questions, the error of the first
        first.result(30)


def test_a_failure_of_the_model_is_the_failure_of_one_question(
    batcher: Batcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = Predictor.best

    def picky(self: Predictor, entities: object, roles: object, k: list[int], *more: object) -> object:
        if 7 in k:
            raise NonFiniteError("not that one")
        return best(self, entities, roles, k, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Predictor, "best", picky)
    gate = Gate(batcher)
    good = batcher.predict([QUESTIONS[0]])
    bad = batcher.predict([Question(entity="dog.n.01", relation="hypernym", k=7)])
    gate.open()
    assert len(good.result(30)[0]) == 3
    with pytest.raises(NonFiniteError):
        bad.result(30)


def test_a_mistake_reaches_all_callers_of_the_pass_and_the_thread_goes_on(
    batcher: Batcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Predictor, "best", None)
        with pytest.raises(TypeError):
            batcher.predict([QUESTIONS[0]]).result(30)
    with pytest.raises(ZeroDivisionError):
        batcher.call(lambda session: 1 // 0).result(30)
    assert len(batcher.predict([QUESTIONS[0]]).result(30)) == 1


def test_a_request_that_was_given_up_is_not_answered(batcher: Batcher, sizes: list[int]) -> None:
    gate = Gate(batcher)
    asked = [batcher.predict([question]) for question in QUESTIONS[:4]]
    call = batcher.call(lambda session: session)
    assert asked[1].cancel()
    assert call.cancel()
    gate.open()
    for future in (asked[0], asked[2], asked[3]):
        future.result(30)
    assert sizes == [3]


def test_too_many_are_turned_away(batcher: Batcher) -> None:
    gate = Gate(batcher)
    asked = [batcher.predict([question]) for question in QUESTIONS]
    with pytest.raises(ApiError, match="48 questions are waiting") as refused:
        batcher.predict(QUESTIONS[:13])
    assert refused.value.code == "busy"
    asked += [batcher.predict([QUESTIONS[0]]) for _ in range(12)]
    with pytest.raises(ApiError, match="60 questions are waiting"):
        batcher.call(lambda session: None)
    gate.open()
    for future in asked:
        future.result(30)
    assert len(batcher.predict([QUESTIONS[0]] * 61).result(30)) == 61  # a large request finds an empty queue


def test_calls_and_passes_take_turns(batcher: Batcher) -> None:
    order: list[str] = []
    gate = Gate(batcher)
    futures = [batcher.call(lambda session, name=name: order.append(name)) for name in ("first", "second")]  # type: ignore[misc]
    asked = batcher.predict([QUESTIONS[0]])
    asked.add_done_callback(lambda future: order.append("answer"))
    gate.open()
    for future in futures:
        future.result(30)
    assert order == ["answer", "first", "second"]


def test_a_model_that_is_gone_is_the_error_of_every_question(tmp_path: Path, toy_model: Path) -> None:
    shutil.copytree(toy_model, tmp_path / "model")
    with KnowledgeBase.create(tmp_path / "bare.kb", facts=[("a", "r", "b")], model=tmp_path / "model") as kb:
        shutil.rmtree(tmp_path / "model")
        batcher = Batcher(kb)
        for future in (batcher.predict([Question(entity="a", relation="r")]), batcher.call(lambda session: session)):
            with pytest.raises(StoreError, match="is not where it was"):
                future.result(30)
        batcher.close()


def test_closing_lets_no_request_wait(kb: KnowledgeBase) -> None:
    batcher = Batcher(kb)
    gate = Gate(batcher)
    asked, called = batcher.predict([QUESTIONS[0]]), batcher.call(lambda session: None)
    closing = threading.Thread(target=batcher.close)
    closing.start()
    gate.open()
    closing.join()
    for future in (asked, called):
        with pytest.raises(CancelledError):
            future.result(0)
    with pytest.raises(ApiError, match="shutting down"):
        batcher.predict([QUESTIONS[0]])
