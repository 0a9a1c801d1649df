"""How wrong an answer is: minus the log probability of the true filler among the candidates."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.config import TrainingConfig
from hmem.memory.superpose import Edges
from hmem.model.build import Network
from hmem.model.explicit import ExplicitMemory
from hmem.model.hmem import HMem
from hmem.model.index import FrozenIndex, Index
from hmem.model.propagation import Propagation
from hmem.model.query import Drop, Noise, Query, other_answers
from hmem.model.scoring import Answer, columns_of, leave_out_
from hmem.model.vectors import Vectors
from hmem.training.candidates import Candidates
from hmem.training.propagation import Concealed, gradient_in_groups, propagation_loss


def gradient_function(
    model: Network, graph: FrozenIndex, training: TrainingConfig
) -> Callable[[Query, Noise], Float[Tensor, ""]] | None:
    """A quicker way than `loss_function` to a batch's loss and its gradient, where there is one."""
    if not isinstance(model, Propagation) or model.device.type == "cuda":
        return None
    concealed = Concealed.of(graph)
    return lambda query, noise: gradient_in_groups(model, query, concealed, training, noise)


def loss_function(
    model: Network, graph: FrozenIndex, training: TrainingConfig
) -> Callable[[Query, Noise], Float[Tensor, ""]]:
    """The loss of a batch of questions, each about a fact that is withheld."""
    if isinstance(model, Propagation):
        concealed = Concealed.of(graph)
        return lambda query, noise: propagation_loss(model, query, concealed, training, noise)
    return lambda query, noise: memory_loss(model, query, graph, training, noise)


def dropped(training: TrainingConfig, noise: Noise) -> Drop:
    """What a step leaves out."""
    return Drop(
        noise=noise,
        memory=training.memory_dropout,
        retrieved=training.retrieved_dropout,
        neighbor=training.neighbor_dropout or 0.0,
        identity=training.identity_dropout,
        link=training.link_withholding or 0.0,
    )


def memory_loss(
    model: HMem,
    query: Query,
    graph: Index,
    training: TrainingConfig,
    noise: Noise,
    candidates: Candidates | None = None,
) -> Float[Tensor, ""]:
    drop = dropped(training, noise)
    vectors = model.embeddings()
    answer = model.answer(query, graph, vectors, drop)
    stored = answer.weighted.edges if isinstance(model.memory, ExplicitMemory) else graph.lookup(query.entity)
    return answer_loss(model, answer, vectors, query, stored, training, noise, candidates)


def answer_loss(
    model: HMem,
    answer: Answer,
    vectors: Vectors,
    query: Query,
    stored: Edges,
    training: TrainingConfig,
    noise: Noise,
    candidates: Candidates | None = None,
) -> Float[Tensor, ""]:
    """−log p(target). The other true answers, which `stored` holds, are no rivals.

    The rivals are all entities, or `candidates` that stand for them, or as many as `negatives` says. Every channel
    learns by itself, so that none starves because another has the answer already: the edges from whether the answer
    stands among them, and in which; the dense channel from all queries whose answer does not; the walks from how much
    they add to the dense channel.
    """
    log_weight = None
    if candidates is not None:
        scores, place = against_candidates(model, answer, vectors, query, stored, candidates)
        log_weight = candidates.log_weight
    elif training.negatives is None:
        scores, place = against_all(model, answer, vectors, query, stored)
    else:
        scores, place = against_sample(model, answer, vectors, query, stored, training.negatives, noise)
    dense = smoothed_log_probability(scores, place, training.label_smoothing, log_weight)  # (B,)
    if answer.copied is None:
        return -dense.mean()
    assert query.target is not None
    copied = answer.copied.log_mass_on(query.target)  # (B,) log p_edges
    is_linked = copied > -torch.inf
    recalled = torch.where(is_linked, copied, answer.copied.log_null)
    rest = dense
    if answer.reached is not None:
        # Walks reach many ends, and the right one may be hard to tell: they are weighed against the dense channel.
        reached = answer.reached.log_mass_on(query.target)  # (B,) log p_walks
        rest = dense + torch.logaddexp(reached, answer.reached.log_null + dense.detach())
    # Hidden links would teach the null slot that answers are absent more often than they are.
    is_hidden = noise.unlinked(len(query), training.link_withholding or 0.0)
    return -(torch.where(is_linked, 0.0, rest) + recalled.masked_fill(is_hidden, 0.0)).mean()


