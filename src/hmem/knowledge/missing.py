"""The likeliest facts about an entity that are not stored, over all relations and both directions.

Each role is a question of its own, and its answers are as likely as `predict` says: the probability that an answer is
missing there at all, times that it is this one. An answer must be of the right kind: it stands in that role already,
for some other entity, or enough of the entities with a role that it has do.
"""

import numpy as np
from jaxtyping import Float, Int

from hmem.evaluation.calibration import Calibration
from hmem.evaluation.slots import share_of_kind
from hmem.graph.triples import mirror_role
from hmem.knowledge.predictor import Predictor, Ranked

DEPTH = 50  # answers of each role among which missing facts are looked for, as many as calibration looks at
OF_KIND = 0.1  # the share of the entities of its kind that must have the role which an answer has not had yet


def missing_facts(
    predictor: Predictor, entity: int, k: int, calibration: Calibration | None
) -> tuple[Int[np.ndarray, " n"], Ranked]:
    """The k likeliest facts as roles of the entity and answers, the likeliest first."""
    roles = np.arange(2 * predictor.num_relations)
    best = predictor.best(np.full(len(roles), entity), roles, [DEPTH] * len(roles))
    role = np.repeat(roles, [len(each.answers) for each in best])
    parts = {
        name: np.concatenate([getattr(each, name) for each in best])
        for name in ("answers", "scores", "log_p", "stored", "leads", "lead_log_p")
    }
    found = Ranked(**parts, ranks=np.zeros(len(role), dtype=np.int64))
    loop = (found.answers == entity) & (role < predictor.num_relations)  # the same fact is found from the other side
    order = np.lexsort((found.answers, role, -found.log_p, -_likely(predictor, entity, role, found, calibration)))
    kept: list[int] = []
    for place in order[~loop[order]].tolist():
        if _is_of_kind(predictor, int(found.answers[place]), int(role[place]), calibration):
            kept.append(place)
        if len(kept) == k:
            break
    chosen = np.array(kept, dtype=np.int64)
    ranks = 1 + np.arange(len(chosen))
    return role[chosen], Ranked(**{name: part[chosen] for name, part in parts.items()}, ranks=ranks)


def _likely(
    predictor: Predictor, entity: int, roles: Int[np.ndarray, " n"], found: Ranked, calibration: Calibration | None
) -> Float[np.ndarray, " n"]:
    """How likely each answer is; by log_p where the model is not calibrated."""
    if calibration is None:
        share: Float[np.ndarray, " n"] = np.exp(found.log_p)
        return share
    missing = calibration.missing(predictor.live.graph, np.full(len(roles), entity), roles, found.lead_log_p)
    return calibration.probability(found.log_p, found.leads, missing)


def _is_of_kind(predictor: Predictor, answer: int, role: int, calibration: Calibration | None) -> bool:
    """Whether the answer is something that this role holds."""
    turned = int(mirror_role(np.array(role), predictor.num_relations))
    graph = predictor.live.graph
    if len(graph.answers(answer, turned)):
        return True
    if calibration is None or calibration.slots is None or calibration.slots.num_roles != graph.num_roles:
        return False
    return share_of_kind(calibration.slots.counted, graph, answer, turned) >= OF_KIND
