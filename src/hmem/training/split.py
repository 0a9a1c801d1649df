"""Steps of a model whose entity vectors are shared out among the processes, or too many to be compared at once.

Everything else of the model, its roles, weights and rules, is in every process and learned as in `Steps`. Before each
step the model of a process becomes one of the few entities that its questions, their edges, walks and candidates are
about: the graph that it sees is that of a `Sight`, and it has their vectors from a `Table`.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hmem.model.hmem import HMem
from hmem.model.query import KEEP_ALL, Drop, Noise, Query
from hmem.training.candidates import Candidates, draw
from hmem.training.counted import Counted, Own, Questions
from hmem.training.loss import dropped, memory_loss
from hmem.training.material import Material
from hmem.training.processes import AGREE, ALONE, COLLECT, COUNT, KEEP, SAVE, Order, Processes
from hmem.training.sight import sight_of
from hmem.training.state import State
from hmem.training.steps import Steps, as_slice
from hmem.training.tables import Fetched, Table


def steps_of(
    material: Material, device: torch.device, processes: Processes = ALONE,
    told: Callable[[str], None] = lambda note: None,
) -> Steps:  # fmt: skip
    """The steps of a training, as its settings want them."""
    kind = Steps if material.config.training.candidates is None else SplitSteps
    return kind(material, device, processes, told)


class SplitSteps(Steps):
    model: HMem

    def __init__(
        self, material: Material, device: torch.device, processes: Processes = ALONE,
        told: Callable[[str], None] = lambda note: None,
    ) -> None:  # fmt: skip
        super().__init__(material, device, processes, told)
        self.num_entities, embeddings = material.num_entities, self.model.embeddings
        self.table = Table(self.num_entities, embeddings.entity, embeddings.spread, self.training.seed, processes)
        if material.state.tables:
            self.table.restore(material.state.tables)
        material.state.tables = {}  # which are mapped
        self.loss = lambda query, noise: self._loss(query, noise)

    def fit_into(self, seconds: float, step: int) -> None:
        """Steps stay as they are: they do not depend on how many entities there are."""

    def take(self, step: int, rate: float, is_over: Callable[[], bool] = lambda: False) -> Float[Tensor, ""] | None:
        batch, training = self.batches.at(step), self.training
        assert training.candidates is not None
        candidates = draw(batch, self.num_entities, training.candidates, training.seed, step)
        rows = as_slice(self.processes.share(len(batch)))
        drop = dropped(training, Noise(training.seed, step, self.device, batch, rows))
        fetched = self._look(batch.part(rows), drop, candidates.entities)
        self.candidates = Candidates(self.sight.numbers(candidates.entities), candidates.log_weight)
        vectors = self.model.embeddings.entity.requires_grad_()
        loss = super().take(step, rate)  # whole, since all processes take part in the table's
        gradient = torch.zeros_like(vectors) if vectors.grad is None else vectors.grad
        size = rate * training.learning_rate
        self.table.step(fetched, gradient, size, size * training.weight_decay)
        return loss

    def _gradient(
        self, batch: Query, rows: range, step: int, is_over: Callable[[], bool] = lambda: False
    ) -> Float[Tensor, ""] | None:
        self.model.embeddings.entity.grad = None  # of a try for which there was too little memory
        return super()._gradient(batch, rows, step, is_over)

    def _loss(self, query: Query, noise: Noise) -> Float[Tensor, ""]:
        noise.graph = self.graph
        return memory_loss(self.model, self.sight.query(query), self.sight, self.training, noise, self.candidates)

    def _look(self, query: Query, drop: Drop, others: Int[Tensor, " m"]) -> Fetched:
        """Make the model one of the entities that matter to these questions, and `others`."""
        self.sight = sight_of(self.model, query, self.graph, drop, others)
        fetched = self.table.fetch(self.sight.entities)
        self.model.num_entities = len(fetched.rows)
        self.model.embeddings.entity = fetched.rows
        self.model.is_trained = self.graph.has_edges(self.sight.entities)
        return fetched

    # What the first process says, and all do

    def obey(self, order: Order) -> None:
        if order.kind == KEEP:
            self.table.keep()
        elif order.kind == COLLECT:
            self.table.whole()
        elif order.kind == SAVE:
            self.table.state()
        elif order.kind == AGREE:
            self.processes.hand_out(self.model.state_dict().values())
        elif order.kind == COUNT:
            self._count(self.processes.tell(None))
        else:
            super().obey(order)

    def begin_again(self) -> None:
        super().begin_again()
        self.table.go_back()

    def keep(self) -> None:
        self.processes.order(KEEP)
        self.table.keep()

    def captured(self, state: State) -> State:
        self.processes.order(SAVE)
        return replace(super().captured(state), tables=self.table.state())

    def asked(self) -> Counted:
        self.processes.order(AGREE)
        self.processes.hand_out(self.model.state_dict().values())
        return Counted(self.device, len(self.table.rows) + 1, self._ask)

    def whole(self) -> HMem:
        self.processes.order(COLLECT)
        rows = self.table.whole()
        self.model.embeddings.entity = rows[:0]
        made = deepcopy(self.model)
        del made.embeddings.entity, made.is_trained
        made.num_entities, made.embeddings.entity = self.num_entities, nn.Parameter(rows)
        made.register_buffer("is_trained", self.graph.has_edges(torch.arange(self.num_entities, device=self.device)))
        return made

    def _ask(self, questions: Questions) -> Int[Tensor, "3 B"]:
        self.processes.order(COUNT)
        return self._count(self.processes.tell(questions))

    @torch.no_grad()
    def _count(self, questions: Questions | None) -> Int[Tensor, "3 B"]:
        assert questions is not None
        self.model.eval()
        asked = Query(questions.query.entity, questions.query.role)
        self._look(asked, KEEP_ALL, asked.entity[:0])
        answer = self.model.answer(self.sight.query(asked), self.sight, self.model.embeddings())
        own = Own(self.table.low, self.table.high, self.table.rows, self.processes)
        return own.count(questions, self.model, answer, self.sight.entities)
