"""Who is compared in a figure, on whatever graph there is at the moment."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from hmem.evaluation.baselines import Rules
from hmem.evaluation.evaluate import Scorer
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.model.hmem import HMem, ModelScorer
from hmem.model.index import FrozenIndex

Kind = Literal["explicit", "implicit", "baseline"]


@dataclass(frozen=True)
class Contender:
    name: str
    kind: Kind
    on: Callable[[Neighborhoods], Scorer]  # the same model or rules, with the facts of another graph


def model_contender(name: str, model: HMem, device: torch.device | str = "cpu") -> Contender:
    """A trained model; nothing of it changes with the graph but the memories it assembles."""
    return Contender(name, model.config.kind, lambda graph: ModelScorer(model, FrozenIndex(graph, device)))


def rules_contender(dataset: Dataset) -> Contender:
    """The rules of the training facts, mined once, applied to the facts of each graph."""
    training = Neighborhoods.build(dataset.train, dataset.num_entities, dataset.num_relations)
    mined = Rules(training, training)

    def on(graph: Neighborhoods) -> Scorer:
        applied = copy.copy(mined)
        applied.graph = graph
        return applied

    return Contender("rules", "baseline", on)
