"""One thread that owns the model. Questions that come at about the same time are answered in one pass.

The first question in an empty queue waits a little for company; while a pass runs, the next ones gather by themselves.
Everything else that needs the model takes turns with the passes, one call after each.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from hmem.errors import HMemError
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.ranked import Ranked
from hmem.knowledge.session import Direction, Session
from hmem.model.implicit import ImplicitMemory
from hmem.serve.errors import ApiError, UnknownError, shown
from hmem.serve.settings import MOST_QUESTIONS, STORED_EDGES

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """(entity, relation, ?) or, for the direction "head", (?, relation, entity)."""

    entity: str
    relation: str
    direction: Direction = "tail"
    k: int = 10
    known: bool = False  # whether stored answers are listed too
    most_edges: int = STORED_EDGES  # that may be looked at for these; of a hub's, some are left out


@dataclass(frozen=True, slots=True)
class Answer:
    """Who may stand at the open end, and how good that would be."""

    rank: int
    name: str
    score: float
    probability: float | None
    known: bool


Answers = list[list[Answer]]


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Questions of one request, and where their answers go."""

    questions: Sequence[Question]
    future: "Future[Answers]"
    since: float = field(default_factory=time.monotonic)


class Batcher:
    """The queue in front of a model."""

    def __init__(
        self,
        kb: KnowledgeBase,
        *,
        window: float = 0.002,
        most_waiting: int = 1_024,
        observe: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._kb = kb
        self._window = window
        self._most_waiting = most_waiting
        self._observe = observe  # told how many questions each pass had
        self._changed = threading.Condition()
        self._asked: deque[_Asked] = deque()
        self._calls: deque[tuple[Callable[[Session], Any], Future[Any]]] = deque()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="hmem-model", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Questions and calls in the queue."""
        return sum(len(asked.questions) for asked in self._asked.copy()) + len(self._calls)

    def predict(self, questions: Sequence[Question]) -> "Future[Answers]":
        """The best answers to each question, to come."""
        future: Future[Answers] = Future()
        with self._changed:
            self._refuse_too_many(len(questions))
            self._asked.append(_Asked(questions, future))
            self._changed.notify()
        return future

    def call(self, function: Callable[[Session], T]) -> "Future[T]":
        """What a function makes of the model and the facts of the moment, to come."""
        future: Future[T] = Future()
        with self._changed:
            self._refuse_too_many(1)
            self._calls.append((function, future))
            self._changed.notify()
        return future

    def close(self, patience: int | float | None = None) -> bool:
        """Answer nothing more; who still waits is told so. False if a pass did not end within `patience` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(patience)
        for future in [asked.future for asked in self._asked] + [future for _, future in self._calls]:
            future.cancel()
        return not self._thread.is_alive()

    def _refuse_too_many(self, more: int) -> None:
        if self._closed:
            raise ApiError("busy", "the server is shutting down")
        if self.waiting + more > max(self._most_waiting, more):
            raise ApiError("busy", f"{self.waiting:,} questions are waiting already; try again in a moment")

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked or self._calls or self._closed)
                if self._closed:
                    return
                batch = self._gather()
                call = self._calls.popleft() if self._calls else None
            if batch:
                self._answer(batch)
            if call is not None:
                self._run(*call)

    def _gather(self) -> list[_Asked]:
        """The requests of one pass: the first, and whoever comes within the window."""
        if self._asked:
            until = self._asked[0].since + self._window
            self._changed.wait_for(
                lambda: self._closed or sum(len(asked.questions) for asked in self._asked) >= MOST_QUESTIONS,
                timeout=max(0.0, until - time.monotonic()),
            )
        batch: list[_Asked] = []
        room = MOST_QUESTIONS
        while self._asked and (not batch or len(self._asked[0].questions) <= room):
            asked = self._asked.popleft()
            if asked.future.set_running_or_notify_cancel():  # else nobody waits for it any more
                batch.append(asked)
                room -= len(asked.questions)
        return batch

    def _answer(self, batch: list[_Asked]) -> None:
        try:
            with session(self._kb) as now:
                fine = [asked for asked in batch if _is_answerable(now, asked)]
                self._observe(sum(len(asked.questions) for asked in fine))
                try:
                    answers = answer_all(now, [question for asked in fine for question in asked.questions])
                except HMemError:  # of one of them; the others shall not suffer for it
                    self._answer_one_by_one(now, fine)
                    return
        except BaseException as error:
            for asked in batch:
                if not asked.future.done():
                    asked.future.set_exception(error)
            return
        start = 0
        for asked in fine:
            asked.future.set_result(answers[start : start + len(asked.questions)])
            start += len(asked.questions)

    def _answer_one_by_one(self, now: Session, batch: list[_Asked]) -> None:
        for asked in batch:
            try:
                asked.future.set_result(answer_all(now, asked.questions))
            except HMemError as error:
                asked.future.set_exception(error)

    def _run(self, function: Callable[[Session], Any], future: "Future[Any]") -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with session(self._kb) as now:
                future.set_result(function(now))
        except BaseException as error:
            future.set_exception(error)


