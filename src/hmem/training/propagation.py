"""Training of a network that passes messages: which edges a batch of questions must not see, and its loss.

The asked facts are hidden from the whole batch, in both directions, and out of the degrees. What else is hidden must be
like what is missing where the network will be asked. If validation facts are linked by other facts less often than
those of training, all links between the asked entity and the answer are hidden in some of the questions
(`share_to_hide`); and `neighbor_dropout` hides a share of all facts.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from hmem.config import TrainingConfig
from hmem.graph.dataset import Dataset
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import Triples
from hmem.memory.links import Links
from hmem.model.index import FrozenIndex
from hmem.model.propagation import Propagation
from hmem.model.query import Noise, Query, mirrored, other_answers

LOOKED_AT = 20_000  # train facts of which the linked share is measured


class Concealed:
    """The edges of a training graph, and which of them questions about it must not see."""

    def __init__(self, graph: FrozenIndex) -> None:
        self.graph, self.links = graph, graph.links()
        links = self.links
        N, Q = links.num_entities, links.num_roles
        source, role, target = links.source.long(), links.role.long(), links.target.long()
        here = (source * N + target) * Q + role
        there = (target * N + source) * Q + mirrored(role, Q // 2)
        self.mirror = torch.empty_like(role)  # the edge of the same fact from its other end
        self.mirror[here.argsort()] = there.argsort()
        self.is_forward = role >= Q // 2

    @classmethod
    def of(cls, graph: FrozenIndex) -> "Concealed":
        """That of a graph, made once."""
        beside = graph.__dict__
        kept = beside.get("concealed")
        if not isinstance(kept, cls):
            kept = beside["concealed"] = cls(graph)
        return kept

    def from_questions(self, query: Query, training: TrainingConfig, noise: Noise) -> Links:
        """The graph without the asked facts of the whole batch, and without what else is hidden."""
        links, batch = self.links, query if noise.batch is None else noise.batch
        hidden = torch.zeros(len(links.source), dtype=torch.bool, device=noise.device)
        if training.neighbor_dropout:
            hidden = self.dropped(training.neighbor_dropout, noise)
        _, edge = self.asked(batch, noise.unlinked_of_batch(len(batch), training.link_withholding or 0.0))
        hidden[edge] = hidden[self.mirror[edge]] = True
        return links.without(hidden)

    def dropped(self, share: float, noise: Noise) -> Bool[Tensor, " e"]:
        """A share of all facts, drawn at random, in both directions."""
        drawn = noise.chosen(len(self.mirror), share)
        return torch.where(self.is_forward, drawn, drawn[self.mirror])

    def from_each(self, query: Query, unlinked: Bool[Tensor, " B"], links: Links) -> Links:
        """The given graph, where each question sees the facts that the others ask for, but not its own."""
        question, edge = self.asked(query, unlinked)
        question, edge = question.repeat(2), torch.cat([edge, self.mirror[edge]])
        source, role, target = (each[edge].long() for each in (self.links.source, self.links.role, self.links.target))
        return links.withholding(question, source, role, target, len(query))

    def asked(self, query: Query, unlinked: Bool[Tensor, " B"]) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """The edges that state the asked facts, of `unlinked` questions all from the entity to the answer.

        As (which question, which edge).
        """
        assert query.target is not None
        question, edge = self.links.between(query.entity, query.target)
        is_asked = unlinked[question] | (self.links.role[edge] == query.role[question])
        return question[is_asked], edge[is_asked]


def propagation_loss(
    network: Propagation, query: Query, concealed: Concealed, training: TrainingConfig, noise: Noise
) -> Float[Tensor, ""]:
    """−log p(target) among all entities but the other true answers."""
    assert query.target is not None
    scores = network.scores(query.entity, query.role, concealed.from_questions(query, training, noise))
    others = other_answers(query, concealed.graph.lookup(query.entity))
    scores = scores.index_put(others, scores.new_tensor(-torch.inf))
    return cross_entropy(scores, query.target)


def gradient_in_groups(
    network: Propagation, query: Query, concealed: Concealed, training: TrainingConfig, noise: Noise
) -> Float[Tensor, ""]:
    """What the questions add to the loss of their batch; the gradient is then in the parameters.

    A few questions at a time, which is quickest on a CPU. Each question sees the facts that the others ask for.
    """
    links = concealed.links
    if training.neighbor_dropout:
        links = links.without(concealed.dropped(training.neighbor_dropout, noise))
    network.prepare(links)
    unlinked = noise.unlinked(len(query), training.link_withholding or 0.0)
    rows, others = other_answers(query, concealed.graph.lookup(query.entity))
    total, count = torch.zeros(()), len(query) if noise.batch is None else len(noise.batch)
    size = network.at_once(links)
    for low in range(0, len(query), size):
        some = slice(low, low + size)
        group, is_here = query.part(some), (rows >= low) & (rows < low + size)
        assert group.target is not None
        scores = network.scores(group.entity, group.role, concealed.from_each(group, unlinked[some], links))
        others_here = rows[is_here] - low, others[is_here]
        scores = scores.index_put(others_here, scores.new_tensor(-torch.inf))
        loss = cross_entropy(scores, group.target, reduction="sum") / count
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.detach()
    return total


def share_to_hide(dataset: Dataset) -> float:
    """How often all links between two entities are hidden, so that facts are linked as those of validation are."""
    if not len(dataset.valid):
        return 0.0
    drawn = np.random.default_rng(0).permutation(len(dataset.train))[:LOOKED_AT]
    in_train = _linked_share(dataset.graph_of(dataset.train), dataset.train[drawn], own=1)
    in_valid = _linked_share(dataset.inference_graph("train"), dataset.valid, own=0)
    return 1 - min(1.0, in_valid / in_train) if in_train > 0 else 0.0


def _linked_share(graph: Neighborhoods, facts: Triples, own: int) -> float:
    """The share of facts whose head and tail have more edges from the one to the other than `own`, twice for a loop."""
    edges = graph.lookup(facts[:, 0])
    to_tail = edges.fillers == facts[edges.owner, 2]
    of_facts = own * np.where(facts[:, 0] == facts[:, 2], 2, 1)
    return float((np.bincount(edges.owner[to_tail], minlength=len(facts)) > of_facts).mean())