def against_all(
    model: HMem, answer: Answer, vectors: Vectors, query: Query, stored: Edges
) -> tuple[Float[Tensor, "B E"], Int[Tensor, " B"]]:
    """Dense scores of every entity, and the column of the truth."""
    assert query.target is not None
    scores = model.dense.scores(query, answer.retrieved, vectors)  # (B, E)
    leave_out_(scores, *other_answers(query, stored))
    return scores, query.target


def against_candidates(
    model: HMem, answer: Answer, vectors: Vectors, query: Query, stored: Edges, candidates: Candidates
) -> tuple[Float[Tensor, "B C"], Int[Tensor, " B"]]:
    """Dense scores of candidates that stand for all entities, corrected for that, and the column of the truth."""
    assert query.target is not None
    drawn, num_entities = candidates.entities, len(vectors.entities)
    scores = model.dense.scores_of_drawn(query, answer.retrieved, vectors, drawn) + candidates.log_weight  # (B, C)
    row, filler = other_answers(query, stored)
    column = columns_of(filler, drawn, num_entities)
    was_drawn = column < len(drawn)
    leave_out_(scores, row[was_drawn], column[was_drawn])
    return scores, columns_of(query.target, drawn, num_entities)


def against_sample(
    model: HMem, answer: Answer, vectors: Vectors, query: Query, stored: Edges, count: int, noise: Noise
) -> tuple[Float[Tensor, "B S"], Int[Tensor, " B"]]:
    """Dense scores of `count` entities drawn for the whole batch (the paper draws 500); the truth is in column 0.

    A true answer that was drawn by chance is left out, and so is the target, which has a column of its own.
    """
    assert query.target is not None
    num_entities = len(vectors.entities)
    drawn = torch.randperm(num_entities, generator=noise.generator, device=noise.device)[:count]
    dense = model.dense
    rivals = dense.scores_of_drawn(query, answer.retrieved, vectors, drawn)  # (B, S)
    truth = dense.scores_of_targets(query, answer.retrieved, vectors)  # (B,)
    row, filler = other_answers(query, stored)
    row = torch.cat([row, torch.arange(len(query), device=row.device)])
    column = columns_of(torch.cat([filler, query.target]), drawn, num_entities)
    was_drawn = column < rivals.shape[1]
    leave_out_(rivals, row[was_drawn], column[was_drawn])
    return torch.cat([truth[:, None], rivals], dim=1), torch.zeros_like(query.target)  # (B, 1 + S)


def smoothed_log_probability(
    scores: Float[Tensor, "B C"],
    target: Int[Tensor, " B"],
    smoothing: float,
    log_weight: Float[Tensor, " C"] | None = None,
) -> Float[Tensor, " B"]:
    """(1 − ε)·log p of the target + ε·(the mean log p of all candidates); −∞ marks what is no candidate.

    `log_weight` is what scores have been raised by, since a candidate stands for several.
    """
    log_total = scores.logsumexp(dim=1)  # (B,)
    exact = scores.gather(1, target[:, None]).squeeze(1) - log_total
    if smoothing == 0:
        return exact
    allowed = scores > -torch.inf
    if log_weight is None:
        mean = torch.where(allowed, scores, 0.0).sum(1) / allowed.sum(1) - log_total
    else:
        weight = allowed * log_weight.exp()  # (B, C)
        mean = (torch.where(allowed, scores - log_weight, 0.0) * weight).sum(1) / weight.sum(1) - log_total
    return (1 - smoothing) * exact + smoothing * mean
