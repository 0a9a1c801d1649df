"""The score of a candidate. `HMem.forward`, the loss and explanations all take it from here.

    dense(x)   = −τ‖e_o − e_x‖² + s_q [x = e_i]                        −∞ for an entity without a vector
    softmax(x) = e^dense(x) / Σ_y e^dense(y)                           y over all entities but the stored answers
    p(x)       = p_edges(x) + p_null · ( p_walks(x) + p'_null · softmax(x) )

The score is dense(x), or log p(x) with the exact channel. s_q is there with `own_bias` only.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.memory.exact import DenseView, Recalled
from hmem.memory.superpose import Edges, Memory
from hmem.model.explicit import WeightedEdges
from hmem.model.paths import Walks
from hmem.model.query import Query, other_answers
from hmem.model.vectors import Vectors


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What a model has for a batch of queries before candidates are scored."""

    weighted: WeightedEdges  # the edges of the asked entities; none for implicit memories
    memory: Memory  # M
    completed: Memory  # M̂
    retrieved: Float[Tensor, "B de"]  # e_o
    copied: Recalled | None = None  # p_edges and p_null, where the model has an exact channel
    walks: Walks | None = None
    reached: Recalled | None = None  # p_walks and p'_null, where it follows paths


@dataclass(frozen=True, eq=False, slots=True)
class DenseChannel:
    """How the memory's answer e_o is compared with candidates."""

    temperature: Float[Tensor, ""]  # τ
    self_bias: Float[Tensor, " roles"] | None  # s_q

    def scores(self, query: Query, retrieved: Float[Tensor, "B de"], vectors: Vectors) -> Float[Tensor, "B E"]:
        """dense(x) of every entity."""
        scores = self._minus_distances(retrieved, vectors.entities, vectors.lengths)  # (B, E)
        self._add_self_bias_(scores, query, query.entity)
        return scores if vectors.placed is None else scores.masked_fill(~vectors.placed, -torch.inf)

    def scores_of_drawn(
        self, query: Query, retrieved: Float[Tensor, "B de"], vectors: Vectors, drawn: Int[Tensor, " S"]
    ) -> Float[Tensor, "B S"]:
        """dense(x) of the entities that were drawn."""
        column = columns_of(query.entity, drawn, len(vectors.entities))
        return self.scores_of_rows(query, retrieved, vectors.entities.index_select(0, drawn), column)

    def scores_of_rows(
        self,
        query: Query,
        retrieved: Float[Tensor, "B de"],
        rows: Float[Tensor, "C de"],
        column: Int[Tensor, " B"],
    ) -> Float[Tensor, "B C"]:
        """dense(x) of entities with these vectors; `column` is where the asked entity is among them, C if nowhere."""
        scores = self._minus_distances(retrieved, rows)
        self._add_self_bias_(scores, query, column)
        return scores

    def scores_of_targets(
        self, query: Query, retrieved: Float[Tensor, "B de"], vectors: Vectors
    ) -> Float[Tensor, " B"]:
        """dense(x) of the target of each query."""
        assert query.target is not None
        truth = vectors.entities.index_select(0, query.target)  # (B, de)
        scores = -self.temperature * (retrieved - truth).square().sum(1)
        if self.self_bias is None:
            return scores
        return scores + self.self_bias.index_select(0, query.role) * (query.entity == query.target)

    def view(self, retrieved: Float[Tensor, "B de"], vectors: Vectors) -> DenseView:
        """What the exact channels may read of this one."""
        entities = vectors.entities.detach()
        lengths = entities.square().sum(1) if vectors.lengths is None else vectors.lengths
        self_bias = None if self.self_bias is None else self.self_bias.detach()
        return DenseView(entities, lengths, retrieved.detach(), self.temperature.detach(), self_bias)

    def _minus_distances(
        self,
        retrieved: Float[Tensor, "B de"],
        candidates: Float[Tensor, "C de"],
        lengths: Float[Tensor, " C"] | None = None,
    ) -> Float[Tensor, "B C"]:
        """−τ‖e_o − e_x‖² of every candidate, as one matrix product; `lengths` are the ‖e_x‖², if they are at hand."""
        temperature = self.temperature
        if lengths is not None:  # a few questions to many candidates: no work that grows with the candidates but this
            products = torch.addmm(-temperature * lengths, 2 * temperature * retrieved, candidates.mT)  # (B, C)
            return products - temperature * retrieved.square().sum(1, keepdim=True)
        # −τ‖o − x‖² = (2τo ⊕ −τ‖o‖²)·(x ⊕ 1) − τ‖x‖², so nothing but the product ever has the size of the result
        asked = torch.cat([2 * temperature * retrieved, -temperature * retrieved.square().sum(1, keepdim=True)], dim=1)
        offered = torch.cat([candidates, torch.ones_like(candidates[:, :1])], dim=1)  # (C, de + 1)
        return torch.addmm(-temperature * candidates.square().sum(1), asked, offered.mT)  # (B, C)

    def _add_self_bias_(self, scores: Float[Tensor, "B C"], query: Query, column: Int[Tensor, " B"]) -> None:
        """Add s_q in place where the asked entity is among the candidates; `column` is past the end where it is not."""
        if self.self_bias is not None:
            is_there = column < scores.shape[1]
            added = is_there * self.self_bias.index_select(0, query.role)  # (B,)
            scores.scatter_add_(1, torch.where(is_there, column, 0)[:, None], added[:, None])


