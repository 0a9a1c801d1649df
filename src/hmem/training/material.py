"""What every process of a training needs: the first makes it, and shares it with the others."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hmem.config import Config
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples
from hmem.model.build import Network
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.propagation import Propagation
from hmem.training.propagation import Concealed
from hmem.training.start import new_model, start_from_rules
from hmem.training.state import State

VECTORS = "embeddings.entity"


@dataclass(kw_only=True)
class Material:
    config: Config
    facts: Int[Tensor, "F 3"]
    graph: FrozenIndex
    num_entities: int
    model: Network  # with its first weights; without vectors of entities where those are apart
    state: State  # of a run that is resumed, its weights and moments

    def prepared(self, device: torch.device) -> "Material":
        """The same, with what every step on a CPU asks of the graph computed, so that it is shared too."""
        if device.type != "cpu":
            return self
        if isinstance(self.model, Propagation):
            links = Concealed.of(self.graph).links
            for each in (links, links.meetings) if self.model.computed is not None else (links,):
                each.bindings  # noqa: B018
        elif self.model.paths is not None:
            self.graph.keys  # noqa: B018
        return self


def material_of(
    config: Config,
    triples: Triples,
    num_entities: int,
    num_relations: int,
    device: torch.device,
    resume: State | None = None,
) -> Material:
    """What the steps of a run need."""
    neighborhoods = Neighborhoods.build(triples, num_entities, num_relations)
    graph = FrozenIndex(neighborhoods, device)
    facts = torch.from_numpy(triples.astype(np.int64))
    is_split = config.training.candidates is not None
    model = new_model(config, 0 if is_split else num_entities, num_relations).to(device)
    if isinstance(model, HMem):
        if is_split:
            without_vectors(model)
        else:
            model.is_trained.copy_(torch.from_numpy(np.diff(neighborhoods.offsets) > 0))
        if resume is None:
            start_from_rules(model, neighborhoods, config.training.seed)
    state = State()
    if resume is not None:
        state = State(weights=resume.weights, moments=resume.moments, tables=resume.tables)
        state = state_apart(state) if is_split else state
    return Material(config=config, facts=facts, graph=graph, num_entities=num_entities, model=model, state=state)


def without_vectors(model: HMem) -> None:
    """Take the vectors of entities out of the parameters of a model: it has those that are put there."""
    entity, is_trained = model.embeddings.entity, model.is_trained
    del model.embeddings.entity, model.is_trained
    model.embeddings.entity, model.is_trained = entity.detach(), is_trained


def state_apart(state: State) -> State:
    """The state with the vectors of entities as a table: those of a model that training begins with are weights."""
    weights, tables = dict(state.weights), dict(state.tables)
    if VECTORS in weights:
        tables["rows"] = weights.pop(VECTORS)
        del weights["is_trained"]
    return State(weights=weights, moments=state.moments, tables=tables)
