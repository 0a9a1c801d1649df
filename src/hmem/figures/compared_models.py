"""The models that a figure compares, each on whatever graph is given."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch

from hmem.evaluation.baselines import Rules
from hmem.evaluation.evaluate import Scorer
from hmem.evaluation.protocol import Protocol
from hmem.figures.tables import TableRow
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.neighborhoods import Neighborhoods
from hmem.model.build import ModelScorer, Network
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex

Kind = Literal["explicit", "implicit", "propagation", "baseline"]
CURVE_COLUMNS = ("model", "kind", "protocol")  # that tell the curves of a table apart


@dataclass(frozen=True, kw_only=True)
class Curve:
    """What a figure shows of one model in one protocol."""

    name: str
    kind: Kind
    protocol: Protocol


@dataclass(frozen=True)
class ComparedModel:
    name: str
    kind: Kind
    on: Callable[[Neighborhoods], Scorer]  # the same model or rules, with the facts of another graph


def curve_columns(dataset: str, graph: GraphName, curve: "Curve") -> TableRow:
    """The columns that say which curve a row of a table belongs to."""
    return {"dataset": dataset, "graph": graph, "protocol": curve.protocol, "model": curve.name, "kind": curve.kind}


def curve_of(key: tuple[str | int | float, ...]) -> dict[str, Any]:
    """The fields of a curve, from its values in CURVE_COLUMNS."""
    return dict(zip(("name", "kind", "protocol"), key, strict=True))


def compared_model(name: str, model: Network, device: torch.device | str = "cpu") -> ComparedModel:
    """A trained model; nothing of it changes with the graph but the memories it assembles."""
    kind = model.config.kind if isinstance(model, HMem) else "propagation"
    return ComparedModel(name, kind, lambda graph: ModelScorer(model, FrozenIndex(graph, device)))


def compared_rules(dataset: Dataset) -> ComparedModel:
    """The rules of the training facts, mined once, applied to the facts of each graph."""
    training = dataset.graph_of(dataset.train)
    mined = Rules(training, training)

    def on(graph: Neighborhoods) -> Scorer:
        applied = copy.copy(mined)
        applied.graph = graph
        return applied

    return ComparedModel("rules", "baseline", on)
