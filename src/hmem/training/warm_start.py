"""Going on from an earlier model: what it learned about the same names is kept, wherever they stand now.

A graph that has grown has more entities, perhaps more relations, and other numbers for all of them. Every tensor of a
model is copied row by row, by name. Entities that came later start where their facts place them (`model.placing`), and
relations that came later where counting puts them, as in any new model.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hmem.config import Config, MemoryConfig
from hmem.graph.names import Names, Vocabulary
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex
from hmem.model.placing import place
from hmem.training.loop import new_model, start_from_rules
from hmem.training.state import State

BATCH = 1_000  # newcomers placed at a time


def warm_start(config: Config, before: HMem, names_before: Vocabulary, vocab: Vocabulary, triples: Triples) -> State:
    """The state in which training of a model of `triples` begins, with what `before` knows in it.

    The settings of the memory must be those of `before`: vectors of another size say nothing.
    """
    assert config.memory == before.config, "only training may be set otherwise"
    graph = Neighborhoods.build(triples, len(vocab.entities), len(vocab.relations))
    model = new_model(config, len(vocab.entities), len(vocab.relations))
    start_from_rules(model, graph, config.training.seed)
    entities = _matched(vocab.entities, names_before.entities)
    entities = entities[:, before.is_known.cpu()[entities[1]]]  # what was never trained has nothing to hand on
    roles = _as_roles(_matched(vocab.relations, names_before.relations), model, before)
    with torch.no_grad():
        _copy(model, before, entities, roles)
        model.is_known.copy_(torch.from_numpy(np.diff(graph.offsets) > 0))
        _place_newcomers(model, FrozenIndex(graph), entities[0])
    return State(weights={name: value.detach().clone() for name, value in model.state_dict().items()})


def _matched(now: Names, before: Names) -> Int[Tensor, "2 n"]:
    """The numbers, now and before, of the names that were there before."""
    pairs = [(number, before.get(name)) for number, name in enumerate(now)]
    return torch.tensor([pair for pair in pairs if pair[1] is not None], dtype=torch.int64).reshape(-1, 2).mT


def _as_roles(relations: Int[Tensor, "2 n"], model: HMem, before: HMem) -> Int[Tensor, "2 m"]:
    """The same for roles, of which each relation has two."""
    shift = torch.tensor([[model.num_relations], [before.num_relations]])
    return torch.cat([relations, relations + shift], dim=1)


def _copy(model: HMem, before: HMem, entities: Int[Tensor, "2 n"], roles: Int[Tensor, "2 m"]) -> None:
    theirs, ours = before.state_dict(), model.state_dict()  # the latter are the model's own tensors
    pairs = {"entity": entities, "role": roles}
    for name, axes in _axes(model.config):
        moving = [(axis, pairs[kind]) for axis, kind in enumerate(axes) if kind is not None]
        _put(ours[name], theirs[name].cpu(), moving)
    if model.paths is not None:
        _renumber_paths(model, before, roles)


def _put(ours: Tensor, theirs: Tensor, moving: list[tuple[int, Int[Tensor, "2 _"]]]) -> None:
    """Copy the rows that both have, along each moving axis."""
    if not moving:
        ours.copy_(theirs)
        return
    (axis, (now, then)), *rest = moving
    rows = ours.index_select(axis, now)
    _put(rows, theirs.index_select(axis, then), rest)
    ours.index_copy_(axis, now, rows)


def _axes(config: MemoryConfig) -> Iterator[tuple[str, list[str | None]]]:
    """For each tensor of a model, which of its axes are numbered by entity or by role: those that grow with them."""

    def shapes(entities: int, relations: int) -> dict[str, torch.Size]:
        with torch.device("meta"):
            return {name: value.shape for name, value in HMem(config, entities, relations).state_dict().items()}

    small, more_entities, more_relations = shapes(3, 2), shapes(4, 2), shapes(3, 3)
    for name, shape in small.items():
        kinds: list[str | None] = []
        for size, with_entity, with_relation in zip(shape, more_entities[name], more_relations[name], strict=True):
            assert (with_entity - size, with_relation - size) in ((0, 0), (1, 0), (0, 2)), f"{name} grows unexpectedly"
            kinds.append("entity" if with_entity > size else "role" if with_relation > size else None)
        yield name, kinds


def _renumber_paths(model: HMem, before: HMem, roles: Int[Tensor, "2 m"]) -> None:
    """The rows just copied list paths by old roles: renumber them, drop what is gone, sort them as `follow` wants."""
    channel, rows = model.paths, roles[0]
    assert channel is not None
    now = torch.full((2 * before.num_relations + 1,), -1)
    now[roles[1]] = roles[0]  # the last place, which the −1 of an empty place reads, stays −1
    old = channel.steps[rows]  # (m, K, L)
    steps = now[old]
    gone = ((steps < 0) & (old >= 0)).any(2) | (old[:, :, 0] < 0)  # (m, K)
    steps = steps.masked_fill(gone[:, :, None], -1)
    order = steps[:, :, 0].masked_fill(gone, 2 * model.num_relations).argsort(dim=1, stable=True)
    channel.steps[rows] = steps.gather(1, order[:, :, None].expand_as(steps))
    channel.affinity[rows] = channel.affinity[rows].gather(1, order)


def _place_newcomers(model: HMem, graph: FrozenIndex, trained: Int[Tensor, " n"]) -> None:
    """Start those who came later where their facts put them; whitened vectors are no parameters, and stay random."""
    if model.config.binding == "cconv":
        return
    is_trained = torch.zeros(model.num_entities, dtype=torch.bool).index_fill(0, trained, True)
    vectors = model.embeddings()
    newcomers = (~is_trained).nonzero().squeeze(1)
    for start in range(0, len(newcomers), BATCH):
        some = newcomers[start : start + BATCH]
        edges = graph.lookup(some)
        edges = edges.select(is_trained.index_select(0, edges.fillers))
        found = edges.degree > 0
        model.embeddings.entity[some[found]] = place(model, edges, vectors)[found]
