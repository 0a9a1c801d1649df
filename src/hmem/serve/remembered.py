"""Answers that were given a moment ago: as long as neither facts nor model change, they are the same.

With one write they are all forgotten, since any fact may change any answer. So this is for bases that are asked more
often than they are written to, and there it is exact.
"""

from collections import OrderedDict
from collections.abc import Sequence

from hmem.errors import HMemError
from hmem.knowledge.results import Prediction, Question
from hmem.knowledge.session import Session

MOST_ROWS = 100_000  # remembered, some 30 MB


class Remembered:
    """Answers by their question; of one thread."""

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most = most
        self._found: OrderedDict[Question, list[Prediction]] = OrderedDict()  # what was asked last comes last
        self._rows = 0
        self._of: tuple[object, int] | None = None  # model and moment
        self.hits = 0  # questions that were answered from here, ever

    def answer_each(self, session: Session, questions: Sequence[Question]) -> list[list[Prediction] | HMemError]:
        """The same as that of the session, which is asked what is not remembered. Errors are not."""
        self._forget_unless((session.saved, session.live.moment))
        cached = {question: self._found[question] for question in questions if question in self._found}
        others = [question for question in dict.fromkeys(questions) if question not in cached]
        answers: dict[Question, list[Prediction] | HMemError] = dict(cached)
        if others:
            answers.update(zip(others, session.answer_each(others), strict=True))
        self.hits += sum(question in cached for question in questions)
        for question in dict.fromkeys(questions):
            self._keep(question, answers[question])
        return [answers[question] for question in questions]

    def _forget_unless(self, now: tuple[object, int]) -> None:
        if self._of is None or self._of[0] is not now[0] or self._of[1] != now[1]:
            self._found.clear()
            self._of, self._rows = now, 0

    def _keep(self, question: Question, answer: list[Prediction] | HMemError) -> None:
        if isinstance(answer, HMemError):
            return
        if question not in self._found:
            self._rows += len(answer) + 1
            self._found[question] = answer
        self._found.move_to_end(question)
        while self._rows > self._most:
            _, oldest = self._found.popitem(last=False)
            self._rows -= len(oldest) + 1
