"""Pre-training of a network for any graph: on many small graphs, so that no graph of roles can be learned by heart.

Trained on a few whole graphs, the network keeps improving on them and soon gets worse on others. So most of what it is
asked about are excerpts of those graphs and graphs made from random rules. Their held-out
facts are asked, of graphs that are left as they are, as at inference: nothing has to be hidden, neither from the
degrees nor from the graph of roles. The result is a running average of the weights.

What a step asks depends on the seed and its number alone, so a run that was stopped goes on as if it had not been.
"""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from hmem.errors import CheckpointError, ConfigError, DataError, NonFiniteError
from hmem.graph.dataset import Dataset
from hmem.graph.excerpts import excerpt, resplit
from hmem.graph.generated import generated
from hmem.graph.triples import both_edges
from hmem.memory.links import Links
from hmem.memory.ranges import matches
from hmem.model.propagation import Propagation
from hmem.training.state import State, save_state
from hmem.training.steps import MOST_GRADIENT

SHARE_GENERATED, SHARE_WHOLE = 0.4, 0.1  # of the batches; the rest is about excerpts
SHARE_UNLINKED = 0.3  # of the graphs: only facts between entities without another link are asked
FEWEST = 32  # held-out facts of a graph that is asked about
SEEDS = 100_000  # more than there are graphs of a kind
EXCERPTS, GENERATED, WHOLE = 300, 600, 2  # graphs of a mixture: of each dataset, in all, of each dataset

BATCH = 64  # questions of a step, all about one graph
RATE = 5e-4
WARMUP = 100  # steps
WEIGHT_DECAY = 1e-4
AVERAGED = 0.998  # what a step leaves of the average before it
LOOK_EVERY = 20  # steps; on a GPU a look at the loss waits for the device
CHECKPOINT_SECONDS = 300.0


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """Graphs of a kind, and how often one of them is asked about."""

    share: float
    graphs: Sequence[Dataset]


def mixture(
    datasets: Sequence[Dataset],
    weights: Sequence[float],
    *,
    excerpts: int = EXCERPTS,
    made: int = GENERATED,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Source]:
    """The graphs to train on; `weights` are those of the datasets, `made` is the number of graphs from random rules.

    `progress` gets how many of how many are there.
    """
    first, total, done = seed * SEEDS, sum(weights), 0
    number = made + len(datasets) * (excerpts + WHOLE)

    def asked(make: Callable[[int], Dataset], seeds: range) -> list[Dataset]:
        """The graphs of these seeds that have enough to ask."""
        nonlocal done
        kept = []
        for each in seeds:
            graph, done = make(each), done + 1
            kept += [graph] if len(graph.valid) >= FEWEST else []
            if progress is not None:
                progress(done, number)
        return kept

    found = [Source(SHARE_GENERATED, asked(generated, range(first, first + made)))]
    for dataset, weight in zip(datasets, weights, strict=True):
        share = weight / total
        parts = asked(partial(excerpt, dataset), range(first, first + excerpts))
        found.append(Source(share * (1 - SHARE_GENERATED - SHARE_WHOLE), parts))
        found.append(Source(share * SHARE_WHOLE, asked(partial(resplit, dataset), range(WHOLE))))
    return [each for each in found if each.graphs]


