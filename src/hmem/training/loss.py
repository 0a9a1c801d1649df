"""How wrong an answer is: minus the log probability of the true filler among the candidates."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.memory.exact import Copied
from hmem.memory.superpose import Edges
from hmem.model.hmem import Answer, HMem
from hmem.model.query import Noise, Query, other_answers
from hmem.model.vectors import Vectors


def answer_loss(
    model: HMem,
    answer: Answer,
    vectors: Vectors,
    query: Query,
    known: Edges | None,
    negatives: int | None,
    smoothing: float,
    noise: Noise,
    link_withholding: float = 0.0,
) -> Float[Tensor, ""]:
    """−log p(target), with the other true answers that `known` holds left out of the competition.

    The rivals are all entities, or as many as `negatives` says. Every channel learns by itself, so that none starves
    because another knows the answer: the edges from whether the answer stands among them, and in which; the dense
    channel from all queries whose answer does not; the walks from how much better than the dense channel they know.
    """
    if negatives is None:
        scores, place = against_all(model, answer.retrieved, vectors, query, known)
    else:
        scores, place = against_sample(model, answer.retrieved, vectors, query, known, negatives, noise)
    log_p = smoothed_log_probability(scores, place, smoothing)  # (B,)
    if answer.copied is None:
        return -log_p.mean()
    assert query.target is not None
    copied, is_linked = _recalled(answer.copied, query.target)
    hidden = noise.unlinked(len(query), link_withholding)
    if answer.reached is not None:
        # Walks reach many ends, and the right one may be hard to tell: they are weighed against the dense channel.
        reached = torch.logaddexp(answer.reached.log_mass_on(query.target), answer.reached.log_null + log_p.detach())
        log_p = log_p + reached
    # Hidden links would teach the null slot that answers are absent more often than they are.
    return -(torch.where(is_linked, 0.0, log_p) + copied.masked_fill(hidden, 0.0)).mean()


def _recalled(copied: Copied, target: Int[Tensor, " B"]) -> tuple[Float[Tensor, " B"], Bool[Tensor, " B"]]:
    """log Σ p_c over the slots of the target where it has one, log p_null where it has none; and whether it has."""
    mass = copied.log_mass_on(target)
    found = mass > -torch.inf
    return torch.where(found, mass, copied.log_null), found


def against_all(
    model: HMem, retrieved: Float[Tensor, "B de"], vectors: Vectors, query: Query, known: Edges | None
) -> tuple[Float[Tensor, "B E"], Int[Tensor, " B"]]:
    """Scores against every entity, and the column of the truth."""
    assert query.target is not None
    scores = model.compare(retrieved, vectors.entities)  # (B, E)
    model.judge_own_(scores, query)
    if known is not None:
        row, filler = other_answers(query, known)
        scores.view(-1).index_fill_(0, row * scores.shape[1] + filler, -torch.inf)
    return scores, query.target


def against_sample(
    model: HMem,
    retrieved: Float[Tensor, "B de"],
    vectors: Vectors,
    query: Query,
    known: Edges | None,
    count: int,
    noise: Noise,
) -> tuple[Float[Tensor, "B S"], Int[Tensor, " B"]]:
    """Scores against `count` entities drawn for the whole batch (the paper draws 500); the truth is in column 0.

    A true answer that was drawn by chance is left out, and so is the target, which has a column of its own.
    """
    assert query.target is not None
    num_entities = len(vectors.entities)
    drawn = torch.randperm(num_entities, generator=noise.generator, device=noise.device)[:count]
    count = len(drawn)
    against = model.compare(retrieved, vectors.entities.index_select(0, drawn))  # (B, S)
    truth = vectors.entities.index_select(0, query.target)  # (B, de)
    right = -model.log_temperature.exp() * (retrieved - truth).square().sum(1)  # (B,)
    column = torch.full((num_entities,), count, device=noise.device)  # `count` for whoever was not drawn
    column[drawn] = torch.arange(count, device=noise.device)
    masked = torch.zeros(len(query), count + 1, dtype=torch.bool, device=noise.device)
    rows = torch.arange(len(query), device=noise.device)
    if model.own is not None:
        own = model.own.index_select(0, query.role)  # (B,)
        right = right + own * (query.entity == query.target)
        asked = column.index_select(0, query.entity)
        against = against.index_put((rows[asked < count], asked[asked < count]), own[asked < count], accumulate=True)
    masked[rows, column.index_select(0, query.target)] = True
    if known is not None:
        row, filler = other_answers(query, known)
        masked[row, column.index_select(0, filler)] = True
    against = against.masked_fill(masked[:, :count], -torch.inf)
    return torch.cat([right[:, None], against], dim=1), torch.zeros_like(query.target)  # (B, 1 + S)


def smoothed_log_probability(
    scores: Float[Tensor, "B C"], target: Int[Tensor, " B"], smoothing: float
) -> Float[Tensor, " B"]:
    """(1 − ε)·log p of the target + ε·(the mean log p of all candidates); −∞ marks what is no candidate."""
    log_total = scores.logsumexp(dim=1)  # (B,)
    exact = scores.gather(1, target[:, None]).squeeze(1) - log_total
    if smoothing == 0:
        return exact
    allowed = scores > -torch.inf
    mean = torch.where(allowed, scores, 0.0).sum(1) / allowed.sum(1) - log_total
    return (1 - smoothing) * exact + smoothing * mean
