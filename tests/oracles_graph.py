"""Slow, obvious versions of what `hmem.graph` and `hmem.evaluation` do cleverly: they define the fast ones."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hmem.graph.triples import Triples

Fact = tuple[int, int, int]


class SetGraph:
    """Facts in a set, and the edges of an entity found by going through all of them."""

    def __init__(self, facts: Iterable[Fact], num_relations: int) -> None:
        self.facts = set(facts)
        self.num_relations = num_relations

    def add(self, fact: Fact) -> bool:
        is_new = fact not in self.facts
        self.facts.add(fact)
        return is_new

    def remove(self, fact: Fact) -> bool:
        was_there = fact in self.facts
        self.facts.discard(fact)
        return was_there

    def edges_of(self, entity: int) -> list[tuple[int, int]]:
        """(role, filler) pairs: role r + R leads from the head to the tail, role r from the tail to the head."""
        edges = set()
        for head, relation, tail in self.facts:
            if head == entity:
                edges.add((relation + self.num_relations, tail))
            if tail == entity:
                edges.add((relation, head))
        return sorted(edges)

    def answers(self, entity: int, role: int) -> list[int]:
        return [filler for other, filler in self.edges_of(entity) if other == role]


@dataclass(frozen=True)
class LoopedRank:
    optimistic: int
    pessimistic: int
    candidates: int


def looped_rank(scores: Sequence[float], target: int, filtered: Collection[int], among: Iterable[int]) -> LoopedRank:
    """The definition of a filtered rank: candidates other than the target that are not filtered, one by one."""
    rivals = [entity for entity in among if entity != target and entity not in filtered]
    better = sum(scores[rival] > scores[target] for rival in rivals)
    level = sum(scores[rival] == scores[target] for rival in rivals)
    return LoopedRank(1 + better, 1 + better + level, 1 + len(rivals))


def looped_rules(facts: Iterable[Fact], num_relations: int, num_entities: int) -> dict[tuple[int, int], float]:
    """conf(c ⇒ q) by going through every pair of edges of every entity; rules that never hold are absent."""
    graph = SetGraph(facts, num_relations)
    body: Counter[int] = Counter()
    both: Counter[tuple[int, int]] = Counter()
    for entity in range(num_entities):
        roles_of = defaultdict(list)
        for role, filler in graph.edges_of(entity):
            roles_of[filler].append(role)
            body[role] += 1
        for roles in roles_of.values():
            both.update((c, q) for c in roles for q in roles if c != q)
    return {rule: count / body[rule[0]] for rule, count in both.items()}


def looped_counts(
    training: Iterable[Fact], graph: Iterable[Fact], num_relations: int, num_entities: int, smoothing: float
) -> dict[tuple[int, int, int], list[tuple[float, int, int]]]:
    """By (entity, role, answer): P, how many have both and how many the premise, for each premise of the entity.

    A premise counts if two entities or more have it, and if it is not the answer itself.
    """
    edges = [set(SetGraph(training, num_relations).edges_of(entity)) for entity in range(num_entities)]
    given = SetGraph(graph, num_relations)
    found: dict[tuple[int, int, int], list[tuple[float, int, int]]] = defaultdict(list)
    for entity in range(num_entities):
        for premise in given.edges_of(entity):
            have = [theirs for theirs in edges if premise in theirs]
            for role, answer in set().union(*have) - {premise} if len(have) > 1 else ():
                together = sum((role, answer) in theirs for theirs in have)
                found[entity, role, answer].append((together / (len(have) + smoothing), together, len(have)))
    return found


@dataclass
class TableScorer:
    """Scores read off a table (entity, role, candidate), and a record of what was asked."""

    table: Tensor
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    asked: list[tuple[int, int]] = field(default_factory=list)
    largest_batch: int = 0

    def score(self, entities: Tensor, roles: Tensor) -> Tensor:
        self.asked += zip(entities.tolist(), roles.tolist(), strict=True)
        self.largest_batch = max(self.largest_batch, len(entities))
        return self.table[entities, roles]


def pairs_that_share(facts: Triples, num_entities: int) -> dict[tuple[int, int], float]:
    """The bits of what two entities share, each neighbor once, by its rarest role."""
    has: dict[tuple[str, int, int], set[int]] = {}
    for head, relation, tail in facts.tolist():
        has.setdefault(("to", relation, tail), set()).add(head)
        has.setdefault(("from", relation, head), set()).add(tail)
    best: dict[tuple[int, int, int], float] = {}
    for (_, _, end), holders in has.items():
        for pair in itertools.combinations(sorted(holders), 2):
            bits = math.log2(num_entities / len(holders))
            best[(*pair, end)] = max(bits, best.get((*pair, end), 0.0))
    found: dict[tuple[int, int], float] = {}
    for (one, two, _), bits in best.items():
        found[one, two] = found.get((one, two), 0.0) + bits
    return found
