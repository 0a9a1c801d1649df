"""The likeliest facts about an entity that are not stored, over all relations and both directions.

Each role is a question of its own, and one without a sensible answer has a best answer too: what is the capital of a
dog? So a fact must make sense at both ends. It is more likely than not, or one of its entities takes the same part in
another fact already; and asked from its other end the entity must be a better answer than a blind guess. An answer
without facts cannot be asked, and passes this second test.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.graph.triples import mirror_role
from hmem.knowledge.predictor import Ids, Predictor, Ranked

LIKELY = 0.5  # more likely than not
DEPTH = 50  # answers of each role among which missing facts are looked for, as many as calibration looks at


def missing_facts(predictor: Predictor, entity: int, k: int) -> tuple[Int[np.ndarray, " n"], Ranked]:
    """The k likeliest facts as roles of the entity and answers, in the order of log_p."""
    roles = np.arange(2 * predictor.num_relations)
    best = predictor.best(np.full(len(roles), entity), roles, [DEPTH] * len(roles))
    role = np.repeat(roles, [len(each.answers) for each in best])
    answers, scores, log_p, leads = (
        np.concatenate([getattr(each, part) for each in best]) for part in ("answers", "scores", "log_p", "leads")
    )
    loop = (answers == entity) & (role < predictor.num_relations)  # the same fact is found from the other side
    order = np.lexsort((answers, role, -log_p))
    order = order[~loop[order]]
    kept: list[int] = []
    for start in range(0, len(order), 2 * k):
        some = order[start : start + 2 * k]
        kept += some[_makes_sense(predictor, entity, role[some], answers[some], log_p[some])].tolist()
        if len(kept) >= k:
            break
    chosen = np.array(kept[:k], dtype=np.int64)
    stored = np.zeros(len(chosen), dtype=bool)
    ranks = 1 + np.arange(len(chosen))
    return role[chosen], Ranked(answers[chosen], scores[chosen], log_p[chosen], stored, leads[chosen], ranks)


def _makes_sense(
    predictor: Predictor, entity: int, roles: Ids, answers: Ids, log_p: Float[np.ndarray, " B"]
) -> Bool[np.ndarray, " B"]:
    """Whether each answer could be meant, seen from both ends."""
    turned = mirror_role(roles, predictor.num_relations)
    ends = zip(roles.tolist(), answers.tolist(), turned.tolist(), strict=True)
    stored = predictor.live.graph.answers
    sensible = np.array([len(stored(entity, r)) + len(stored(x, back)) > 0 for r, x, back in ends], dtype=bool)
    sensible |= log_p > np.log(LIKELY)
    asked = np.flatnonzero(sensible & [predictor.is_askable(answer) for answer in answers.tolist()])
    judged = predictor.judge(answers[asked], turned[asked], np.full(len(asked), entity))
    sensible[asked] = judged.log_p >= -np.log(predictor.num_candidates())
    return sensible
