"""Pre-training of a network for any graph: on many small graphs, so that no graph of roles can be learned by heart.

Trained on a few whole graphs, the network keeps improving on them and soon gets worse on others. So most of what it is
asked about are excerpts of those graphs and graphs made from random rules. Their held-out
facts are asked, of graphs that are left as they are, as at inference: nothing has to be hidden, neither from the
degrees nor from the graph of roles. The result is a running average of the weights.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from hmem.errors import DataError
from hmem.graph.dataset import Dataset
from hmem.graph.excerpts import excerpt, resplit
from hmem.graph.generated import generated
from hmem.graph.triples import Triples
from hmem.memory.propagation import Links
from hmem.model.propagation import Propagation

SHARE_GENERATED, SHARE_WHOLE = 0.4, 0.1  # of the batches; the rest is about excerpts
SHARE_UNLINKED = 0.3  # of the graphs: only facts between entities without another link are asked
FEWEST = 32  # held-out facts of a graph that is asked about
SEEDS = 100_000  # more than there are graphs of a kind

WARMUP = 100  # steps
WEIGHT_DECAY = 1e-4
LARGEST_GRADIENT = 1.0
AVERAGED = 0.998  # what a step leaves of the average before it


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """Graphs of a kind, and how often one of them is asked about."""

    share: float
    graphs: Sequence[Dataset]


def mixture(
    datasets: Sequence[Dataset], weights: Sequence[float], *, excerpts: int = 300, made: int = 600, seed: int = 0
) -> list[Source]:
    """The graphs to train on; `weights` are those of the datasets, `made` is the number of graphs from random rules."""
    first, total = seed * SEEDS, sum(weights)
    found = [Source(SHARE_GENERATED, [generated(first + each) for each in range(made)])]
    for dataset, weight in zip(datasets, weights, strict=True):
        share = weight / total
        parts = [excerpt(dataset, first + each) for each in range(excerpts)]
        found.append(Source(share * (1 - SHARE_GENERATED - SHARE_WHOLE), parts))
        found.append(Source(share * SHARE_WHOLE, [resplit(dataset, each) for each in range(2)]))
    asked = [Source(each.share, [graph for graph in each.graphs if len(graph.valid) >= FEWEST]) for each in found]
    return [each for each in asked if each.graphs]


class Questions:
    """A graph on the device, its held-out facts as questions, and all true answers to them."""

    def __init__(self, dataset: Dataset, device: torch.device | str, unlinked: bool = False) -> None:
        R, self.num_roles = dataset.num_relations, dataset.num_roles
        train, heldout = (
            _edges(facts, R, device) for facts in (dataset.train, np.concatenate([dataset.valid, dataset.test]))
        )
        self.links = Links(*train, dataset.num_entities, self.num_roles)
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

    def loss(self, network: Propagation, batch: int) -> Float[Tensor, ""]:
        """−log p(answer) among all entities but the other true answers, of questions drawn at random."""
        drawn = torch.randint(len(self.entity), (batch,), device=self.entity.device)
        entity, role, target = self.entity[drawn], self.role[drawn], self.target[drawn]
        scores = network.scores(entity, role, self.links)  # (B, N)
        asked = entity * self.num_roles + role
        low = torch.searchsorted(self.keys, asked)
        counts = torch.searchsorted(self.keys, asked, right=True) - low
        row = torch.repeat_interleave(counts)
        place = torch.arange(len(row), device=row.device) + (low - (counts.cumsum(0) - counts))[row]
        others = self.answers[place] != target[row]
        hidden = row[others], self.answers[place][others]
        return cross_entropy(scores.index_put(hidden, scores.new_tensor(-torch.inf)), target)


def pretrain(
    network: Propagation,
    sources: Sequence[Source],
    *,
    steps: int,
    batch: int = 64,
    rate: float = 5e-4,
    seed: int = 0,
    after_step: Callable[[int, Float[Tensor, ""], Propagation], None] | None = None,
) -> Propagation:
    """The running average of `network`, which is trained in place; `after_step` gets its number, loss and average."""
    if not sources:
        raise DataError(f"no graph with at least {FEWEST} facts to ask about")
    device = next(network.parameters()).device
    torch.manual_seed(seed)
    rng, shares = np.random.default_rng(seed), np.array([source.share for source in sources])
    average = copy.deepcopy(network)
    parameters, averages = list(network.parameters()), list(average.parameters())
    optimizer = torch.optim.AdamW(parameters, rate, weight_decay=WEIGHT_DECAY)
    prepared: dict[tuple[int, int], Questions] = {}
    for step in range(steps):
        chosen = int(rng.choice(len(sources), p=shares / shares.sum()))
        place = int(rng.integers(len(sources[chosen].graphs)))
        if (chosen, place) not in prepared:
            unlinked = bool(rng.random() < SHARE_UNLINKED)
            prepared[chosen, place] = Questions(sources[chosen].graphs[place], device, unlinked)
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, (step + 1) / WARMUP) * (0.505 + 0.495 * math.cos(math.pi * step / steps))
        loss = prepared[chosen, place].loss(network.train(), batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, LARGEST_GRADIENT)
        optimizer.step()
        with torch.no_grad():
            left = min(AVERAGED, (step + 2) / (step + 11))  # the first steps are soon forgotten
            for kept, now in zip(averages, parameters, strict=True):
                kept.lerp_(now, 1 - left)
        if after_step is not None:
            after_step(step, loss.detach(), average)
    return average


def _edges(facts: Triples, num_relations: int, device: torch.device | str) -> tuple[Tensor, Tensor, Tensor]:
    """Both directions of each fact, as (source, role, target)."""
    head, relation, tail = torch.from_numpy(facts.astype(np.int64)).to(device).unbind(1)
    return torch.cat([head, tail]), torch.cat([relation + num_relations, relation]), torch.cat([tail, head])
