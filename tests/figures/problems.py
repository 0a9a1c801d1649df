"""Models that the tests of figures compare."""

import torch

from hmem.config import MemoryConfig
from hmem.figures.compared_models import ComparedModel, compared_model
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.model.build import ModelScorer
from hmem.model.hmem import HMem


def random_model(dataset: Dataset, seed: int = 0, **settings: object) -> HMem:
    config = MemoryConfig(entity_dim=6, relation_dim=4, **settings)  # type: ignore[arg-type]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return HMem(config, dataset.num_entities, dataset.num_relations)


class Recorder:
    """A random model that keeps the graphs it was put on."""

    def __init__(self, dataset: Dataset) -> None:
        self.graphs: list[Neighborhoods] = []
        self._inner = compared_model("recorder", random_model(dataset))

    @property
    def model(self) -> ComparedModel:
        return ComparedModel("recorder", "explicit", self._on)

    def _on(self, graph: Neighborhoods) -> ModelScorer:
        self.graphs.append(graph)
        made = self._inner.on(graph)
        assert isinstance(made, ModelScorer)
        return made
