"""Which candidates are better than the true answer, and which as good, counted by several processes.

Each has the scores of its own entities alone. What a score needs of the others, the sum of the softmax and the score of
the true answer, is one number for each question.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import NonFiniteError
from hmem.memory.exact import Recalled
from hmem.memory.superpose import Edges
from hmem.model.hmem import HMem
from hmem.model.query import Query, other_answers
from hmem.model.scoring import Answer, leave_out_
from hmem.training.processes import Processes


@dataclass(frozen=True, eq=False, slots=True)
class Questions:
    """Questions whose answers are known; `filtered` are other true answers, each to the question in its `row`."""

    query: Query
    row: Int[Tensor, " K"]
    filtered: Int[Tensor, " K"]


@dataclass(frozen=True, eq=False, slots=True)
class Counted:
    """A model whose vectors are in several processes, as evaluation asks it."""

    device: torch.device
    width: int  # the most entities that a process has
    ask: Callable[[Questions], Int[Tensor, "3 B"]]

    def count(
        self, query: Query, row: Int[Tensor, " K"], filtered: Int[Tensor, " K"]
    ) -> tuple[Int[Tensor, " B"], Int[Tensor, " B"]]:
        """How many entities, filtered ones aside, have a better score than the target, and how many others the same."""
        better, level, broken = self.ask(Questions(query, row, filtered))
        if broken.any():
            raise NonFiniteError(
                "the model gave NaN as a score; ranks of NaN would look perfect. Is the rate too high?"
            )
        return better, level - 1  # the truth stands level with itself


@dataclass(frozen=True, eq=False, slots=True)
class Own:
    """The entities from `low` to `high`, whose vectors this process has."""

    low: int
    high: int
    rows: Float[Tensor, "own de"]
    processes: Processes

    def column(self, entities: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
        """Where they stand here; past the end if they are elsewhere."""
        is_here = (entities >= self.low) & (entities < self.high)
        return torch.where(is_here, entities - self.low, self.high - self.low)

    def count(self, questions: Questions, model: HMem, answer: Answer, names: Int[Tensor, " n"]) -> Int[Tensor, "3 B"]:
        """Of all processes: better candidates, those level with the truth, and scores that are no numbers.

        `names` are the entities that the answer is about, by their numbers in it.
        """
        query = questions.query
        assert query.target is not None
        scores = self._scores(query, model, answer, names)  # (B, own)
        target = self.column(query.target)
        padded = torch.cat([scores, torch.full_like(scores[:, :1], -torch.inf)], dim=1)  # (B, own + 1)
        truth = self.processes.of_all(padded.gather(1, target[:, None]).squeeze(1)).amax(0)  # NaN if any is
        broken = scores.isnan().any(1) | truth.isnan()
        column = self.column(questions.filtered)
        here = column < scores.shape[1]
        scores[questions.row[here], column[here]] = torch.nan  # neither better nor level
        counts = [(scores > truth[:, None]).sum(1), (scores == truth[:, None]).sum(1), broken.long()]
        return self.processes.of_all(torch.stack(counts)).sum(0)

    def _scores(self, query: Query, model: HMem, answer: Answer, names: Int[Tensor, " n"]) -> Float[Tensor, "B own"]:
        """As `scoring.log_p`, of the entities here."""
        dense = model.dense.scores_of_rows(query, answer.retrieved, self.rows, self.column(query.entity))
        if answer.copied is None:
            return dense
        log_rest = self._log_softmax(dense, query, answer.weighted.edges, names)
        if answer.reached is not None:
            log_rest = self._here(answer.reached, names).mixed_with(log_rest)
        return self._here(answer.copied, names).mixed_with(log_rest)

    def _log_softmax(
        self, dense: Float[Tensor, "B own"], query: Query, edges: Edges, names: Int[Tensor, " n"]
    ) -> Float[Tensor, "B own"]:
        """As `scoring.log_softmax`, over the entities of all processes."""
        rivals = dense.clone()
        row, filler = other_answers(Query(query.entity, query.role), edges)
        column = self.column(names.index_select(0, filler))
        here = column < dense.shape[1]
        leave_out_(rivals, row[here], column[here])
        total, of_any = self.processes.of_all(torch.stack([rivals.logsumexp(1), dense.logsumexp(1)])).logsumexp(0)
        total = torch.where(total > -torch.inf, total, of_any)[:, None]
        return dense - torch.where(total > -torch.inf, total, 0.0)

    def _here(self, recalled: Recalled, names: Int[Tensor, " n"]) -> Recalled:
        """What was recalled of the entities here."""
        column = self.column(names.index_select(0, recalled.fillers))
        kept = column < self.high - self.low
        return Recalled(recalled.log_edge[kept], recalled.log_null, column[kept], recalled.query[kept])
