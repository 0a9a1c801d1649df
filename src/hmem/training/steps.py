"""Steps down the gradient: a model, its optimizer, and what they need of the graph."""

import math
import time
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from hmem.model.build import Network
from hmem.model.propagation import Propagation
from hmem.model.query import Noise, Query
from hmem.training.batches import Batches
from hmem.training.counted import Counted
from hmem.training.loss import gradient_function, loss_function
from hmem.training.material import Material
from hmem.training.processes import ALONE, BEGIN_AGAIN, STEP, Order, Processes
from hmem.training.start import make_optimizer
from hmem.training.state import State

MOST_GRADIENT = 1.0  # the norm to which the gradient of a network that passes messages is cut
PART_SECONDS = 1.0  # of a part of a step, where there is a limit of time
TIMED_SECONDS, TIMED_GROWTH = 0.2, 3  # by which it is found how long a question takes: more and more are asked


class Steps:
    """Each step answers a batch of questions, of which this process has a share, and goes down the gradient of all."""

    def __init__(
        self, material: Material, device: torch.device, processes: Processes = ALONE,
        told: Callable[[str], None] = lambda note: None,
    ) -> None:  # fmt: skip
        self.training, self.device = material.config.training, device
        self.processes, self.told = processes, told
        self.graph = material.graph.to(device)
        self.model = material.model.to(device)
        num_relations, size = self.model.num_relations, self.training.batch_size
        self.batches = Batches(material.facts.to(device), num_relations, size, self.training.seed)
        self.loss = loss_function(self.model, self.graph, self.training)
        self.gradient = gradient_function(self.model, self.graph, self.training)
        self.optimizer = make_optimizer(self.model, self.training)
        if material.state.weights:
            material.state.restore(self.model, self.optimizer)
        self.parts = 1  # in which the questions are worked on, one after the other
        self.facts = size  # of a batch that are asked for; fewer where a step would take too long

    def fit_into(self, seconds: float, step: int) -> None:
        """Make steps no longer than that, and of parts between which the clock can be looked at.

        How long a question takes is found by a few of them on a CPU, where each is worked on by itself. A GPU works on
        all of a batch in about the time of a few. The first time only warms up, since kernels are compiled in it.
        """
        self.model.train()
        batch, took = self.batches.at(step), 0.0
        count = len(batch) if self.device.type == "cuda" else 1
        try:
            self._gradient(batch, range(count), step)
            while True:
                began = time.perf_counter()
                float(self._gradient(batch, range(count), step) or 0)  # a GPU is waited for
                took = time.perf_counter() - began
                if took >= TIMED_SECONDS or count == len(batch):
                    break
                count = min(TIMED_GROWTH * count, len(batch))
        except torch.OutOfMemoryError:  # which the first step will deal with
            took = 0.0
        self.optimizer.zero_grad(set_to_none=True)
        pace = max(1e-9, took / count)
        self.facts = max(1, min(self.training.batch_size, int(seconds / pace * self.processes.count / 2)))
        questions = min(2 * self.facts, len(batch)) / self.processes.count
        self.parts = max(self.parts, math.ceil(questions * pace / PART_SECONDS))

    def take(self, step: int, rate: float, is_over: Callable[[], bool] = lambda: False) -> Float[Tensor, ""] | None:
        """One step, with a share of the full learning rate; returns the loss of the batch.

        Where the questions do not fit into the memory of the device, they are worked on in parts. A step during which
        it `is_over` changes nothing, and has no loss.
        """
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = group["full_rate"] * rate
        batch = self.batches.at(step, self.facts)
        rows = self.processes.share(len(batch))
        while True:
            try:
                loss = self._gradient(batch, rows, step, is_over)
                break
            except torch.OutOfMemoryError:
                if 2 * self.parts > len(rows):
                    raise
            self.parts *= 2
            self.told(f"out of memory: each batch is worked on in {self.parts} parts from now on")
        if loss is None:
            return None
        loss = self.processes.add_up(self.model.parameters(), loss)
        if isinstance(self.model, Propagation):
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), MOST_GRADIENT)
        self.optimizer.step()
        return loss.detach()

    def obey(self, order: Order) -> None:
        """Do what the first process says to its followers."""
        if order.kind == STEP:
            self.facts = order.facts
            self.take(order.step, order.rate)
        elif order.kind == BEGIN_AGAIN:
            self.begin_again()
            self.processes.hand_out(self.model.state_dict().values())

    def begin_again(self) -> None:
        """Go on as if the weights were the first."""
        self.optimizer = make_optimizer(self.model, self.training)

    def keep(self) -> None:
        """Remember what is no part of the model here, as the best so far."""

    def captured(self, state: State) -> State:
        """The state with all that these steps have come to."""
        return state.captured(self.model, self.optimizer)

    def asked(self) -> Network | Counted:
        """The model as it is now, to be validated."""
        return self.model

    def whole(self) -> Network:
        """The model with the vectors of all entities."""
        return self.model

    def _gradient(
        self, batch: Query, rows: range, step: int, is_over: Callable[[], bool] = lambda: False
    ) -> Float[Tensor, ""] | None:
        """What these questions add to the loss of the batch; the gradient is then in the parameters."""
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        size = max(1, -(-len(rows) // self.parts))
        for low in range(0, len(rows), size):
            if low and is_over():
                return None
            these = as_slice(rows[low : low + size])
            part, noise = batch.part(these), Noise(self.training.seed, step, self.device, batch, these)
            total = total + self._learn(part, noise, len(part) / len(batch))
        return total

    def _learn(self, part: Query, noise: Noise, weight: float) -> Float[Tensor, ""]:
        if self.gradient is not None:
            return self.gradient(part, noise)
        loss = self.loss(part, noise)
        share = loss if weight == 1 else loss * weight
        share.backward()  # type: ignore[no-untyped-call]
        return share.detach()


def as_slice(rows: range) -> slice:
    return slice(rows.start, rows.stop, rows.step)
