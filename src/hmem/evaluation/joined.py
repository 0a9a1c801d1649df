"""A model and what counting says, as one: two experts who do not know of each other.

The score of an answer is that of the model + w · log(counts + LEAST), where counts are those of
`hmem.evaluation.baselines.Counts`. Where counting has nothing to say all candidates have LEAST, and the model decides
alone; with a large w counting decides, and the model where it has nothing to say. How much counting is worth on a graph
is chosen by its validation facts.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.evaluation.evaluate import Scorer, rank_queries, rows_per_chunk
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import Queries
from hmem.graph.dataset import Dataset

LEAST = 0.05  # added to every count
WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
FEWEST = 50  # questions by which a weight is chosen
GAIN = 0.01  # of the MRR, for which counting is worth its time, and explanations that are not those of the model alone
ERRORS = 2.0  # standard errors by which the gain is more than chance


class Joined:
    """A scorer that adds to one scorer what another one, which counts, makes of each answer."""

    def __init__(self, model: Scorer, counts: Scorer, weight: float) -> None:
        self.model, self.counts, self.weight = model, counts, weight

    @property
    def device(self) -> torch.device:
        return self.model.device

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        scores = self.model.score(entities, roles)
        if not self.weight:
            return scores
        counted = self.counts.score(entities.to(self.counts.device), roles.to(self.counts.device))
        return scores + self.weight * (counted + LEAST).log().to(scores)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How much counting is worth, and the MRR of the questions by which that was found."""

    weight: float
    joined: float
    model: float
    counts: float


def chosen_weight(model: Scorer, counts: Scorer, dataset: Dataset, queries: Queries) -> Choice:
    """The least weight with the highest MRR, but for one standard error.

    It is 0 unless that is better than the model alone by more than chance, and by GAIN.
    """
    filtered, candidates = dataset.filter_graph(), [Candidates("all", dataset)]
    kept_model, kept_counts = _Kept(model), _Kept(counts)
    scorers: list[Scorer] = [kept_model, kept_counts, *(Joined(kept_model, kept_counts, weight) for weight in WEIGHTS)]
    reciprocal = np.empty((len(scorers), len(queries)))
    at_once = rows_per_chunk(model, dataset.num_entities)
    order = np.lexsort((queries.entities, queries.roles))  # equal questions beside each other
    for low in range(0, len(queries), at_once):
        rows = order[low : low + at_once]
        for place, scorer in enumerate(scorers):
            ranks = rank_queries(scorer, queries.select(rows), filtered, candidates)["all"]
            reciprocal[place, rows] = 1 / ranks.realistic
    alone, by_counts, *joined = reciprocal.mean(1).tolist()
    behind = reciprocal[2 + int(np.argmax(joined))] - reciprocal[2:]
    best = int(np.argmax(behind.mean(1) <= _error(behind)))
    gain = reciprocal[[2 + best]] - reciprocal[0]
    pays = len(queries) >= FEWEST and gain.mean() >= max(GAIN, ERRORS * _error(gain)[0])
    return Choice(weight=WEIGHTS[best] if pays else 0.0, joined=joined[best], model=alone, counts=by_counts)


def _error(values: Float[np.ndarray, "rows n"]) -> Float[np.ndarray, " rows"]:
    """The standard errors of means."""
    errors: Float[np.ndarray, " rows"] = values.std(1) / np.sqrt(values.shape[1])
    return errors


class _Kept:
    """A scorer that remembers what it was asked last."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.asked: tuple[Tensor, Tensor] | None = None

    @property
    def device(self) -> torch.device:
        return self.scorer.device

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        asked = entities.cpu(), roles.cpu()
        if self.asked is None or not all(map(torch.equal, self.asked, asked)):
            self.found = self.scorer.score(entities, roles)
            self.asked = asked
        return self.found
