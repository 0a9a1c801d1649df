"""What counting says of every answer to a question, on a graph that may change; see `hmem.evaluation.baselines.Counts`.

Of the entities with filler f in role c, how many have x in role q? Everything is looked up when it is asked for, so
that it holds for the facts of this moment, and for a question some of whose facts are hidden. What is looked at is
limited: a hub costs no more than a few thousand others.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Float, Int

from hmem.evaluation.baselines import MOST_PREMISES, SMOOTHING, TIE
from hmem.graph.confidences import Confidences
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.ranges import expand, matches
from hmem.graph.triples import mirror_role

MOST_OWNERS = 20_000  # entities of a premise; one with more says little of any of them
MOST_HAVES = 2_000  # entities that have the answer, by whose facts others are found
FEW = 16  # times as many edges as those of some entities a graph has, if these are few
MOST_FEATURES = 4_000  # of their facts, the most frequent

Pairs = tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]


@contextmanager
def hidden(graph: Neighborhoods, facts: Iterable[tuple[int, int, int]]) -> Iterator[None]:
    """A while in which some facts are not in the index; those that are not there anyway do not matter."""
    gone = [fact for fact in facts if graph.remove(*fact)]
    try:
        yield
    finally:
        for fact in gone:
            graph.add(*fact)


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


def times_of(
    graph: Neighborhoods, role: int, entities: Int[np.ndarray, " n"], sure: Confidences | None
) -> Int[np.ndarray, " n"] | Float[np.ndarray, " n"]:
    """How many facts have each of some entities at this end, those that are not quite sure in part."""
    if FEW * int(graph.degrees(entities).sum()) < len(graph.roles):
        times = graph.times_of(role, entities)
    else:
        times = graph.times(role, int(entities.max()) + 1)[entities]
    if not sure:
        return times
    facts, weights = sure.of_relation(role % graph.num_relations)
    absent = np.isin(facts[:, 0], list(graph.changed()))  # perhaps: it may be hidden from this question
    absent[absent] = [not graph.contains(*fact) for fact in facts[absent].tolist()]
    ends, less = facts[:, 0 if role < graph.num_relations else 2], (1 - weights) * ~absent
    lacking = np.bincount(ends, less, max(int(entities.max()), int(ends.max(initial=0))) + 1)
    left: Float[np.ndarray, " n"] = times - lacking[entities]
    return left


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
    itself = mirror_role(role, graph.num_relations) * width + entity
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
    given, place = matches(keys, wanted)
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