def session(kb: KnowledgeBase) -> AbstractContextManager[Session]:
    """`kb.session()`, where having no model is an error of its own."""
    if kb.model_link is None:
        raise ApiError(
            "no_model",
            "the knowledge base has no model, which this is needed for; train one with `hmem train --from KB --out DIR`"
            " and attach it with `hmem kb use KB DIR`",
        )
    return kb.session()


def answer_all(now: Session, questions: Sequence[Question]) -> Answers:
    """The answers to all questions, both directions in one pass. A question that is asked twice is answered once."""
    kinds: dict[tuple[int, bool, int], list[Question]] = {}
    for question in dict.fromkeys(questions):
        kinds.setdefault((question.k, question.known, question.most_edges), []).append(question)
    found: dict[Question, list[Answer]] = {}
    for (k, known, most_edges), alike in kinds.items():
        entities = np.array([check_entity(now, question.entity) for question in alike])
        roles = np.array([role_of(now, question.relation, question.direction) for question in alike])
        ranked = now.predictor.best(entities, roles, k, new_only=not known, most_edges=most_edges)
        for question, entity, each in zip(alike, entities.tolist(), ranked, strict=True):
            found[question] = _named(now, entity, each)
    return [found[question] for question in questions]


def _named(now: Session, entity: int, ranked: Ranked) -> list[Answer]:
    names = now.live.entities.names
    chances = now.chances(np.full(len(ranked.answers), entity), ranked)
    columns = (ranked.ranks, ranked.answers, ranked.scores, ranked.known)
    return [
        Answer(rank, names[answer], score, chance, known)
        for chance, rank, answer, score, known in zip(chances, *(each.tolist() for each in columns), strict=True)
    ]


def check_entity(now: Session, name: str) -> int:
    """The number of an entity, or an error with a code of its own. Nothing is searched for here: the model waits."""
    number = now.live.entities.names.get(name)
    if number is None:
        raise UnknownError("entity", name)
    return number


def check_relation(now: Session, name: str) -> int:
    number = now.live.relations.names.get(name)
    if number is None:
        raise UnknownError("relation", name)
    if number >= now.live.num_relations:
        raise ApiError(
            "not_trained",
            f'the relation "{shown(name)}" is stored and shown, but the model was trained before it came; to predict '
            "with it, train again with the present facts",
        )
    return number


def role_of(now: Session, relation: str, direction: Direction) -> int:
    """The role that stands for a relation asked from one end."""
    number = check_relation(now, relation)
    return number + now.live.num_relations if direction == "tail" else number


def _is_answerable(now: Session, asked: _Asked) -> bool:
    """Whether all names of a request are known and have facts; otherwise it is told so at once."""
    try:
        for question in asked.questions:
            check_entity(now, question.entity)
            check_relation(now, question.relation)
            if not isinstance(now.predictor.model.memory, ImplicitMemory):
                now.live.entity_with_facts(question.entity)
    except HMemError as error:
        asked.future.set_exception(error)
        return False
    return True
