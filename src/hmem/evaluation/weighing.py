"""What a network and counting are worth on a graph, by facts that neither has seen.

A base leaves out facts of its own, a trained model has validation facts. Each question that such a fact answers is
asked, and the weights are those with which the softmax over the scores makes the true answers likeliest: a conditional
logistic regression, whose likelihood has one maximum. A penalty draws the weights to those that suit most graphs, the
harder the fewer questions there are, so that a base of a few hundred facts keeps those, and two bases that are nearly
equal have nearly equal weights.

Of each question the best candidates by every kind of evidence are looked at one by one; some of the others, evenly
spaced, stand for all of them.

A model that was trained on the graph is left alone unless counting gains enough to be worth its time. That is measured
by two halves of the questions, each with the weights that the other half finds (`choose`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hmem.evaluation.evaluate import Scorer, rank_queries
from hmem.evaluation.joined import ALONE, USUAL, Joined, Weights, evidence
from hmem.evaluation.protocol import Candidates
from hmem.evaluation.queries import Queries
from hmem.graph.dataset import Dataset

PENALTY = 4.0  # half of it times the squared distance from the usual weights is added to the loss
BEST, OTHERS = 50, 50  # candidates that are looked at, by each kind of evidence and of the rest
STEPS = 20  # of Newton's method
ENOUGH = 1e-5  # improvement of the loss of a question below which it ends

FEWEST = 50  # questions by which weights are chosen for a trained model
MOST = 2000
GAIN = 0.01  # of the MRR, for which counting is worth its time, and explanations that are not those of the model alone
ERRORS = 2.0  # standard errors by which the gain is more than chance
COUNTING = Weights(network=0.0)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the network and counting are worth, and the MRR of the questions by which that was found."""

    weights: Weights
    joined: float  # each half of the questions with the weights that the other finds
    model: float
    counts: float

    @property
    def joins(self) -> bool:
        """Whether counting has a say."""
        return self.weights != ALONE


def choose(model: Scorer, dataset: Dataset, queries: Queries) -> Choice:
    """The weights that suit the questions, if with those of other questions the MRR is better by more than chance."""
    queries, graph = queries.sample(MOST), dataset.inference_graph("train")
    pairs, question = np.unique(np.stack([queries.entities, queries.roles]), axis=1, return_inverse=True)
    question = question.reshape(-1)
    scorer = Joined(model, graph, keeps=True)
    true = [queries.targets[question == place] for place in range(pairs.shape[1])]
    found = [asked(scorer, entity, role, some) for (entity, role), some in zip(pairs.T.tolist(), true, strict=True)]
    half = np.random.default_rng(0).permutation(len(found)) % 2 == 1
    filtered, candidates = dataset.filter_graph(), [Candidates("all", dataset)]

    def reciprocal(rows: Int[np.ndarray, " n"], weights: Weights) -> Float[np.ndarray, " n"]:
        scorer.weights = weights
        ranks: Float[np.ndarray, " n"] = rank_queries(scorer, queries.select(rows), filtered, candidates)[
            "all"
        ].realistic
        return 1 / ranks

    everything, joined = np.arange(len(queries)), np.empty(len(queries))
    for mine in (half, ~half):
        others = [each for each, is_mine in zip(found, mine.tolist(), strict=True) if each is not None and not is_mine]
        rows = np.flatnonzero(mine[question])
        joined[rows] = reciprocal(rows, weigh(others))
    alone = reciprocal(everything, ALONE)
    gain = joined - alone
    pays = len(queries) >= FEWEST and gain.mean() >= max(GAIN, ERRORS * gain.std() / np.sqrt(len(gain)))
    return Choice(
        weights=weigh([each for each in found if each is not None]) if pays else ALONE,
        joined=float(joined.mean()),
        model=float(alone.mean()),
        counts=float(reciprocal(everything, COUNTING).mean()),
    )


class Asked(NamedTuple):
    """The evidence for the candidates of a question, and for how many candidates each row stands."""

    true: Float[np.ndarray, "t 5"]
    rivals: Float[np.ndarray, "n 5"]
    log_times: Float[np.ndarray, " n"]


def asked(scorer: Joined, entity: int, role: int, true: Int[np.ndarray, " t"]) -> Asked | None:
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
