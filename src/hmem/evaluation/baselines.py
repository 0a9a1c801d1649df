"""What any model has to beat: rules, frequency and random scores. None of them learns; all take seconds on a CPU."""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import ConfigError
from hmem.evaluation.evaluate import Scorer
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.rules import mine

CPU = torch.device("cpu")


class Rules:
    """Length-1 rules: if x stands in role c of an entity, it also stands in role q, with confidence

        conf(c ⇒ q) = #{(e, x): x in roles c and q of e} / #{(e, x): x in role c of e}

    A candidate's score is the confidence of the best rule that proposes it, or the noisy-or of all of them. "The
    inverse fact is already there" is such a rule, and on WN18 and FB15K it is most of the game.

    Rules are mined from `training` and applied to the edges of `graph`.
    """

    device = CPU

    def __init__(
        self, training: Neighborhoods, graph: Neighborhoods, combine: Literal["max", "noisy-or"] = "max"
    ) -> None:
        self.graph = graph
        self.combine = combine
        self.keys, self.confidence = mine(training)

    def __len__(self) -> int:
        return len(self.keys)

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        edges = self.graph.lookup(entities.numpy())
        wanted = edges.roles.astype(np.int64) * self.graph.num_roles + roles.numpy()[edges.owner]
        place = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        fires = self.keys[place] == wanted if len(self.keys) else np.zeros(len(wanted), dtype=bool)
        confidence = torch.from_numpy(self.confidence[place[fires]])
        cell = torch.from_numpy(edges.owner[fires] * self.graph.num_entities + edges.fillers[fires])
        scores = torch.zeros(len(entities) * self.graph.num_entities)
        if self.combine == "max":
            scores.scatter_reduce_(0, cell, confidence, "amax")
        else:
            scores.index_add_(0, cell, -torch.log1p(-confidence.clamp(max=1 - 1e-7)))
            scores = 1 - torch.exp(-scores)
        return scores.view(len(entities), self.graph.num_entities)


class Frequency:
    """How often an entity stands in the asked role, whichever entity is asked about."""

    device = CPU

    def __init__(self, graph: Neighborhoods) -> None:
        self._fillers = [torch.from_numpy(fillers) for fillers in graph.fillers_by_role()]
        self._num_entities = graph.num_entities

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        asked, row = torch.unique(roles, return_inverse=True)
        counts = torch.zeros(len(asked), self._num_entities)
        for position, role in enumerate(asked.tolist()):
            counts[position] = torch.bincount(self._fillers[role], minlength=self._num_entities)
        return counts[row]


class RandomScores:
    """Uniform random scores, the same for the same query whatever is asked beside it."""

    device = CPU

    def __init__(self, num_entities: int, seed: int = 0) -> None:
        self.num_entities = num_entities
        self.seed = seed

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        rows = [
            np.random.default_rng((self.seed, entity, role)).random(self.num_entities, dtype=np.float32)
            for entity, role in zip(entities.tolist(), roles.tolist(), strict=True)
        ]
        return torch.from_numpy(np.stack(rows))


def make_baseline(name: str, dataset: Dataset, graph: GraphName, seed: int = 0) -> Scorer:
    """The baseline as the command line and the tables call it. Rules are mined from the training facts alone: the
    observed and validation facts of `graph` are premises, never statistics."""
    inference = dataset.inference_graph(graph)
    match name:
        case "rules" | "rules (noisy-or)":
            return Rules(dataset.graph_of(dataset.train), inference, "max" if name == "rules" else "noisy-or")
        case "frequency":
            return Frequency(inference)
        case "random":
            return RandomScores(dataset.num_entities, seed)
        case _:
            names = "there are rules, rules (noisy-or), frequency, random"
            raise ConfigError(f'no baseline "{name}"', option="name", found=name, hint=names)
