"""Stored facts that the rest of a base speaks against, and what would be expected in their place.

Each fact is asked for from both of its ends as if it were not stored. A true one is an answer that other facts lead to;
one that was mistaken for another is far behind the best answer, from either end. `doubt` is how far, in the mean of
both ends: 2 to its power is how many times as likely the best answers are.

    doubt = ½·Σ_ends log2(p of the best answer that is not stored / p of this one)

What other measures find of planted errors is in the research log; `benchmarks/audit.py` plants them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from hmem.graph.triples import PARTS, Triples
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.ranked import Ranked
from hmem.knowledge.results import Direction, Table
from hmem.knowledge.store.records import Names3

AT_ONCE = 32  # facts that are judged between two looks at whether to go on
SAMPLE = 1000  # facts that are judged, unless another number is wanted
EXPLAINED = 10  # rows for which the facts are looked for that speak for another answer
BECAUSE = 3  # of these facts, those along a path
FURTHEST = 40.0  # that a fact can be behind, in logarithms: nothing speaks for it
Watch = Callable[[int, int], bool]  # is told how many are done, of how many; False ends it with what was found


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A stored fact, how far the others speak against it, and what they expect in its place."""

    head: str
    relation: str
    tail: str
    doubt: float
    tail_rank: int  # of the tail, among the answers to (head, relation, ?) that are not stored
    head_rank: int  # of the head, among those to (?, relation, tail)
    end: Direction = "tail"  # at which another is expected
    instead: str | None = None  # what is expected there; None if nothing is
    if_missing: float | None = None  # how likely that is, provided that this fact is wrong
    because: tuple[Names3, ...] = ()  # stored facts that speak for it

    @property
    def names(self) -> Names3:
        return self.head, self.relation, self.tail

    @property
    def named(self) -> list[Names3]:
        """This fact, the one that is expected in its place, and those that speak for that."""
        if self.instead is None:
            return [self.names]
        ends = (self.head, self.instead) if self.end == "tail" else (self.instead, self.tail)
        return [self.names, (ends[0], self.relation, ends[1]), *self.because]


class Suspects(Table[Suspect]):
    """Stored facts, the most doubtful first."""

    COLUMNS: ClassVar = (*PARTS, "doubt", "tail_rank", "head_rank", "end", "instead", "if_missing", "because")

    def __init__(self, rows: list[Suspect], judged: int, facts: int) -> None:
        super().__init__(rows)
        self.judged = judged  # how many facts were looked at
        self.facts = facts  # of how many

    def _head(self) -> list[str]:
        return [name for name in super()._head() if name not in ("because", "end")]


def chosen(facts: Triples, entity: int | None, relation: int | None, sample: int | None) -> tuple[Triples, int]:
    """Facts of an entity, of a relation, or of all, some of them drawn at random; and how many they were drawn from."""
    kept = np.ones(len(facts), dtype=bool)
    if entity is not None:
        kept &= (facts[:, [0, 2]] == entity).any(1)
    if relation is not None:
        kept &= facts[:, 1] == relation
    facts = facts[kept]
    drawn = facts if sample is None else facts[np.sort(np.random.default_rng(0).permutation(len(facts))[:sample])]
    return drawn, len(facts)


def judged(predictor: Predictor, facts: Triples) -> tuple[Ranked, Ranked]:
    """The tails and the heads of facts, each as if it were not stored."""
    head, relation, tail = facts.T.astype(np.int64)
    tails = predictor.judge(head, relation + predictor.live.num_relations, tail)
    return tails, predictor.judge(tail, relation, head)


def doubt(ends: tuple[Ranked, Ranked]) -> Float[np.ndarray, " n"]:
    """How far facts are behind the best answers, in the mean of both ends."""
    with np.errstate(invalid="ignore"):  # where no answer is reached at all, both are −∞
        behind = [each.lead_log_p - np.maximum(each.log_p, each.lead_log_p - FURTHEST) for each in ends]
    mean: Float[np.ndarray, " n"] = np.nan_to_num(sum(behind), nan=FURTHEST) / (2 * np.log(2))
    return mean


def expected(predictor: Predictor, fact: tuple[int, int, int]) -> tuple[int, int, Ranked] | None:
    """The question, of the two that a fact answers, whose best answer is furthest ahead of it: entity, role and answer.

    To be asked while the fact is left out.
    """
    head, relation, tail = fact
    entities, roles = np.array([head, tail]), np.array([relation + predictor.live.num_relations, relation])
    askable = [place for place in (0, 1) if predictor.is_askable(int(entities[place]))]
    found = predictor.best(entities[askable], roles[askable], [2] * len(askable))
    best: list[tuple[float, int, int, Ranked]] = []
    for place, answers in zip(askable, found, strict=True):
        itself = np.array([(tail, head)[place]])
        one = answers.take(np.flatnonzero(answers.answers != itself)[:1])
        if len(one.answers):
            fact_itself = predictor.judge(entities[[place]], roles[[place]], itself)
            ahead = one.scores[0] - max(fact_itself.scores[0], one.scores[0] - FURTHEST)
            best.append((float(ahead), int(entities[place]), int(roles[place]), one))
    return None if not best else max(best, key=lambda each: each[0])[1:]
