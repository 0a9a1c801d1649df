"""A network and what counting says, as one score.

A network that was trained on other graphs knows how facts go together in general, one that was trained for a short time
knows some of this graph, and counting knows what this graph says plainly: of the entities with filler f in role c, how
many have x in role q? A score is a sum of what speaks for an answer, each times a weight (`Weights`):

    log p                 of the network, among the answers that are not stored and not below FLOOR
    log(best + LEAST)     the greater of the two counts, that of the entity's premises and that of the candidate's
    log(own/LEAST + 1)    the count by the entity's premises
    log(other/LEAST + 1)  the count by the candidate's premises
    log(times + ½)        how many facts have the candidate at this end of the relation

`hmem.evaluation.weighing` finds the weights. With 1, 1, 0, 0, 0 (`USUAL`) the network and counting are two experts who
do not know of each other. Where counting has nothing to say all candidates have LEAST, and the network decides alone.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.evaluation.counted import best_of, counts_of_ends, times_of
from hmem.evaluation.evaluate import Scorer
from hmem.graph.confidences import Confidences
from hmem.graph.neighborhoods import Neighborhoods

LEAST = 0.05  # added to every count
FLOOR = -12.0  # of log p, softly: the network does not tell how unlikely the unlikely is
BELOW = 1e-3  # of log p is taken as it is, so that what is below the floor keeps its order

NOTHING = np.empty(0, dtype=np.int64)


class Weights(NamedTuple):
    """What each thing that speaks for an answer is worth."""

    network: float = 1.0
    best: float = 1.0
    own: float = 0.0
    other: float = 0.0
    times: float = 0.0


USUAL = Weights()  # which suit most graphs
ALONE = Weights(best=0.0)  # the network without counting, whose scores stay what they are


def weights_of(counting: float | Sequence[float] | None) -> Weights:
    """The weights that the setting `training.counting` says; a single number is what the greater count is worth."""
    if isinstance(counting, Sequence):
        return Weights(*counting)
    return Weights(best=counting or 0.0)


class Joined:
    """A network on a graph and what counting says there, as evaluation asks them.

    What the network said is kept, if that is wanted, so that questions can be asked again with other weights.
    """

    def __init__(
        self,
        model: Scorer,
        graph: Neighborhoods,
        weights: Weights = USUAL,
        never: Int[np.ndarray, " n"] = NOTHING,
        *,
        keeps: bool = False,
        itself: bool = True,
    ) -> None:
        """Some entities are `never` answers; the asked one is, unless some fact of the relation has it at both ends."""
        self.model, self.graph, self.weights = model, graph, weights
        self._never, self._itself, self._keeps = never, itself, keeps
        self._said: dict[tuple[int, int], Float[Tensor, " E"]] = {}

    @property
    def device(self) -> torch.device:
        return self.model.device

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        rows = self._network(entities, roles)
        for row, entity, role in zip(rows, entities.tolist(), roles.tolist(), strict=True):
            add_counts(row, self.graph, entity, role, self.weights)
        return rows

    def by_network(self, entity: int, role: int) -> Float[Tensor, " E"]:
        """The scores of the network; −∞ for what is no answer."""
        return self._network(*(torch.tensor([each], device=self.device) for each in (entity, role)))[0]

    def _network(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        pairs = list(zip(entities.tolist(), roles.tolist(), strict=True))
        if pairs and all(pair in self._said for pair in pairs):
            return torch.stack([self._said[pair] for pair in pairs])
        rows = self.model.score(entities, roles).clone()
        for row, (entity, role) in zip(rows, pairs, strict=True):
            if not self._itself and not self._loops[role % self.graph.num_relations]:
                row[entity] = -torch.inf
        rows[:, torch.from_numpy(self._never).to(rows.device)] = -torch.inf
        if self._keeps:
            self._said |= dict(zip(pairs, rows.clone(), strict=True))
        return rows

    @cached_property
    def _loops(self) -> Int[np.ndarray, " R"]:
        """How many facts of each relation have the same entity at both ends."""
        facts = self.graph.to_triples()
        return np.bincount(facts[facts[:, 0] == facts[:, 2], 1], minlength=self.graph.num_relations)


def add_counts(
    row: Float[Tensor, " W"],
    graph: Neighborhoods,
    entity: int,
    role: int,
    weights: Weights,
    sure: Confidences | None = None,
) -> None:
    """Make scores of a question of the network's, in place; a candidate that it does not reach stays at −∞."""
    if weights == ALONE:
        return
    scores = row.cpu().numpy()
    reached = np.flatnonzero(np.isfinite(scores))
    if len(reached):
        parts = evidence(graph, entity, role, scores, reached, sure)
        total = sum(weight * part for weight, part in zip(weights, parts, strict=True) if weight)
        row[torch.from_numpy(reached).to(row.device)] = torch.from_numpy(np.asarray(total)).to(row)


def evidence(
    graph: Neighborhoods,
    entity: int,
    role: int,
    scores: Float[np.ndarray, " W"],
    candidates: Int[np.ndarray, " n"],
    sure: Confidences | None = None,
) -> Iterator[Float[np.ndarray, " n"]]:
    """What speaks for candidates, in the order of the `Weights`, given the network's scores of all entities."""
    rivals = scores.copy()
    stored = graph.answers(entity, role)
    rivals[stored[stored < len(rivals)]] = -np.inf
    total = np.logaddexp.reduce(rivals) if np.isfinite(rivals).any() else np.logaddexp.reduce(scores)
    log_p = scores[candidates] - total
    yield np.logaddexp(log_p, np.float32(FLOOR)) + np.float32(BELOW) * log_p
    own, other = (each[candidates] for each in counts_of_ends(graph, entity, role, len(scores), sure))
    yield np.log(best_of(own, other) + np.float32(LEAST))
    yield np.log1p(own / np.float32(LEAST))
    yield np.log1p(other / np.float32(LEAST))
    yield np.log(times_of(graph, role, candidates, sure) + np.float32(0.5))
