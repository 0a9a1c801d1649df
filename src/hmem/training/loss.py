"""How wrong an answer is: minus the log probability of the true filler among the candidates."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

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

    The rivals are all entities, or as many as `negatives` says. With the exact channel p is its mixture; a query whose
    links are withheld asks the dense channel alone, so that the null slot learns how often an answer is really absent
    and not how often one is hidden from it.
    """
    if negatives is None:
        scores, place = against_all(model, answer.retrieved, vectors, query, known)
    else:
        scores, place = against_sample(model, answer.retrieved, vectors, query, known, negatives, noise)
    log_p = smoothed_log_probability(scores, place, smoothing)  # (B,)
    if answer.copied is not None and answer.attended is not None:
        assert query.target is not None
        # p = Σ_{c: e_c = target} p_c + p_null · softmax(dense)(target)
        log_copied = answer.copied.log_mass_on(answer.attended.edges, query.target)
        mixed = torch.logaddexp(log_copied, answer.copied.log_null + log_p)
        log_p = torch.where(noise.unlinked(len(query), link_withholding), log_p, mixed)
    return -log_p.mean()


def against_all(
    model: HMem, retrieved: Float[Tensor, "B de"], vectors: Vectors, query: Query, known: Edges | None
) -> tuple[Float[Tensor, "B E"], Int[Tensor, " B"]]:
    """Scores against every entity, and the column of the truth."""
    assert query.target is not None
    scores = model.compare(retrieved, vectors.entities)  # (B, E)
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
    own = -model.log_temperature.exp() * (retrieved - truth).square().sum(1)  # (B,)
    column = torch.full((num_entities,), count, device=noise.device)  # `count` for whoever was not drawn
    column[drawn] = torch.arange(count, device=noise.device)
    masked = torch.zeros(len(query), count + 1, dtype=torch.bool, device=noise.device)
    rows = torch.arange(len(query), device=noise.device)
    masked[rows, column.index_select(0, query.target)] = True
    if known is not None:
        row, filler = other_answers(query, known)
        masked[row, column.index_select(0, filler)] = True
    against = against.masked_fill(masked[:, :count], -torch.inf)
    return torch.cat([own[:, None], against], dim=1), torch.zeros_like(query.target)  # (B, 1 + S)


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
