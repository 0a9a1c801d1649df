"""One thread that uses the model, so that questions that come at about the same time are answered in one pass.

The first question in an empty queue waits a moment for others; while a pass runs, the next ones gather by themselves.
Everything else that needs the model takes turns with the passes, one call after each.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from hmem.errors import HMemError
from hmem.graph.days import Stretch
from hmem.knowledge.base import KnowledgeBase
from hmem.knowledge.results import Prediction, Question
from hmem.knowledge.session import Session, whole
from hmem.serve.errors import ApiError
from hmem.serve.remembered import Remembered
from hmem.serve.settings import MOST_QUESTIONS

T = TypeVar("T")
Answers = list[list[Prediction]]


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Questions of one request, and where their answers go."""

    questions: Sequence[Question]
    future: "Future[Answers]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


class Batcher:
    """The queue in front of a model. Its lock guards the queue alone; that over the model is the knowledge base's."""

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
        self._observe = observe  # called with the number of questions of each pass
        self._changed = threading.Condition()
        self._asked: deque[_Asked] = deque()
        self._calls: deque[tuple[Callable[[Session], Any], Stretch | None, Future[Any]]] = deque()
        self._closed = False
        self.remembered = Remembered()  # of the thread below
        self.waiting = 0  # questions and calls in the queue
        self.moment = 0  # the last one that an answer rests on
        self._thread = threading.Thread(target=self._work, name="hmem-model", daemon=True)
        self._thread.start()

    def predict(self, questions: Sequence[Question]) -> "Future[Answers]":
        """The best answers to each question, to come."""
        asked = _Asked(questions)
        self._put(self._asked, asked, len(questions))
        return asked.future

    def call(self, function: Callable[[Session], T], at: Stretch | None = None) -> "Future[T]":
        """What a function makes of the model and the facts of the moment, or of those that held at a time, to come."""
        future: Future[T] = Future()
        self._put(self._calls, (function, at, future), 1)
        return future

    def close(self, patience: int | float | None = None) -> bool:
        """Answer nothing more; what still waits is cancelled. False if a pass did not end within `patience` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(patience)
        for future in [asked.future for asked in self._asked] + [future for *_, future in self._calls]:
            future.cancel()
        return not self._thread.is_alive()

    def _put(self, queue: deque[Any], work: object, size: int) -> None:
        with self._changed:
            if self._closed:
                raise ApiError("busy", "the server is shutting down")
            if self.waiting + size > max(self._most_waiting, size):
                raise ApiError("busy", f"{self.waiting:,} questions are waiting already; try again in a moment")
            self.waiting += size
            queue.append(work)
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked or self._calls or self._closed)
                if self._closed:
                    return
                batch = self._gather()
                call = self._calls.popleft() if self._calls else None
                self.waiting -= call is not None
            if batch:
                self._answer(batch)
            if call is not None:
                self._run(*call)

    def _gather(self) -> list[_Asked]:
        """The requests of one pass: the first, and those that come within the window."""
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
            self.waiting -= len(asked.questions)
            if asked.future.set_running_or_notify_cancel():  # else its caller has given up
                batch.append(asked)
                room -= len(asked.questions)
        return batch

    def _answer(self, batch: list[_Asked]) -> None:
        try:
            found = self._answers([question for asked in batch for question in asked.questions])
        except BaseException as error:
            for asked in batch:
                asked.future.set_exception(error)
            return
        self._observe(sum(not isinstance(each, HMemError) for each in found))
        rest = iter(found)
        for asked in batch:
            answers = list(islice(rest, len(asked.questions)))
            try:
                asked.future.set_result(whole(answers))
            except HMemError as error:
                asked.future.set_exception(error)

    def _answers(self, questions: Sequence[Question]) -> list[list[Prediction] | HMemError]:
        """The answers to all questions, in a pass for each of the times that they are about."""
        found: dict[int, list[Prediction] | HMemError] = {}
        for at in dict.fromkeys(question.at for question in questions):
            places = [place for place, question in enumerate(questions) if question.at == at]
            with self._kb.session(at=at, suggest=False) as session:
                answers = self.remembered.answer_each(session, [questions[place] for place in places])
                self.moment = max(self.moment, session.live.moment)
            found.update(zip(places, answers, strict=True))
        return [found[place] for place in range(len(questions))]

    def _run(self, function: Callable[[Session], Any], at: Stretch | None, future: "Future[Any]") -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with self._kb.session(at=at, suggest=False) as session:
                future.set_result(function(session))
        except BaseException as error:
            future.set_exception(error)
