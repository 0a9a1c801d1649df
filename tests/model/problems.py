"""Small graphs and models that the model, training and evaluation tests share, and the slow version of a model."""

import math
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from hmem.config import MARGIN, Config, MemoryConfig, from_dict, merge
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples, as_triples
from hmem.memory.completion import Completion
from hmem.memory.exact import ExactChannel
from hmem.model.build import Network
from hmem.model.explicit import ExplicitMemory
from hmem.model.hmem import HMem
from hmem.model.implicit import ImplicitMemory
from hmem.model.index import FrozenIndex
from hmem.model.paths import PathChannel
from hmem.model.presets import PRESETS, preset
from hmem.model.query import Query
from tests import oracles
from tests.laws import examples
from tests.oracles_graph import Fact, SetGraph

LAW = examples(5)
SEEDS = st.integers(0, 2**32 - 1)
ENTITIES, RELATIONS, FACTS = 9, 3, 25
MEMORIES = [name for name, each in PRESETS.items() if "memory" in each]  # the presets that are no propagation
EXPLICIT = [name for name in MEMORIES if PRESETS[name]["memory"].get("kind") != "implicit"]
COMPLETED = [name for name in EXPLICIT if PRESETS[name]["memory"]["stiffness"] < math.inf]


def small(name: str, memory: dict[str, Any] | None = None, training: dict[str, Any] | None = None) -> Config:
    """A preset in dimensions that a test can afford, changed where the caller says so; trained and then left alone."""
    settings = preset(name)
    if "propagation" in settings:
        shrunk = {"propagation": {"dim": 6, "steps": 3}, "training": {"epochs": 2, "validate_every": 1}}
        return from_dict(Config, merge(settings, shrunk, {"training": training or {}}))
    wide = settings["memory"]["binding"] != "tpr"
    shrunk = {"memory": {"entity_dim": 6, "relation_dim": 6 if wide else 4}, "training": {"fit_absence": False}}
    return from_dict(Config, merge(settings, shrunk, {"memory": memory or {}, "training": training or {}}))


def memory_of(network: Network) -> HMem:
    """The network, which the caller knows to be one with memories."""
    assert isinstance(network, HMem)
    return network


def random_facts(seed: int, entities: int = ENTITIES, relations: int = RELATIONS, facts: int = FACTS) -> list[Fact]:
    """Hubs, several facts about one pair, at least two about an entity and itself, and an entity without any."""
    rng = np.random.default_rng(seed)
    drawn = np.stack(
        [
            rng.integers(entities - 1, size=facts) // rng.integers(1, 3, size=facts),
            rng.integers(relations, size=facts),
            rng.integers(entities - 1, size=facts),
        ],
        axis=1,
    )
    loops = [(0, 0, 0), (entities - 2, relations - 1, entities - 2)]
    return sorted({(int(h), int(r), int(t)) for h, r, t in drawn.tolist()} | set(loops))


def triples_of(facts: list[Fact]) -> Triples:
    return as_triples(facts)


def neighborhoods_of(facts: list[Fact], entities: int = ENTITIES, relations: int = RELATIONS) -> Neighborhoods:
    return Neighborhoods.build(as_triples(facts), entities, relations)


def index_of(facts: list[Fact], entities: int = ENTITIES, relations: int = RELATIONS) -> FrozenIndex:
    return FrozenIndex(neighborhoods_of(facts, entities, relations))


