"""Going on from an earlier model: what it learned about the same names is kept, whatever their numbers are now.

Unseen entities start where their facts place them (`model.placing`), and new relations from counts, as in any new
model."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hmem.config import Config
from hmem.errors import ConfigError
from hmem.graph.names import Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples
from hmem.model.build import Network
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.placing import unseen_vectors
from hmem.model.renumber import take_over
from hmem.training.start import new_model, start_from_rules
from hmem.training.state import State


def warm_start(config: Config, before: Network, names_before: Vocabulary, vocab: Vocabulary, triples: Triples) -> State:
    """The state in which training of a model of `triples` begins, with what `before` learned in it.

    The settings of the model must be those of `before`: vectors of another size say nothing. Only role vectors may come
    from a table on top of what is computed, where they were computed alone.
    """
    model = new_model(config, len(vocab.entities), len(vocab.relations))
    if isinstance(model, HMem):
        if model.config != before.config:
            raise ConfigError("a model keeps its settings of [memory]; only training may be set otherwise")
        graph = Neighborhoods.build(triples, len(vocab.entities), len(vocab.relations))
        start_from_rules(model, graph, config.training.seed)
    trained = take_over(model, before, names_before, vocab)
    if isinstance(model, HMem):
        with torch.no_grad():
            model.is_trained.copy_(torch.from_numpy(np.diff(graph.offsets) > 0))
            _place_unseen(model, FrozenIndex(graph), trained)
    return State(weights={name: value.detach().clone() for name, value in model.state_dict().items()})


def _place_unseen(model: HMem, graph: FrozenIndex, trained: Int[Tensor, " n"]) -> None:
    """Start unseen entities where their facts place them; whitened vectors are no parameters, and stay random."""
    if model.config.binding == "cconv":
        return
    is_trained = torch.zeros(model.num_entities, dtype=torch.bool).index_fill(0, trained, True)
    for some, rows, _ in unseen_vectors(model, graph, is_trained, model.embeddings()):
        found = rows.any(1)  # not so for an entity whose neighbors and relations are all new
        model.embeddings.entity[some[found]] = rows[found]
