"""Which entities are alike: by their vectors, or by the facts they share where entities have no vectors."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int

from hmem.graph.triples import mirror_role
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.ranked import first

MOST_ALIKE = 200  # entities with shared facts that are compared in full


@torch.inference_mode()
def similar(predictor: Predictor, entity: int, k: int) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The k entities whose vectors point most nearly the same way, and the cosines of the angles between.

    Where entities have no vectors, theirs are the facts they share, each the heavier the fewer share it.
    """
    if predictor.vectors is None:
        return _alike(predictor, entity, k)
    vectors = predictor.vectors.current()
    rows, vector = vectors.entities, vectors.entities[entity]
    tiny = torch.finfo(rows.dtype).tiny
    lengths = torch.linalg.vector_norm(rows, dim=1).clamp_min(tiny) * vector.norm().clamp_min(tiny)
    cosines = (rows @ vector) / lengths
    if vectors.placed is not None:
        cosines = cosines.masked_fill(~vectors.placed, -torch.inf)
    cosines[entity] = -torch.inf
    (best,) = first(cosines[None], [k])
    return best, cosines[torch.from_numpy(best).to(cosines.device)].double().cpu().numpy()


def _alike(predictor: Predictor, entity: int, k: int) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Entities by the cosine of their facts, where a fact is a role and its filler, 1/√(how many share it)."""
    graph = predictor.live.graph
    shared = np.zeros(max(graph.num_entities, 1))
    for others in _sharing(predictor, entity):
        shared[others] += 1 / len(others)
    shared[entity] = 0.0
    near = np.argsort(-shared, kind="stable")[: max(k, MOST_ALIKE)]
    near = near[shared[near] > 0]
    own, *lengths = (_squared_length(predictor, each) for each in (entity, *near.tolist()))
    cosines = shared[near] / np.sqrt(own * np.array(lengths))
    order = np.lexsort((near, -cosines))[:k]
    return near[order], cosines[order]


def _squared_length(predictor: Predictor, entity: int) -> float:
    """That of an entity's facts as a vector."""
    return sum(1 / len(others) for others in _sharing(predictor, entity))


def _sharing(predictor: Predictor, entity: int) -> Iterator[Int[np.ndarray, " n"]]:
    """Of each fact of an entity, who has it."""
    graph, R = predictor.live.graph, predictor.live.num_relations
    roles, fillers = graph.edges_of(entity)
    for role, filler in zip(mirror_role(roles, R).tolist(), fillers.tolist(), strict=True):
        yield graph.answers(filler, role)
