"""How strongly the facts of an entity stand in its memory when something is asked."""

import torch

from hmem.knowledge.session import Direction, Session
from hmem.knowledge.store.records import Names3
from hmem.model.explicit import ExplicitMemory
from hmem.model.index import LiveIndex
from hmem.model.query import Query
from hmem.serve.batching import check_entity, role_of


def memory_weights(now: Session, entity: str, relation: str, direction: Direction) -> dict[Names3, float]:
    """How strongly each fact of an entity stands in its memory when a question is asked; none for learned memories."""
    predictor = now.predictor
    number, role = check_entity(now, entity), role_of(now, relation, direction)
    memory = predictor.model.memory
    if not isinstance(memory, ExplicitMemory):
        return {}
    names, relations = now.live.entities.names, now.live.relations.names
    with torch.inference_mode():
        vectors = predictor.vectors.current()
        index = LiveIndex(now.live.graph, len(vectors.entities), predictor.model.device)
        query = Query(*(torch.tensor([value], device=index.device) for value in (number, role)))
        attended = memory.attend(query, index, predictor.model.identify(query, vectors), vectors)
        columns = attended.edges.roles.tolist(), attended.edges.fillers.tolist(), attended.weights.tolist()
    weights: dict[Names3, float] = {}
    for edge_role, filler, weight in zip(*columns, strict=True):
        head, through, tail = predictor.fact(number, edge_role, filler)
        fact = names[head], relations[through], names[tail]
        weights[fact] = max(weight, weights.get(fact, 0.0))  # a fact about an entity and itself has two edges
    return weights
