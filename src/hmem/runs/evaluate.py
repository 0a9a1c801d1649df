"""`hmem.evaluate`: rank the facts of a split with a trained model, or with anything that scores candidates."""

import os
from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.errors import ConfigError, DataError, Hint
from hmem.evaluation.evaluate import Scorer
from hmem.evaluation.joined import ALONE, Joined, weights_of
from hmem.evaluation.protocol import PROTOCOLS, Protocol
from hmem.evaluation.queries import queries_of
from hmem.evaluation.report import Report, report
from hmem.graph.dataset import Dataset, GraphName, Split
from hmem.graph.registry import load_dataset
from hmem.model.build import ModelScorer
from hmem.model.checkpoint import Model
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.placing import place_all
from hmem.model.propagation import Propagation
from hmem.model.renumber import renumber

AT_ONCE = 16  # questions between two looks at the progress


def evaluate(
    model: Model | Scorer,
    data: object,
    *,
    split: Split = "test",
    graph: GraphName = "train",
    protocols: Sequence[Protocol] = PROTOCOLS,
    name: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """MR, MRR and Hits, filtered, ties shared: every fact of the split is asked for from both ends.

    The dataset may have entities that the model was not trained with. `graph` says which facts memories are made of,
    `name` how the report calls the model. `progress` gets how many of how many questions are answered, of a model that
    passes messages: each is a pass over the graph, which takes a CPU some time.
    """
    if split not in get_args(Split):
        raise ConfigError(f'split is "train", "valid" or "test", not "{split}"', option="split", found=split)
    for protocol in set(protocols) - set(PROTOCOLS):
        raise ConfigError(f'protocols are "all" and "typed", not "{protocol}"', option="protocols", found=protocols)
    if isinstance(model, str | os.PathLike):
        hint = Hint(text="load it first", call=f"hmem.load({str(model)!r})")
        raise ConfigError(f"expected a model or a scorer, found a {type(model).__name__}", hint=hint)
    dataset = data if isinstance(data, Dataset) else load_dataset(data)
    if not isinstance(model, Model):
        name = name or type(model).__name__
        return report(model, dataset, model=name, split=split, graph=graph, protocols=protocols)
    scorer = scorer_of(model, dataset, graph)
    if progress is not None and isinstance(model.model, Propagation):
        asked = queries_of(dataset, split, graph)
        total = len(np.unique(asked.entities * dataset.num_roles + asked.roles))
        scorer = Watched(scorer, lambda done: progress(done, total))
    return report(
        scorer,
        dataset,
        model=name or model.preset,
        split=split,
        graph=graph,
        protocols=protocols,
        settings=model.settings,
        seed=model.config.training.seed,
        extra=model.metrics.get("training", {}),
    )


class Watched:
    """A scorer that tells how many questions it has answered."""

    def __init__(self, scorer: Scorer, progress: Callable[[int], object]) -> None:
        self.scorer, self.progress = scorer, progress
        self.done = 0

    @property
    def device(self) -> torch.device:
        return self.scorer.device

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        rows = []
        for some, theirs in zip(torch.split(entities, AT_ONCE), torch.split(roles, AT_ONCE), strict=True):
            rows.append(self.scorer.score(some, theirs))
            self.done += len(some)
            self.progress(self.done)
        return torch.cat(rows)


def scorer_of(model: Model, dataset: Dataset, graph: GraphName = "train") -> Scorer:
    """The model with the facts of a dataset in its memories, whether or not it was trained on this dataset.

    Counting is joined as the model's settings say.
    """
    network = _network_on(model, dataset, graph)
    weights = weights_of(model.config.training.counting)
    return network if weights == ALONE else Joined(network, dataset.inference_graph(graph), weights)


def _network_on(model: Model, dataset: Dataset, graph: GraphName) -> ModelScorer:
    index = FrozenIndex(dataset.inference_graph(graph), model.model.device)
    if dataset.vocab == model.vocab:
        return ModelScorer(model.model, index)
    untrained = [name for name in dataset.vocab.relations if name not in model.vocab.relations]
    if untrained and not model.model.takes_new_relations:
        raise DataError(
            f'{dataset.name} has relations that the model was not trained with, such as "{untrained[0]}"; '
            f"a model of {model.dataset} can meet new entities, but not new relations"
        )
    if model.model.is_implicit:
        raise DataError(
            f"{dataset.name} has entities that the model was not trained with, and its memories are implicit: there "
            "are none for other entities; train an explicit one"
        )
    renumbered = renumber(model.model, model.vocab, dataset.vocab)
    vectors = place_all(renumbered, index) if isinstance(renumbered, HMem) else None
    return ModelScorer(renumbered, index, vectors)


def count_unseen(model: Model, dataset: Dataset) -> int:
    """How many entities of a dataset the model was not trained with."""
    is_trained = model.model.is_trained.tolist()
    ids = (model.vocab.entities.get(name) for name in dataset.vocab.entities)
    return sum(each is None or not is_trained[each] for each in ids)