def columns_of(entities: Int[Tensor, " n"], drawn: Int[Tensor, " S"], num_entities: int) -> Int[Tensor, " n"]:
    """Where entities stand among those that were drawn; S for one that was not."""
    column = torch.full((num_entities,), len(drawn), device=drawn.device)
    column[drawn] = torch.arange(len(drawn), device=drawn.device)
    return column.index_select(0, entities)


def leave_out_(scores: Float[Tensor, "B C"], row: Int[Tensor, " n"], column: Int[Tensor, " n"]) -> None:
    """Set candidates to −∞ in place: they are no rivals of the others any more."""
    scores.view(-1).index_fill_(0, row * scores.shape[1] + column, -torch.inf)


def log_softmax(scores: Float[Tensor, "B E"], query: Query, edges: Edges) -> Float[Tensor, "B E"]:
    """log softmax(x). A stored answer gets a number too, but is not in the sum."""
    rivals = scores.clone()
    leave_out_(rivals, *other_answers(query, edges))
    total = rivals.logsumexp(1, keepdim=True)  # (B, 1); −∞ where every entity is stored, so that all are rivals
    if bool((total == -torch.inf).any()):
        total = torch.where(total > -torch.inf, total, scores.logsumexp(1, keepdim=True))
    return scores - torch.where(total > -torch.inf, total, 0.0)  # still −∞ where no entity has a vector


def log_p(answer: Answer, query: Query, dense: Float[Tensor, "B E"]) -> Float[Tensor, "B E"]:
    """The score of every entity, given dense(x): log p(x) with the exact channel, dense(x) without."""
    if answer.copied is None:
        return dense
    log_rest = log_softmax(dense, query, answer.weighted.edges)
    if answer.reached is not None:
        log_rest = answer.reached.mixed_with(log_rest)
    return answer.copied.mixed_with(log_rest)


def log_alone(answer: Answer, scores: Float[Tensor, "B E"]) -> Float[Tensor, "B E"]:
    """What speaks for each answer by itself, whatever its rivals have; the scores where there is no exact channel.

    p shares one probability among all answers: a rival with as good a reason halves p(x), and x is no less true. So
    this is log p(x), or what the edges of x say against the null slot, p_x / (p_x + p_null), or what its walks do where
    no edge answers, whichever is the greatest. In none of them do equal rivals count.
    """
    if answer.copied is None:
        return scores
    alone = torch.maximum(scores, answer.copied.by_itself(scores))
    if answer.reached is None:
        return alone
    return torch.maximum(alone, answer.reached.by_itself(scores) + answer.copied.log_null[:, None])
