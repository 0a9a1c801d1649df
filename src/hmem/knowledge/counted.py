"""What counting says of every answer to a question, on a graph that changes; see `hmem.evaluation.baselines.Counts`.

A network that was trained on other graphs knows how facts go together in general, and counting knows how they do in
this one: of the entities with filler f in role c, how many have x in role q? The answers of a base without a model of
its own are ranked by both. A score is a sum of what speaks for an answer, each times a weight of the base (`Weights`):

    log p                 of the network, among the answers that are not stored and not below FLOOR
    log(best + LEAST)     the greater of the two counts, that of the entity's premises and that of the candidate's
    log(own/LEAST + 1)    the count by the entity's premises
    log(other/LEAST + 1)  the count by the candidate's premises
    log(times + ½)        how many facts have the candidate at this end of the relation

`hmem.knowledge.weighing` finds the weights. With 1, 1, 0, 0, 0 the network and counting are two experts who do not know
of each other. Where counting has nothing to say all candidates have LEAST, and the network decides alone.

Everything is looked up when it is asked for, so that it holds for the facts of this moment, and for a question some of
whose facts are hidden. What is looked at is limited: a hub costs no more than a few thousand others.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.evaluation.baselines import MOST_PREMISES, SMOOTHING, TIE
from hmem.graph.confidences import Confidences
from hmem.graph.neighborhoods import Neighborhoods, expand
from hmem.graph.triples import mirror_role
from hmem.model.build import ModelScorer

LEAST = 0.05  # added to every count
FLOOR = -12.0  # of log p, softly: the network does not tell how unlikely the unlikely is
MOST_OWNERS = 20_000  # entities of a premise; one with more says little of any of them
MOST_HAVES = 2_000  # entities that have the answer, by whose facts others are found
MOST_FEATURES = 4_000  # of their facts, the most frequent

NOTHING = np.empty(0, dtype=np.int64)

Pairs = tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]


class Weights(NamedTuple):
    """What each thing that speaks for an answer is worth in a base."""

    network: float = 1.0
    best: float = 1.0
    own: float = 0.0
    other: float = 0.0
    times: float = 0.0


USUAL = Weights()  # which suit most graphs


class CountedScorer:
    """A network on a graph and what counting says there, as evaluation asks them.

    What the network said is kept, so that questions can be asked again with other weights.
    """

    def __init__(
        self,
        model: ModelScorer,
        graph: Neighborhoods,
        weights: Weights = USUAL,
        never: Int[np.ndarray, " n"] = NOTHING,
    ) -> None:
        """Some entities are `never` answers."""
        self.model, self.graph, self.weights, self.never = model, graph, weights, never
        self._said: dict[tuple[int, int], Float[Tensor, " E"]] = {}

    @property
    def device(self) -> torch.device:
        return self.model.device

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        rows = []
        for pair in zip(entities.tolist(), roles.tolist(), strict=True):
            row = self.by_network(*pair).clone()
            add_counts(row, self.graph, *pair, self.weights)
            rows.append(row)
        return torch.stack(rows)

    def by_network(self, entity: int, role: int) -> Float[Tensor, " E"]:
        """The scores of the network; −∞ for the asked entity, unless some fact of the relation has it at both ends."""
        if (entity, role) not in self._said:
            asked = (torch.tensor([each], device=self.device) for each in (entity, role))
            row = self.model.score(*asked)[0]
            if not self._loops[role % self.graph.num_relations]:
                row[entity] = -torch.inf
            row[torch.from_numpy(self.never).to(row.device)] = -torch.inf
            self._said[entity, role] = row
        return self._said[entity, role]

    @cached_property
    def _loops(self) -> Int[np.ndarray, " R"]:
        """How many facts of each relation have the same entity at both ends."""
        facts = self.graph.to_triples()
        return np.bincount(facts[facts[:, 0] == facts[:, 2], 1], minlength=self.graph.num_relations)


def log_counts(
    graph: Neighborhoods, entity: int, role: int, like: Float[Tensor, " W"], sure: Confidences | None = None
) -> Float[Tensor, " W"]:
    """What counting adds to the scores of a model that was trained on the graph, on the device of these."""
    return torch.from_numpy(np.log(counts(graph, entity, role, len(like), sure) + LEAST)).to(like)


def add_counts(
    row: Float[Tensor, " W"],
    graph: Neighborhoods,
    entity: int,
    role: int,
    weights: Weights,
    sure: Confidences | None = None,
) -> None:
    """Make scores of a question of the network's, in place; a candidate that it does not reach stays at −∞."""
    reached = np.flatnonzero(np.isfinite(row.cpu().numpy()))
    if len(reached):
        parts = evidence(graph, entity, role, row.cpu().numpy(), reached, sure)
        total = sum(weight * part for weight, part in zip(weights, parts, strict=True) if weight)
        row[torch.from_numpy(reached).to(row.device)] = torch.from_numpy(np.asarray(total)).to(row)


