"""Questions to a model on a living graph, in numbers: which answers, how good, and how likely.

A question is an entity and a role. Its answers are ranked by score, those of equal score by number, and the best k are
always the first k of that order. An answer that is stored already is no rival to the others; asked for, it is scored
as if it were not stored, which is how training asks too. In a network that passes messages, whose walks lead back to
where they began, an entity is no answer to a question about itself, unless some stored fact of the relation has the
same entity at both ends.

`log_p` is the logarithm of an answer's share among the answers that are not stored, a softmax over the scores. Where a
model has the exact channel it is `log_alone`: what the facts and paths that speak for an answer say by themselves, if
that is more, so that an answer becomes no less likely because others come. Calibration turns log_p into a probability,
and first answers by steps of their own.

A model of no graph in particular is joined by counting, which knows this one (`hmem.evaluation.joined`); so is a model
of this graph where that helped on its validation facts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hmem.evaluation.counted import hidden
from hmem.evaluation.joined import ALONE, Weights, add_counts
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.live_links import LiveLinks
from hmem.knowledge.live_vectors import LiveVectors
from hmem.knowledge.ranked import Ranked, first, merged, unjudged
from hmem.knowledge.store.records import Names3
from hmem.model.build import Network
from hmem.model.hmem import HMem
from hmem.model.index import LiveIndex
from hmem.model.propagation import Propagation
from hmem.model.query import Query
from hmem.model.vectors import Vectors

MOST_SCORES = 8_000_000  # questions × candidates in one pass through the model: 32 MB
MOST_EDGES = 250_000  # of the asked entities, in one pass
Ids = Int[np.ndarray, " B"]  # entities or roles, one for each question
Answers = Int[np.ndarray, " n"]  # to one question, by number


class Predictor:
    """A model, the facts of this moment and a vector for every entity in them; used through a `Session`."""

    def __init__(
        self, model: Network, live: LiveGraph, weights_of: Callable[[int, int], Weights] = lambda entity, role: ALONE
    ) -> None:
        """`weights_of` says what the network and counting are worth in a question, by its entity and role."""
        self.model, self.live, self.weights_of = model.eval(), live, weights_of
        self.vectors = LiveVectors(model, live) if isinstance(model, HMem) else None
        self.links = LiveLinks(live, model.device) if isinstance(model, Propagation) else None

    @torch.inference_mode()
    def best(
        self, entities: Ids, roles: Ids, k: Sequence[int], rooms: Sequence[int | None] | None = None
    ) -> list[Ranked]:
        """The best answers to each question, as many as its `k` says.

        Stored answers are left out, unless `rooms` says how many of a question are listed too (None for all), each
        scored as if it were not stored.
        """
        stored = [self.live.graph.answers(*pair) for pair in zip(entities.tolist(), roles.tolist(), strict=True)]
        new: list[Ranked] = []
        for rows, scores, log_alone in self.passes(entities, roles):
            new += self._ranked(entities[rows], roles[rows], scores, log_alone, k[rows], stored[rows])
        listed = [answers[:room] for answers, room in zip(stored, rooms or [0] * len(stored), strict=True)]
        counts = [len(answers) for answers in listed]
        if not any(counts):
            return new
        # Once more for each stored answer that is listed, without the fact that gives it.
        again = np.repeat(np.arange(len(stored)), counts)
        targets = np.concatenate(listed).astype(np.int64)
        old = unjudged(targets, stored=True)
        for place, row, log_alone in self.withheld(entities[again], roles[again], targets):
            question = int(again[place])
            pair = int(entities[question]), int(roles[question])
            self._judge(old, place, row, log_alone, stored[question], pair)
        ends = np.cumsum(counts, dtype=np.int64).tolist()
        return [
            merged(new[question], old.take(slice(end - count, end)), k[question]) if count else new[question]
            for question, (count, end) in enumerate(zip(counts, ends, strict=True))
        ]

    @torch.inference_mode()
    def judge(self, entities: Ids, roles: Ids, answers: Ids) -> Ranked:
        """Given answers to given questions, one by one, each as if it were not stored."""
        facts = [self.fact(*each) for each in np.stack([entities, roles, answers], axis=1).tolist()]
        stored = np.array([self.live.graph.contains(*fact) for fact in facts], dtype=bool)
        judged = unjudged(answers, stored)
        pairs, question = np.unique(np.stack([entities, roles], axis=1)[~stored], axis=0, return_inverse=True)
        question = question.reshape(-1)
        in_order = np.flatnonzero(~stored)[np.argsort(question, kind="stable")]
        asked_by = np.split(in_order, np.cumsum(np.bincount(question)))
        for rows, *found in self.passes(pairs[:, 0], pairs[:, 1]):
            for pair, places, row, log_alone in zip(pairs[rows].tolist(), asked_by[rows], *found, strict=True):
                asked = pair[0], pair[1]
                for place in places.tolist():
                    self._judge(judged, place, row, log_alone, self.live.graph.answers(*asked), asked)
        old = np.flatnonzero(stored)
        for place, row, log_alone in self.withheld(entities[old], roles[old], answers[old]):
            place = int(old[place])
            pair = int(entities[place]), int(roles[place])
            self._judge(judged, place, row, log_alone, self.live.graph.answers(*pair), pair)
        return judged

    def passes(
        self, entities: Ids, roles: Ids, targets: Ids | None = None
    ) -> Iterator[tuple[slice, Float[Tensor, "b W"], Float[Tensor, "b W"]]]:
        """The score and log_alone of every entity as an answer to each question, some questions at a time.

        The facts that give the `targets` are withheld. A score of −∞ says that nothing speaks for a candidate.
        """
        columns = (entities, roles) if targets is None else (entities, roles, targets)
        start = 0
        while start < len(entities):
            index, vectors = self.index()  # each time: between two passes a fact may have been left out for a while
            size = self.model.config.dim if isinstance(self.model, Propagation) else 1  # numbers for a candidate
            most = max(1, MOST_SCORES // max(1, index.num_fillers * size))
            edges = self.live.graph.degrees(entities[start : start + most].astype(np.int64)).cumsum()
            rows = slice(start, start + max(1, int(np.searchsorted(edges, MOST_EDGES, side="right"))))
            query = Query(*(torch.from_numpy(part[rows].astype(np.int64)).to(index.device) for part in columns))
            with torch.inference_mode():
                scores, log_alone = self.model.scores_and_log_alone(query, index, vectors)
                for place, (entity, role) in enumerate(zip(entities[rows].tolist(), roles[rows].tolist(), strict=True)):
                    without = () if targets is None else (self.fact(entity, role, int(targets[rows][place])),)
                    if self.add_counts(scores[place], entity, role, without):
                        log_alone[place] = scores[place]
            yield rows, scores, log_alone
            start = rows.stop

    def add_counts(
        self, row: Float[Tensor, " W"], entity: int, role: int, without: Iterable[tuple[int, int, int]] = ()
    ) -> bool:
        """Add what counting says without some facts to the scores of a question, if it has a say; whether it has.

        Buckets of values are no answers.
        """
        if self.live.values.words:
            buckets = self.live.values.buckets
            row[torch.from_numpy(buckets[buckets < len(row)]).to(row.device)] = -torch.inf
        weights = self.weights_of(entity, role)
        if weights == ALONE:
            return False
        with hidden(self.live.graph, without):
            add_counts(row, self.live.graph, entity, role, weights, self.live.confidences)
        return True

    def withheld(
        self, entities: Ids, roles: Ids, targets: Ids
    ) -> Iterator[tuple[int, Float[Tensor, " W"], Float[Tensor, " W"]]]:
        """The same for each question, by its place, without the stored fact that gives its target; in any order.

        A model can withhold a fact from the memory that is asked. But where training did not place both ends, the fact
        also helped to place them; and where roles meet only because of it, it changes what they mean. Then it is taken
        out of the graph for a while.
        """
        asked = zip(entities.tolist(), roles.tolist(), targets.tolist(), strict=True)
        can_withhold = np.array([self._can_withhold(*each) for each in asked], dtype=bool)
        easy = np.flatnonzero(can_withhold)
        for rows, scores, log_alone in self.passes(entities[easy], roles[easy], targets[easy]):
            yield from zip(easy[rows].tolist(), scores, log_alone, strict=True)
        for place in np.flatnonzero(~can_withhold).tolist():
            one = slice(place, place + 1)
            with self.live.without(*self.fact(int(entities[place]), int(roles[place]), int(targets[place]))):
                ((_, scores, log_alone),) = self.passes(entities[one], roles[one])
            yield place, scores[0], log_alone[0]

    def fact(self, entity: int, role: int, answer: int) -> tuple[int, int, int]:
        """The fact that an answer to a question states."""
        if role >= self.live.num_relations:
            return entity, role - self.live.num_relations, answer
        return answer, role, entity

    def named(self, entity: int, role: int, answer: int) -> Names3:
        """The same by name; a value by its property and in the words of its bucket."""
        entities, relations, values = self.live.entities.names, self.live.relations.names, self.live.values
        head, relation, tail = self.fact(entity, role, answer)
        if relation in values.properties:
            return entities[head], values.properties[relation], values.words[tail]
        return entities[head], relations[relation], entities[tail]

    def is_value(self, role: int) -> bool:
        """Whether a role stands for a property, and not for a relation."""
        return role % self.live.num_relations in self.live.values.properties

    def index(self) -> tuple[LiveIndex, Vectors | None]:
        """The edges and the vectors of this moment, as a model takes them."""
        if self.vectors is None:
            assert self.links is not None
            links = self.links.current()
            return LiveIndex(self.live.graph, links.num_entities, self.model.device, links), None
        vectors = self.vectors.current()
        sure = self.live.confidences
        return LiveIndex(self.live.graph, len(vectors.entities), self.model.device, sure=sure), vectors

    def is_candidate(self, entity: int) -> bool:
        """Whether the entity can be an answer at all: training gave it a vector, or it has facts."""
        return self.live.has_facts(entity) or (self.vectors is not None and self.vectors.is_trained(entity))

    def _can_withhold(self, entity: int, role: int, target: int) -> bool:
        """Whether a fact can be withheld from a question without taking it out of the graph; see `withheld`."""
        if self.vectors is not None:
            return self.vectors.is_trained(entity) and self.vectors.is_trained(target)
        assert self.links is not None
        self.links.current()
        return not (self.model.takes_new_relations and self.links.decide_meetings([self.fact(entity, role, target)]))

    def is_askable(self, entity: int) -> bool:
        """Whether a question can be asked about the entity: learned memories need training, others need facts."""
        if self.model.is_implicit:
            return entity < self.live.num_trained
        return self.live.has_facts(entity)

    def room(self, entity: int, most_edges: int | None) -> int | None:
        """How many stored answers may be scored in so many looks at edges; None for any number.

        Scoring a stored answer takes another look at all edges of the entity.
        """
        if most_edges is None:
            return None
        return max(1, most_edges // max(1, int(self.live.graph.degrees(np.array([entity]))[0])))

    def itself(self, entity: int, role: int) -> list[int]:
        """The asked entity, if it cannot be an answer: no fact of the relation has the same entity at both ends."""
        can_be = self.links is None or self.live.loops[role % self.live.num_relations] > 0
        return [] if can_be else [entity]

    def _ranked(
        self,
        entities: Ids,
        roles: Ids,
        scores: Float[Tensor, "B W"],
        log_alone: Float[Tensor, "B W"],
        k: Sequence[int],
        stored: Sequence[Answers],
    ) -> list[Ranked]:
        """The best of each row that are not stored; those that are become −∞ there."""
        asked = list(zip(entities.tolist(), roles.tolist(), strict=True))
        itself = [self.itself(*each) for each in asked]
        gone = [np.concatenate([known, own]).astype(np.int64) for known, own in zip(stored, itself, strict=True)]
        _leave_out(scores, gone)
        total = self._total(scores, asked)
        found = first(scores, k)
        counts = [len(each) for each in found]
        starts = np.cumsum(counts) - counts
        row, best = np.arange(len(found)).repeat(counts), np.concatenate(found)
        here = [torch.from_numpy(each).to(scores.device) for each in (row, best)]
        picked, log_p = (part[*here].double().cpu().numpy() for part in (scores, log_alone))
        log_p = log_p - np.array(total)[row]
        place = np.arange(len(row)) - starts[row]
        is_stored = np.zeros(len(row), dtype=bool)
        everything = Ranked(best, picked, log_p, is_stored, place == 0, 1 + place, log_p[starts[row]])
        return [everything.take(slice(start, start + count)) for start, count in zip(starts, counts, strict=True)]

    def _judge(
        self,
        judged: Ranked,
        place: int,
        row: Float[Tensor, " W"],
        log_alone: Float[Tensor, " W"],
        stored: Answers,
        asked: tuple[int, int],
    ) -> None:
        """Write what is to be said of one answer, given the scores of all; the stored ones become −∞ there."""
        answer = int(judged.answers[place])
        if answer >= len(row):  # an unseen entity that this fact alone tells of
            judged.scores[place] = judged.log_p[place] = judged.lead_log_p[place] = -np.inf
            judged.ranks[place] = len(row)
            return
        score = float(row[answer])
        gone = np.concatenate([stored, self.itself(*asked)]).astype(np.int64)
        _leave_out(row[None], [gone[gone != answer]])
        (total,) = self._total(row[None], [asked])
        better = int((row > score).sum()) + int((row[:answer] == score).sum())
        judged.scores[place] = score
        judged.log_p[place] = float(log_alone[answer]) - total
        judged.lead_log_p[place] = float(log_alone[row.argmax()]) - total
        judged.ranks[place], judged.leads[place] = 1 + better, better == 0

    def _total(self, scores: Float[Tensor, "B W"], asked: Sequence[tuple[int, int]]) -> list[float]:
        """What to take from the scores of each question to have log_p."""
        alone = [self.model.exact is not None and self.weights_of(*each) == ALONE for each in asked]
        if all(alone):
            return [0.0] * len(asked)
        totals = scores.logsumexp(1).tolist()
        return [0.0 if is_alone or total == -np.inf else total for is_alone, total in zip(alone, totals, strict=True)]


def _leave_out(scores: Float[Tensor, "B W"], gone: Sequence[Answers]) -> None:
    """Make some entities −∞ in each row; one that came later has no place there."""
    row = np.arange(len(gone)).repeat([len(each) for each in gone])
    place = np.concatenate(gone)
    there = place < scores.shape[1]
    scores[*(torch.from_numpy(each[there]).to(scores.device) for each in (row, place))] = -torch.inf
