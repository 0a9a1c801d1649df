"""What the network and counting are worth in one base, by facts of its own that are left out.

Each question that such a fact answers is asked, and the weights are those with which the softmax over the scores makes
the true answers likeliest: a conditional logistic regression, whose likelihood has one maximum. A penalty draws the
weights to those that suit most graphs, the harder the fewer questions there are, so that a base of a few hundred facts
keeps those, and two bases that are nearly equal have nearly equal weights.

Of each question the best candidates by every kind of evidence are looked at one by one; some of the others, evenly
spaced, stand for all of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hmem.knowledge.counted import USUAL, CountedScorer, Weights, evidence

PENALTY = 4.0  # half of it times the squared distance from the usual weights is added to the loss
BEST, OTHERS = 50, 50  # candidates that are looked at, by each kind of evidence and of the rest
STEPS = 20  # of Newton's method
ENOUGH = 1e-5  # improvement of the loss of a question below which it ends


class Asked(NamedTuple):
    """The evidence for the candidates of a question, and for how many candidates each row stands."""

    true: Float[np.ndarray, "t 5"]
    rivals: Float[np.ndarray, "n 5"]
    log_times: Float[np.ndarray, " n"]


def asked(scorer: CountedScorer, entity: int, role: int, true: Int[np.ndarray, " t"]) -> Asked | None:
    """The evidence on a question whose true answers are given; None if the network reaches none of them."""
    scores = scorer.by_network(entity, role).cpu().numpy()
    reached = np.isfinite(scores)
    reached[scorer.graph.answers(entity, role)] = False
    candidates = np.flatnonzero(reached)
    parts = np.stack([*evidence(scorer.graph, entity, role, scores, candidates)], axis=1).astype(np.float64)
    is_true = np.isin(candidates, true)
    if not is_true.any() or is_true.all():
        return None
    rivals = parts[~is_true]
    near = np.zeros(len(rivals), dtype=bool)
    for part in rivals[:, :4].T:
        near[np.argpartition(-part, min(BEST, len(part)) - 1)[:BEST]] = True
    far = np.flatnonzero(~near)
    some = far[np.linspace(0, len(far) - 1, min(OTHERS, len(far))).astype(np.int64)]
    log_times = np.concatenate([np.zeros(near.sum()), np.full(len(some), np.log(max(1, len(far)) / max(1, len(some))))])
    return Asked(parts[is_true], np.concatenate([rivals[near], rivals[some]]), log_times)


def weigh(questions: Sequence[Asked]) -> Weights:
    """The weights that suit the questions, each of which counts once, drawn to the usual ones."""
    start = np.array(USUAL)
    weights, loss = start, _loss(questions, start, start)
    for _ in range(STEPS):
        step = _newton(questions, weights, start)
        for shrunk in 0.5 ** np.arange(8):
            after = _loss(questions, weights + shrunk * step, start)
            if after < loss:
                break
        else:
            break
        weights, gained, loss = weights + shrunk * step, loss - after, after
        if gained < ENOUGH * len(questions):
            break
    return Weights(*np.round(weights, 4).tolist())


def _loss(questions: Sequence[Asked], weights: Float[np.ndarray, " 5"], usual: Float[np.ndarray, " 5"]) -> float:
    loss = PENALTY / 2 * float(((weights - usual) ** 2).sum())
    for true, rivals, log_times in questions:
        score = true @ weights
        rest = np.logaddexp.reduce(rivals @ weights + log_times)
        loss += float((np.logaddexp(score, rest) - score).mean())
    return loss


def _newton(
    questions: Sequence[Asked], weights: Float[np.ndarray, " 5"], usual: Float[np.ndarray, " 5"]
) -> Float[np.ndarray, " 5"]:
    """The step to where the parabola through the loss has its minimum."""
    gradient = PENALTY * (usual - weights)
    curvature = PENALTY * np.eye(len(weights))
    for true, rivals, log_times in questions:
        scores, others = true @ weights, rivals @ weights + log_times
        most = max(others.max(), scores.max())
        share = np.exp(others - most)
        total, first, second = share.sum(), share @ rivals, (rivals * share[:, None]).T @ rivals
        for row, score in zip(true, scores, strict=True):  # other true answers are no rivals
            own = np.exp(score - most)
            mean = (first + own * row) / (total + own)
            gradient += (row - mean) / len(true)
            curvature += ((second + own * np.outer(row, row)) / (total + own) - np.outer(mean, mean)) / len(true)
    step: Float[np.ndarray, " 5"] = np.linalg.solve(curvature, gradient)
    return step