def evidence(
    graph: Neighborhoods,
    entity: int,
    role: int,
    scores: Float[np.ndarray, " W"],
    candidates: Int[np.ndarray, " n"],
    sure: Confidences | None = None,
) -> Iterator[Float[np.ndarray, " n"]]:
    """What speaks for candidates, in the order of the `Weights`, given the network's scores of all entities."""
    rivals = scores.copy()
    stored = graph.answers(entity, role)
    rivals[stored[stored < len(rivals)]] = -np.inf
    total = np.logaddexp.reduce(rivals) if np.isfinite(rivals).any() else np.logaddexp.reduce(scores)
    yield np.logaddexp(scores[candidates] - total, np.float32(FLOOR))
    own, other = (each[candidates] for each in counts_of_ends(graph, entity, role, len(scores), sure))
    yield np.log(best_of(own, other) + np.float32(LEAST))
    yield np.log1p(own / np.float32(LEAST))
    yield np.log1p(other / np.float32(LEAST))
    yield np.log(_times(graph, role, len(scores), sure)[candidates] + np.float32(0.5))


@contextmanager
def hidden(graph: Neighborhoods, facts: Iterable[tuple[int, int, int]]) -> Iterator[None]:
    """A while in which some facts are not in the index; those that are not there anyway do not matter."""
    gone = [fact for fact in facts if graph.remove(*fact)]
    try:
        yield
    finally:
        for fact in gone:
            graph.add(*fact)


def counts(
    graph: Neighborhoods, entity: int, role: int, width: int, sure: Confidences | None = None
) -> Float[np.ndarray, " W"]:
    """P of every answer by the best premise of the entity, or by that of the candidate if it says more."""
    return best_of(*counts_of_ends(graph, entity, role, width, sure))


def counts_of_ends(
    graph: Neighborhoods, entity: int, role: int, width: int, sure: Confidences | None = None
) -> Float[np.ndarray, "2 W"]:
    """P of every answer by the best premise of the entity, and by that of the candidate.

    A fact that is not quite `sure` is so much of a whole one as its confidence says; as a premise it says so much less.
    """
    ends = np.zeros((2, width), dtype=np.float32)
    np.maximum.at(ends[0], *_by_entity(graph, entity, role, sure or None))
    np.maximum.at(ends[1], *_by_candidates(graph, entity, role, sure or None))
    return ends


