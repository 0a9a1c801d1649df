"""Training: withhold a fact, ask for it from both ends, and step towards the answer."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from hmem.config import Config
from hmem.errors import Hint, InterruptedRunError, NonFiniteError, ProcessError
from hmem.graph.triples import Triples
from hmem.memory.conjugate_gradient import warn_if_unconverged
from hmem.model.hmem import HMem
from hmem.model.placing import fit_placing
from hmem.training.absence import fit_absence
from hmem.training.allocation import kept_memory
from hmem.training.clock import Clock, Speedometer
from hmem.training.hooks import Hooks, Outcome, Progress
from hmem.training.material import Material, material_of
from hmem.training.processes import ALONE, BEGIN_AGAIN, STEP, Processes
from hmem.training.schedule import rate
from hmem.training.split import steps_of
from hmem.training.state import State, Weights, save_state

CHECKPOINT_MINUTES = 5.0
SETBACK = 0.3  # what a setback leaves of the learning rate
EXPLODED = 10  # times log E, the loss of uniform scores: beyond that training is lost
LEAST_RATE = 0.01  # of it, from which on there is no further try
STEP_SHARE = 0.04  # of the time, for one step
LOOK_SHARE = 4  # times as long as a validation took must pass before the clock asks for the next
LOG_EVERY = 20  # steps between looks at the loss; on a GPU a look waits for the device
LOG_SECONDS = 10.0  # between them, if steps are slow


def train(
    config: Config,
    triples: Triples,
    num_entities: int,
    num_relations: int,
    *,
    device: torch.device | str = "cpu",
    hooks: Hooks | None = None,
    resume: State | None = None,
    processes: Processes = ALONE,
    clock: Clock | None = None,
) -> Outcome:
    """Fit a model to the facts. Same settings and seed, same weights; on a CPU also after a stop and `resume`.

    The time is that of `clock`, which the caller may have started before.

    With a validation hook the best weights are kept, and training stops when the metric has not risen for `patience`
    looks. Several `processes`, of which this is the first, make the steps that one would make, but for rounding.
    """
    clock = clock or Clock(config.training.minutes, 0.0 if resume is None else resume.seconds)
    with matmul_precision(config.training.precision), kept_memory():
        place = torch.device(device)
        if processes.count == 1:
            material = material_of(config, triples, num_entities, num_relations, place, resume)
        else:
            made = material_of(config, triples, num_entities, num_relations, torch.device("cpu"), resume)
            material = processes.map(made.prepared(place))
        return _Run(material, place, hooks or Hooks(), resume, processes, clock).go()


class _Run:
    """A training run: a model, an optimizer, batches, and the state that a checkpoint keeps of them."""

    def __init__(
        self, material: Material, device: torch.device, hooks: Hooks, resume: State | None, processes: Processes,
        clock: Clock,
    ) -> None:  # fmt: skip
        self.training, self.hooks, self.processes, self.clock = material.config.training, hooks, processes, clock
        self.steps = steps_of(material, device, processes, lambda note: self._tell(note=note))
        self.model, self.graph, self.batches = self.steps.model, self.steps.graph, self.steps.batches
        epochs, look_every = self.training.epochs, self.training.validate_every
        assert epochs is not None, "see hmem.runs.choose"
        assert look_every is not None, "see hmem.runs.choose"
        self.epochs = epochs
        self.num_steps = self.batches.per_epoch * self.epochs
        self.look_every = max(1, round(self.batches.per_epoch * look_every))  # steps
        self.state = replace(resume) if resume is not None else State()
        self.saved = self.looked = self.told = time.perf_counter()
        self.looked_at, self.look_took = self._share(), 0.0  # where in the run the last validation was, and its seconds
        self.speed = Speedometer()
        self.most_loss = EXPLODED * math.log(2 + material.num_entities)
        self.began: float | None = None  # the metric of the weights that fine-tuning begins with
        self.set_back = self.state.step  # the step of the last setback
        self.has_stepped = self.state.best_weights is not None  # whether the loss was ever in order after a step
        self.has_given_up = False  # since no rate is low enough
        self.first = {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def go(self) -> Outcome:
        """Step until there is a reason to stop; the best weights are kept, and what needs them is fitted."""
        try:
            reason = self._step_until_a_reason_to_stop()
        except ProcessError:
            if self.training.candidates is None:  # otherwise a part of all that it has come to is lost
                self._checkpoint()
            raise
        self._checkpoint(is_all_there_is=reason == "interrupted")
        best = self.state.best_metric if reason == "interrupted" else self._finish()
        model = self.steps.whole().eval()
        if isinstance(model, HMem):
            fit_placing(model, self.graph, self.training.seed)
        epochs, seconds = self.state.step / self.batches.per_epoch, self.state.seconds
        return Outcome(model=model, best=best, began=self.began, epochs=epochs, seconds=seconds, stopped=reason)

    def _step_until_a_reason_to_stop(self) -> str:
        state = self.state
        is_resumed = state.seconds > 0  # otherwise the weights are those to begin with
        if state.weights and not is_resumed and self.hooks.validate is not None:
            self._validate(self.hooks.validate)  # so that training makes nothing worse
            self.began = state.best_metric
        elif state.is_unjudged and self.hooks.validate is not None:
            self._validate(self.hooks.validate)
        reason = self._reason_to_stop()
        if self.clock.is_limited and reason is None:
            self.steps.fit_into(STEP_SHARE * self.clock.limit, state.step)
        while reason is None:
            loss = self._step()
            state.step += loss is not None
            reason = self._reason_to_stop()
            is_due = self._is_look_due() if loss is not None else reason != "interrupted"
            is_slow = time.perf_counter() - self.told > LOG_SECONDS
            by_step = state.step % LOG_EVERY == 0 or state.step % self.batches.per_epoch == 0
            if loss is not None and (by_step or is_slow or is_due or reason is not None):
                self._look(loss)
            if self.hooks.validate is not None and is_due:
                self._validate(self.hooks.validate)
                reason = reason or self._reason_to_stop()
            if time.perf_counter() - self.saved > 60 * CHECKPOINT_MINUTES:
                self._checkpoint()
        return reason

    def _is_look_due(self) -> bool:
        """Whether it is time to validate: every so many steps, and in the end.

        The last step is judged even if the run is interrupted there: one that resumes has no step left to do it. If the
        clock ends the run before its steps do, the looks are spread over the time, of which they take a fifth at most.
        """
        if self.state.step % self.look_every == 0 or self._share() >= 1:
            return True
        passed, between = self._share() - self.looked_at, self.look_every / self.num_steps
        is_worth_it = time.perf_counter() - self.looked > LOOK_SHARE * self.look_took
        return self.clock.is_limited and passed >= between and is_worth_it

    def _validate(self, validate: Callable[[Any], float]) -> None:
        """Measure the model, and remember it if it is the best so far."""
        began = time.perf_counter()
        self.state.is_unjudged = True
        try:
            metric = validate(self.steps.asked())
        except NonFiniteError:  # the step after the last look was too far
            self.state.is_unjudged = False
            self._go_back(math.nan)
            return
        except InterruptedRunError:
            return
        self.state.is_unjudged = False
        self.looked, self.looked_at = time.perf_counter(), self._share()
        self.look_took = self.looked - began
        is_best = self.state.best_metric is None or metric > self.state.best_metric
        self.state.record(metric, self.model)
        self._tell(metric)
        if is_best:
            self.steps.keep()
        if is_best and self.hooks.improved is not None:
            self.hooks.improved(self.steps.whole(), metric)
            self._checkpoint()  # beside the model, so that a run that is killed can go on from it

    def _finish(self) -> float | None:
        """Take the best weights and fit the null slots to them; returns the validation metric they reach."""
        if self.state.best_weights is not None:
            self._return_to(self.state.best_weights)
        validate, clock = self.hooks.validate, self.clock
        if self.training.fit_absence and validate is not None and isinstance(self.model, HMem):
            return fit_absence(
                self.model, lambda _: validate(self.steps.asked()), lambda: clock.left < clock.ending / 2
            )
        return self.state.best_metric

    def _step(self) -> Float[Tensor, ""] | None:
        """Step down the gradient of the loss, in all processes. One process alone may break it off, without a loss."""
        step, of_rate = self.state.step, rate(self._share()) * self.state.rate_left
        self.processes.order(STEP, step, of_rate, self.steps.facts)
        if self.processes.count > 1:  # the others wait for the gradients
            return self.steps.take(step, of_rate)
        return self.steps.take(step, of_rate, lambda: self._reason_to_stop() is not None)

    def _look(self, loss: Float[Tensor, ""]) -> None:
        """Look at the loss, and at whether anything has gone wrong since the last look."""
        value = float(loss)
        if not value <= self.most_loss:  # also if it is not a number
            self._go_back(value)
            return
        self.state.loss = value
        self.has_stepped |= self.state.step > self.set_back + 1
        self._tell()
        if isinstance(self.model, HMem) and self.model.completion.last_report is not None:
            warn_if_unconverged(self.model.completion.last_report)

    def _go_back(self, loss: float) -> None:
        """Go on from the last good weights with a lower rate.

        If that has not helped a few times, the run ends with the best weights; an error if no step went well.
        """
        if self.has_given_up:
            return
        state, full = self.state, self.training.learning_rate
        problem = f"the loss is {loss:.4g} after {state.step} steps"
        if state.rate_left < LEAST_RATE and state.best_weights is not None and self.has_stepped:
            self.has_given_up = True
            too_high = f"the learning rate of {full:g} is too high, and one of {full * state.rate_left:.2g} as well"
            self._tell(note=f"{problem}: {too_high}; the best weights are kept")
            return
        if state.rate_left < LEAST_RATE:
            now = full * state.rate_left
            hint = Hint(text=f"try a lower learning_rate (it was {full}, and {now:.2g} in the end)")
            raise NonFiniteError(problem, found=loss, hint=hint)
        self._return_to(state.best_weights or self.first)
        state.rate_left *= SETBACK
        self.set_back = state.step
        best = "the best weights" if state.best_weights is not None else "the first weights"
        self._tell(note=f"{problem}: back to {best}, and on with a learning rate of {full * state.rate_left:.2g}")

    def _return_to(self, weights: Weights) -> None:
        """Take up weights of before, in all processes, with an optimizer that remembers nothing."""
        self.model.load_state_dict(weights)
        self.steps.begin_again()
        self.processes.order(BEGIN_AGAIN)
        self.processes.hand_out(self.model.state_dict().values())

    def _share(self) -> float:
        """How much of the run is over, by steps or by the clock, whichever is further."""
        return max(self.state.step / self.num_steps, self.clock.share)

    def _reason_to_stop(self) -> str | None:
        if self.hooks.stop is not None and self.hooks.stop():
            return "interrupted"
        patience = self.training.patience
        if patience is not None and self.state.looks_without_gain >= patience:
            return "patience"
        if self.has_given_up:
            return "learning rate too high"
        if self._share() < 1:
            return None
        return "done" if self.state.step >= self.num_steps else "time"

    def _checkpoint(self, is_all_there_is: bool = False) -> None:
        self.saved = time.perf_counter()
        self.state.seconds = self.clock.seconds
        if self.hooks.checkpoint is not None:
            save_state(self.hooks.checkpoint, self.steps.captured(self.state), is_all_there_is=is_all_there_is)

    def _tell(self, validated: float | None = None, note: str | None = None) -> None:
        self.told = time.perf_counter()
        if self.hooks.progress is None:
            return
        self.hooks.progress(
            Progress(
                epoch=self.state.step // self.batches.per_epoch,
                epochs=self.epochs,
                step=self.state.step,
                share=min(1.0, self._share()),
                loss=self.state.loss,
                triples_per_second=self.speed.at(self.state.step * self.training.batch_size),
                seconds=self.clock.seconds,
                best=self.state.best_metric,
                validated=validated,
                note=note,
            )
        )


@contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """Let matrix products on CUDA use TF32 or bfloat16 units for float32 numbers, and put things back afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision({"float32": "highest", "tf32": "high", "bfloat16": "medium"}[precision])
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