def random_model(config: MemoryConfig, seed: int, entities: int = ENTITIES, relations: int = RELATIONS) -> HMem:
    """In float64, with nothing left at the zeros that training starts from, and solved to the last digits."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = HMem(config, entities, relations).double()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
            if model.paths is not None:
                _draw_paths(model.paths, relations)
    if isinstance(model.completion, Completion):
        model.completion.tolerance = 1e-12
    return model.eval()


def _draw_paths(channel: PathChannel, relations: int) -> None:
    """Random rules in the order that mining gives them, some shorter than others, with empty places last."""
    _, per_role, length = channel.steps.shape
    for role in range(2 * relations):
        drawn = {tuple(row) for row in torch.randint(2 * relations, (per_role - 1, length)).tolist()}
        if length > 2:
            some = {position: 2 + position // 2 % (length - 2) for position in range(1, per_role, 2)}
            cut = (row[: some.get(position, length)] for position, row in enumerate(sorted(drawn)))
            drawn = {(*row, *[-1] * (length - len(row))) for row in cut}
        channel.steps[role, : len(drawn)] = torch.tensor(sorted(drawn))


def ask(*questions: tuple[int, ...]) -> Query:
    """(entity, role), or (entity, role, target) for facts that are to be withheld."""
    return Query(*(torch.tensor(column) for column in zip(*questions, strict=True)))


def every_question(entities: int = ENTITIES, relations: int = RELATIONS) -> Query:
    return ask(*((entity, role) for entity in range(entities) for role in range(2 * relations)))


def both_ways(facts: list[Fact], relations: int = RELATIONS) -> list[tuple[int, int, int]]:
    """Each fact as training asks for it: (entity, role, target) from both of its ends."""
    tails = [(head, relation + relations, tail) for head, relation, tail in facts]
    return tails + [(tail, relation, head) for head, relation, tail in facts]


def stated_by(question: tuple[int, int, int], relations: int = RELATIONS) -> Fact:
    """The fact that answers the question."""
    entity, role, target = question
    return (entity, role - relations, target) if role >= relations else (target, role, entity)


# The model without batches, bags or short cuts


def looped_edges(
    model: HMem, facts: list[Fact], entity: int, role: int, target: int | None = None
) -> list[tuple[int, int]]:
    """(role, filler) of the edges that may be looked at."""
    kept = set(facts)
    if target is not None:
        kept -= {stated_by((entity, role, target), model.num_relations)}
    return [edge for edge in SetGraph(kept, model.num_relations).edges_of(entity) if edge[1] < model.num_entities]


def looped_identity(model: HMem, entity: int) -> Tensor:
    entities = _entities(model)
    is_new = entity >= model.num_entities or not bool(model.is_trained[entity])
    return entities.new_zeros(entities.shape[1]) if is_new or not model.config.identity else entities[entity]


def looped_weights(model: HMem, edges: list[tuple[int, int]], entity: int, role: int) -> Tensor:
    """The weight of each edge, 0 where the k strongest leave it out."""
    assert isinstance(model.memory, ExplicitMemory)
    vectors, weighting = model.embeddings(), model.memory.weighting
    if weighting is None:
        return torch.full((len(edges),), 1 / max(1, len(edges)), dtype=torch.float64)
    logits = [
        oracles.weight_logit(
            looped_identity(model, entity),
            vectors.roles[role],
            vectors.entities[filler],
            vectors.roles[other],
            weighting.score_matrix,
            weighting.score_bias[role],
        )
        + (weighting.role_bias[role, other] if weighting.role_bias is not None else 0)
        for other, filler in edges
    ]
    weights = torch.stack(logits).sigmoid() if logits else vectors.entities.new_zeros(0)
    if model.config.max_neighbors is None:
        return weights
    kept = oracles.strongest([0] * len(edges), weights.tolist(), model.config.max_neighbors)
    return weights * torch.tensor(kept, dtype=torch.bool)


def looped_memory(model: HMem, edges: list[tuple[int, int]], weights: Tensor) -> Tensor:
    vectors = model.embeddings()
    flat = [(0, role, filler) for role, filler in edges]
    return oracles.superpose_looped(model.config.binding, flat, weights, vectors.roles, vectors.entities, 1)[0]


def looped_completion(model: HMem, memory: Tensor, identity: Tensor) -> Tensor:
    layer, config = model.completion, model.config
    if not isinstance(layer, Completion):
        return memory
    weight = (layer.global_weight + layer.global_weight.T) / 2
    filter_vector = torch.ones_like(memory)
    if layer.filter_map is not None and layer.filter_bias is not None:
        filter_vector = layer.filter_map @ memory + layer.filter_bias
    one = torch.ones((), dtype=memory.dtype)
    norm = torch.linalg.matrix_norm(oracles.local_weight(filter_vector, weight, one))
    scale = torch.clamp((config.stiffness - MARGIN) / norm, max=1.0)
    local = oracles.local_weight(filter_vector, weight, scale)
    return oracles.complete(memory, local, layer.bias_map @ identity, config.stiffness)


def looped_retrieved(model: HMem, facts: list[Fact], entity: int, role: int, target: int | None = None) -> Tensor:
    """e_o, one line of the paper after the other."""
    edges = looped_edges(model, facts, entity, role, target)
    load: Tensor | float = 0.0
    if isinstance(model.memory, ImplicitMemory):
        memory = model.memory.state[entity]
    else:
        weights = looped_weights(model, edges, entity, role)
        memory, load = looped_memory(model, edges, weights), weights.sum()
    completed = looped_completion(model, memory, looped_identity(model, entity))
    unbound = oracles.unbind(model.config.binding, model.embeddings().roles[role], completed)
    if model.readout is None:
        return unbound
    read = unbound
    for share, one in zip(model.readout.mixture[role], model.readout.maps, strict=True):
        read = read + share * (unbound @ one)
    if model.readout.damping is not None:
        read = read / (1 + load) ** model.readout.damping[role]
    return read + model.readout.usual[role]


def looped_scores(model: HMem, facts: list[Fact], entity: int, role: int, target: int | None = None) -> Tensor:
    """The score of every entity; with the exact channel the logarithm of its probability.

    Answers that are stored already are no rivals: neither copied nor part of the dense channel's softmax.
    """
    retrieved = looped_retrieved(model, facts, entity, role, target)
    dense = torch.stack([-torch.exp(model.log_temperature) * (retrieved - x).square().sum() for x in _entities(model)])
    if model.own is not None and entity < len(dense):
        dense[entity] += model.own[role]
    if model.exact is None:
        return dense
    edges = looped_edges(model, facts, entity, role, target)
    given = SetGraph(facts, model.num_relations).answers(entity, role)
    stored = {answer for answer in given if answer != target and answer < model.num_entities}
    slots = [(model.exact.affinity[role, other], filler) for other, filler in edges if filler not in stored]
    mass, null = _looped_channel(model, model.exact, slots, retrieved, role)
    rivals = torch.stack([score.exp() for x, score in enumerate(dense) if x not in stored]).sum()
    rest = dense.exp() / rivals
    if model.paths is not None:
        ends = looped_paths(model, facts, edges, entity, role, target)
        own = 0 if model.own is None else model.own[role]
        slots = [
            (model.paths.affinity[role, column] + (own if nodes[-1] == entity else 0), nodes[-1])
            for column, nodes in ends
            if nodes[-1] not in stored
        ]
        second, second_null = _looped_channel(model, model.paths, slots, retrieved, role)
        rest = second + second_null * rest
    return torch.log(mass + null * rest)


def looped_paths(
    model: HMem, facts: list[Fact], edges: list[tuple[int, int]], entity: int, role: int, target: int | None = None
) -> list[tuple[int, list[int]]]:
    """(column of the rule, the entity that each step reaches) of every walk that may be taken along these edges."""
    assert model.paths is not None
    graph = SetGraph(facts, model.num_relations)
    asked = None if target is None else stated_by((entity, role, target), model.num_relations)

    def onwards(at: int, came_by: tuple[int, int, int], steps: list[int]) -> list[list[int]]:
        if not steps:
            return [[]]
        found = []
        for other, reached in graph.edges_of(at):
            allowed = stated_by((at, other, reached), model.num_relations) != asked and reached < model.num_entities
            undone = abs(other - came_by[1]) == model.num_relations and reached == came_by[0]
            if other == steps[0] and allowed and not undone:
                found += [[reached, *rest] for rest in onwards(reached, (at, other, reached), steps[1:])]
        return found

    return [
        (column, [neighbor, *nodes])
        for first, neighbor in edges
        for column, rule in enumerate(model.paths.steps[role].tolist())
        if rule[0] == first
        for nodes in onwards(neighbor, (entity, first, neighbor), [step for step in rule[1:] if step >= 0])
    ]


def _looped_channel(
    model: HMem, channel: ExactChannel | PathChannel, slots: list[tuple[Tensor, int]], retrieved: Tensor, role: int
) -> tuple[Tensor, Tensor]:
    """The probability on every entity, and that of the null slot."""
    mass = torch.zeros(len(_entities(model)), dtype=retrieved.dtype)
    trust = channel.liking.trust[role] * torch.exp(model.log_temperature)
    for affinity, filler in slots:
        vector = _entities(model)[filler]
        distance = (retrieved - vector).square().sum() - retrieved.square().sum()
        mass[filler] += torch.exp(affinity + channel.liking.taste[role] @ vector - trust * distance)
    null = torch.exp(channel.null[role])
    return mass / (null + mass.sum()), null / (null + mass.sum())


def _entities(model: HMem) -> Tensor:
    entities: Tensor = model.embeddings().entities
    return entities