def best_of(own: Float[np.ndarray, " n"], other: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The greater of two counts; where that is equal the lesser decides."""
    best: Float[np.ndarray, " n"] = np.maximum(own, other) + np.float32(TIE) * np.minimum(own, other)
    return best


def _times(
    graph: Neighborhoods, role: int, width: int, sure: Confidences | None
) -> Int[np.ndarray, " W"] | Float[np.ndarray, " W"]:
    """How many facts have each entity at this end, those that are not quite sure in part."""
    times = graph.times(role, width)
    if not sure:
        return times
    facts, weights = sure.of_relation(role % graph.num_relations)
    absent = np.isin(facts[:, 0], list(graph.changed()))  # perhaps: it may be hidden from this question
    absent[absent] = [not graph.contains(*fact) for fact in facts[absent].tolist()]
    lacking = np.bincount(facts[:, 0 if role < graph.num_relations else 2], (1 - weights) * ~absent, len(times))
    less: Float[np.ndarray, " W"] = times - lacking[: len(times)]
    return less


def _by_entity(
    graph: Neighborhoods, entity: int, role: int, sure: Confidences | None
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Answers, and P of each by each premise that the entity shares with others."""
    roles, fillers = (each.astype(np.int64) for each in graph.edges_of(entity))
    premise, owners = _owners(graph, roles, fillers)
    of = np.bincount(premise, minlength=len(roles))
    shared = np.flatnonzero((of > 1) & (of <= MOST_OWNERS))
    shared = shared[np.argsort(-of[shared], kind="stable")[:MOST_PREMISES]]
    kept = np.isin(premise, shared)
    premise, owners = premise[kept], owners[kept]
    different, which = np.unique(owners, return_inverse=True)
    holder, answer = _answers(graph, different, role)
    per_holder = np.bincount(holder, minlength=len(different))
    pair, place = expand((np.cumsum(per_holder) - per_holder)[which], per_holder[which])
    width = graph.num_entities
    both = None
    if sure is not None:
        have = sure.of_edges(owners, roles[premise], fillers[premise])
        of = np.bincount(premise, have, len(roles))
        both = have[pair] * sure.of_edges(different[holder[place]], np.full(len(place), role), answer[place])
    keys, together = _together(premise[pair] * width + answer[place], both)
    premise, answers = keys // width, keys % width
    other = (roles[premise] != role) | (fillers[premise] != answers)
    probability = together / (of[premise] + SMOOTHING)
    if sure is not None:
        own = sure.of_edges(np.full(len(premise), entity), roles[premise], fillers[premise])
        probability *= own * (of[premise] - own).clip(0, 1)  # there must be others to learn from
    return answers[other], probability[other].astype(np.float32)


def _by_candidates(
    graph: Neighborhoods, entity: int, role: int, sure: Confidences | None
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Candidates, and P of each by each premise that it has, for which the entity is the answer."""
    haves = graph.answers(entity, role).astype(np.int64)[:MOST_HAVES]
    owner, roles, fillers = _edges(graph, haves)
    width = graph.num_entities
    both = None
    if sure is not None:
        has_answer = sure.of_edges(np.full(len(haves), entity), np.full(len(haves), role), haves)
        both = sure.of_edges(haves[owner], roles, fillers) * has_answer[owner]
    features, together = _together(roles * width + fillers, both)
    itself = int(mirror_role(np.array(role), graph.num_relations)) * width + entity
    other = features != itself
    features, together = features[other], together[other]
    often = np.argsort(-together, kind="stable")[:MOST_FEATURES]
    features, together = features[often], together[often]
    feature, holders = _owners(graph, features // width, features % width)
    of = np.bincount(feature, minlength=len(features))
    kept = (of[feature] > 1) & (of[feature] <= MOST_OWNERS)
    if sure is None:
        return holders[kept], (together / (of + SMOOTHING)).astype(np.float32)[feature[kept]]
    have = sure.of_edges(holders, (features // width)[feature], (features % width)[feature])
    of = np.bincount(feature, have, len(features))
    probability = (together / (of + SMOOTHING))[feature] * have * (of[feature] - have).clip(0, 1)
    return holders[kept], probability[kept].astype(np.float32)


def _together(
    keys: Int[np.ndarray, " n"], weights: Float[np.ndarray, " n"] | None
) -> tuple[Int[np.ndarray, " k"], Float[np.ndarray, " k"] | Int[np.ndarray, " k"]]:
    """The different keys in order, and how often each is there, or the sum of its weights."""
    if weights is None:
        return np.unique(keys, return_counts=True)
    different, which = np.unique(keys, return_inverse=True)
    return different, np.bincount(which, weights, len(different))


def _owners(graph: Neighborhoods, roles: Int[np.ndarray, " n"], fillers: Int[np.ndarray, " n"]) -> Pairs:
    """The entities that have each filler in the role beside it, and which of the given ones that is."""
    different, which = np.unique(fillers, return_inverse=True)
    of, back, owners = _edges(graph, different)
    order = np.argsort(of * graph.num_roles + back, kind="stable")
    keys = (of * graph.num_roles + back)[order]
    wanted = which * graph.num_roles + mirror_role(roles, graph.num_relations)
    low, high = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
    given, place = expand(low, high - low)
    return given, owners[order][place]


def _answers(graph: Neighborhoods, entities: Int[np.ndarray, " n"], role: int) -> Pairs:
    """The fillers of one role of each entity, in their order."""
    owner, roles, fillers = _edges(graph, entities)
    asked = roles == role
    order = np.argsort(owner[asked], kind="stable")
    return owner[asked][order], fillers[asked][order]


def _edges(graph: Neighborhoods, entities: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " m"], ...]:
    """Owner, role and filler of all edges, in any order; one by one only where facts have come or gone."""
    changed = graph.changed()
    apart = np.array([entity in changed for entity in entities.tolist()], dtype=bool)
    pieces = []
    for some in (np.flatnonzero(~apart), np.flatnonzero(apart)):
        found = graph.lookup(entities[some])
        pieces.append((some[found.owner], found.roles.astype(np.int64), found.fillers.astype(np.int64)))
    owner, roles, fillers = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return owner, roles, fillers