class Questions:
    """A graph on the device, its held-out facts as questions, and all true answers to them."""

    def __init__(self, dataset: Dataset, device: torch.device | str, unlinked: bool = False) -> None:
        R, self.num_roles = dataset.num_relations, dataset.num_roles
        train, heldout = (
            tuple(torch.from_numpy(each).to(device) for each in both_edges(facts, R))
            for facts in (dataset.train, np.concatenate([dataset.valid, dataset.test]))
        )
        source, role, target = train
        self.links = Links(source, role, target, dataset.num_entities, self.num_roles)
        source, role, target = (torch.cat(each) for each in zip(train, heldout, strict=True))
        order = torch.argsort(source * self.num_roles + role)
        self.keys, self.answers = (source * self.num_roles + role)[order].contiguous(), target[order]
        self.entity, self.role, self.target = heldout
        if unlinked:
            self._only_unlinked()

    def _only_unlinked(self) -> None:
        pairs = (self.entity, self.target), (self.target, self.entity)
        linked = torch.cat([self.links.between(u, v)[0] for u, v in pairs])
        free = torch.bincount(linked, minlength=len(self.entity)) == 0
        if free.sum() >= 2 * FEWEST:
            self.entity, self.role, self.target = self.entity[free], self.role[free], self.target[free]

    def loss(self, network: Propagation, batch: int, rng: np.random.Generator) -> Float[Tensor, ""]:
        """−log p(answer) among all entities but the other true answers, of questions drawn at random."""
        drawn = torch.from_numpy(rng.integers(len(self.entity), size=batch)).to(self.entity.device)
        entity, role, target = self.entity[drawn], self.role[drawn], self.target[drawn]
        scores = network.scores(entity, role, self.links)  # (B, N)
        row, place = matches(self.keys, entity * self.num_roles + role)
        others = self.answers[place] != target[row]
        hidden = row[others], self.answers[place][others]
        return cross_entropy(scores.index_put(hidden, scores.new_tensor(-torch.inf)), target)


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Where pre-training stands, for bars and logs."""

    step: int
    share: float  # of the whole run, 0 to 1
    loss: float  # the mean since the last look
    questions_per_second: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Pretrained:
    network: Propagation  # with the averaged weights
    steps: int
    seconds: float
    stopped: str  # "done", "time" or "interrupted"


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """How long to train: so many steps or minutes, whichever are over first. The rate falls with what is over."""

    steps: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise ConfigError("expected a number of steps or of minutes")

    def over(self, step: int, seconds: float) -> float:
        """The share that is over, 0 to 1."""
        by_steps = 0.0 if self.steps is None else step / self.steps
        by_clock = 0.0 if self.minutes is None else seconds / (60 * self.minutes)
        return min(1.0, max(by_steps, by_clock))


def pretrain(
    network: Propagation,
    sources: Sequence[Source],
    budget: Budget,
    *,
    batch: int = BATCH,
    rate: float = RATE,
    seed: int = 0,
    progress: Callable[[Look], None] | None = None,
    checkpoint: Callable[[State], None] | None = None,
    stop: Callable[[], bool] | None = None,
    resume: State | None = None,
) -> Pretrained:
    """Train `network` in place, and average its weights.

    `stop` is asked after each step; the state that `checkpoint` got last is what to `resume` from.
    """
    if not sources:
        raise DataError(f"no graph with at least {FEWEST} facts to ask about")
    run = _Run(network, sources, batch, rate, seed, resume)
    saved, stopped = time.perf_counter(), ""
    while not stopped:
        run.step(budget.over(run.state.step, run.seconds))
        over = budget.over(run.state.step, run.seconds)
        if stop is not None and stop():
            stopped = "interrupted"
        elif over >= 1:
            stopped = "done" if run.state.step == budget.steps else "time"
        if run.state.step % LOOK_EVERY == 0 or stopped:
            look = run.look(over)
            if progress is not None:
                progress(look)
        if checkpoint is not None and (stopped or time.perf_counter() - saved > CHECKPOINT_SECONDS):
            saved = time.perf_counter()
            save_state(checkpoint, run.captured(), is_all_there_is=stopped == "interrupted")
    return Pretrained(network=run.average, steps=run.state.step, seconds=run.seconds, stopped=stopped)


class _Run:
    """A network, the average of its weights, an optimizer, and the state that a checkpoint keeps of them."""

    def __init__(
        self, network: Propagation, sources: Sequence[Source], batch: int, rate: float, seed: int, resume: State | None
    ) -> None:
        self.network, self.sources, self.batch, self.rate, self.seed = network, sources, batch, rate, seed
        shares = np.array([source.share for source in sources])
        self.shares = shares / shares.sum()
        self.average = copy.deepcopy(network).eval()
        self.parameters, self.averages = list(network.parameters()), list(self.average.parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, rate, weight_decay=WEIGHT_DECAY)
        self.state = State() if resume is None else resume
        if resume is not None:
            if resume.best_weights is None:
                raise CheckpointError("the state of the run lacks the average of its weights")
            resume.restore(network, self.optimizer)
            self.average.load_state_dict(resume.best_weights)
        self.prepared: dict[tuple[int, int], Questions] = {}
        self.losses: list[Tensor] = []
        self.looked = time.perf_counter()
        self.started = self.looked - self.state.seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def step(self, over: float) -> None:
        """Ask about one graph, step down the gradient of the loss, and let the average follow."""
        step, rng = self.state.step, np.random.default_rng((self.seed, self.state.step))
        questions = self._questions(rng)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(1, (step + 1) / WARMUP) * (0.505 + 0.495 * math.cos(math.pi * over))
        loss = questions.loss(self.network.train(), self.batch, rng)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.parameters, MOST_GRADIENT)
        self.optimizer.step()
        with torch.no_grad():
            left = min(AVERAGED, (step + 2) / (step + 11))  # the first steps are soon forgotten
            for kept, now in zip(self.averages, self.parameters, strict=True):
                kept.lerp_(now, 1 - left)
        self.losses.append(loss.detach())
        self.state.step += 1

    def _questions(self, rng: np.random.Generator) -> Questions:
        """Those about a graph that is drawn by its share; whether only unlinked ones is drawn once for each graph."""
        chosen = int(rng.choice(len(self.sources), p=self.shares))
        place = int(rng.integers(len(self.sources[chosen].graphs)))
        if (chosen, place) not in self.prepared:
            unlinked = bool(np.random.default_rng((self.seed, chosen, place)).random() < SHARE_UNLINKED)
            graph = self.sources[chosen].graphs[place]
            self.prepared[chosen, place] = Questions(graph, self.network.device, unlinked)
        return self.prepared[chosen, place]

    def look(self, over: float) -> Look:
        """The loss as a number, and an error if it is none."""
        self.state.loss, now = float(torch.stack(self.losses).mean()), time.perf_counter()
        if not math.isfinite(self.state.loss):
            problem = f"the loss is {self.state.loss} after {self.state.step} steps"
            raise NonFiniteError(problem, found=self.state.loss)
        speed = len(self.losses) * self.batch / max(1e-9, now - self.looked)
        self.looked, self.losses = now, []
        return Look(
            step=self.state.step, share=over, loss=self.state.loss, questions_per_second=speed, seconds=self.seconds
        )

    def captured(self) -> State:
        """All that is needed to go on; the best weights of the state are the average."""
        self.state.seconds = self.seconds
        self.state.best_weights = {name: value.detach().clone() for name, value in self.average.state_dict().items()}
        return self.state.captured(self.network, self.optimizer)
