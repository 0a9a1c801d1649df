"""A model of either family: made from its settings, and asked on a graph."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.config import Config
from hmem.model.hmem import HMem
from hmem.model.index import Index
from hmem.model.propagation import Propagation
from hmem.model.query import Query
from hmem.model.vectors import Vectors

Network = HMem | Propagation


def build(config: Config, num_entities: int, num_relations: int) -> Network:
    """A model with random weights for a graph of this size."""
    if config.propagation is not None:
        return Propagation(config.propagation, num_entities, num_relations)
    return HMem(config.memory, num_entities, num_relations)


def sizes(config: Config, num_entities: int, num_relations: int) -> dict[str, torch.Tensor]:
    """The tensors of such a model, without their numbers: it takes no memory, whatever the settings say."""
    with torch.device("meta"):
        return build(config, num_entities, num_relations).state_dict()


class ModelScorer:
    """A model on a graph, as evaluation asks it."""

    def __init__(self, model: Network, graph: Index, vectors: Vectors | None = None) -> None:
        self.model = model.eval()
        self.graph = graph
        with torch.inference_mode():
            self.vectors = vectors or (model.embeddings() if isinstance(model, HMem) else None)

    @property
    def device(self) -> torch.device:
        return self.model.device

    @torch.inference_mode()
    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        scores: Tensor = self.model(Query(entities, roles), self.graph, self.vectors)
        return scores

    @torch.inference_mode()
    def log_alone(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"] | None:
        """What calibration counts by, where it is not the scores' softmax; see `scoring.log_alone`."""
        if self.model.exact is None:
            return None
        return self.model.scores_and_log_alone(Query(entities, roles), self.graph, self.vectors)[1]
