"""The likeliest facts that are not stored: about an entity, over all relations and both directions, or over a graph.

Each role is a question of its own, and its answers are as likely as `predict` says: the probability that an answer is
missing there at all, times that it is this one. An answer must be of the right kind: it stands in that role already,
for some other entity, or enough of the entities with a role that it has do. A role that hardly any entity of a kind has
is not asked for.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.evaluation.calibration import Calibration
from hmem.evaluation.role_counts import shares_of_kind
from hmem.evaluation.slots import stored_answers
from hmem.graph.triples import mirror_role
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.ranked import Ranked, joined

DEPTH = 50  # answers of each role among which missing facts are looked for, as many as calibration looks at
SENSIBLE = 0.005  # the share of the entities of its kind that must have a role in which facts are looked for
OF_KIND = 0.1  # the share of the entities of its kind that must have the role which an answer has not had yet

Roles = Int[np.ndarray, " roles"]


def missing_facts(
    predictor: Predictor, entity: int, k: int, calibration: Calibration | None, roles: Roles | None = None
) -> tuple[Int[np.ndarray, " n"], Ranked]:
    """The k likeliest facts as roles of the entity and answers, the likeliest first; of all roles or of some."""
    if roles is None:
        relations = predictor.live.fact_relations
        roles = np.concatenate([relations, relations + predictor.live.num_relations])
    roles = roles[_makes_sense(predictor, entity, roles, calibration)]
    best = predictor.best(np.full(len(roles), entity), roles, [DEPTH] * len(roles))
    role = np.repeat(roles, [len(each.answers) for each in best])
    found = joined(best)
    # A fact about an entity and itself is found from both sides.
    loop = (found.answers == entity) & (role < predictor.live.num_relations)
    order = np.lexsort((found.answers, role, -found.log_p, -_likely(predictor, entity, role, found, calibration)))
    kept: list[int] = []
    for place in order[~loop[order]].tolist():
        if _is_of_kind(predictor, int(found.answers[place]), int(role[place]), calibration):
            kept.append(place)
        if len(kept) == k:
            break
    chosen = np.array(kept, dtype=np.int64)
    return role[chosen], found.take(chosen).ranked_anew()


def having_facts(live: LiveGraph, having: tuple[int, int] | None) -> Int[np.ndarray, " n"]:
    """The entities with facts, or with a given tail in a given relation."""
    if having is not None:
        relation, tail = having
        return live.graph.answers(tail, relation).astype(np.int64)
    entities = np.setdiff1d(np.arange(live.graph.num_entities), live.values.buckets)
    return entities[live.graph.degrees(entities) > 0]


def _makes_sense(
    predictor: Predictor, entity: int, roles: Roles, calibration: Calibration | None
) -> Bool[np.ndarray, " roles"]:
    """The roles that the entity has, or enough entities of its kind: the others are not worth a question."""
    graph = predictor.live.graph
    if calibration is None or calibration.slots is None:
        return np.ones(len(roles), dtype=bool)
    has = np.isin(roles, graph.edges_of(entity)[0])
    return has | (shares_of_kind(calibration.slots.counted, graph, entity, roles) >= SENSIBLE)


def _likely(
    predictor: Predictor, entity: int, roles: Int[np.ndarray, " n"], found: Ranked, calibration: Calibration | None
) -> Float[np.ndarray, " n"]:
    """How likely each answer is; by log_p where the model is not calibrated."""
    if calibration is None:
        share: Float[np.ndarray, " n"] = np.exp(found.log_p)
        return share
    graph, entities = predictor.live.graph, np.full(len(roles), entity)
    missing = calibration.missing(graph, entities, roles, found.lead_log_p)
    return calibration.probability(found.log_p, found.leads, missing, stored_answers(graph, entities, roles))


def _is_of_kind(predictor: Predictor, answer: int, role: int, calibration: Calibration | None) -> bool:
    """Whether the answer is something that this role holds."""
    turned = mirror_role(role, predictor.live.num_relations)
    graph = predictor.live.graph
    if len(graph.answers(answer, turned)):
        return True
    if calibration is None or calibration.slots is None:
        return False
    return bool(shares_of_kind(calibration.slots.counted, graph, answer, np.array([turned]))[0] >= OF_KIND)
